import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import org.apache.cassandra.cql3.statements.AlterTableStatement;
import org.apache.cassandra.io.util.DataOutputBuffer;
import org.apache.cassandra.utils.FilterFactory;
import org.apache.cassandra.utils.IFilter;

/** Cassandra 3.11 writes the files of 3.x, and those of 2.x with the old order of the two hashes. */
final class Release implements Cassandra {
  private static boolean oldOrder(String dialect) {
    return switch (dialect) {
      case "cassandra-3" -> false;
      case "cassandra-2" -> true;
      default -> throw new IllegalArgumentException(dialect);
    };
  }

  @Override
  public IFilter byRate(String dialect, long expectedKeys, double rate) {
    return FilterFactory.getFilter(expectedKeys, rate, true, oldOrder(dialect));
  }

  @Override
  public IFilter byBuckets(String dialect, long expectedKeys, int buckets) {
    return FilterFactory.getFilter(expectedKeys, buckets, true, oldOrder(dialect));
  }

  @Override
  public byte[] write(String dialect, IFilter filter) throws IOException {
    DataOutputBuffer out = new DataOutputBuffer();
    FilterFactory.serialize(filter, out);
    return out.toByteArray();
  }

  @Override
  public IFilter read(String dialect, byte[] file) throws IOException {
    return FilterFactory.deserialize(new DataInputStream(new ByteArrayInputStream(file)), true, oldOrder(dialect));
  }

  @Override
  public Altered altered(Object statement) {
    AlterTableStatement alter = (AlterTableStatement) statement;
    return new Altered(alter.keyspace(), alter.columnFamily(), Statements.rate(alter));
  }
}
