import java.io.IOException;
import org.apache.cassandra.cql3.QualifiedName;
import org.apache.cassandra.cql3.statements.schema.AlterTableStatement;
import org.apache.cassandra.io.util.DataInputBuffer;
import org.apache.cassandra.io.util.DataOutputBuffer;
import org.apache.cassandra.utils.BloomFilter;
import org.apache.cassandra.utils.BloomFilterSerializer;
import org.apache.cassandra.utils.FilterFactory;
import org.apache.cassandra.utils.IFilter;

/** Cassandra 5.0 writes the files of 4.0 and later, and reads those of 3.x. */
final class Release implements Cassandra {
  private static BloomFilterSerializer serializer(String dialect) {
    return switch (dialect) {
      case "cassandra" -> BloomFilterSerializer.newFormatInstance;
      case "cassandra-3" -> BloomFilterSerializer.oldFormatInstance;
      default -> throw new IllegalArgumentException(dialect);
    };
  }

  @Override
  public IFilter byRate(String dialect, long expectedKeys, double rate) {
    return FilterFactory.getFilter(expectedKeys, rate);
  }

  @Override
  public IFilter byBuckets(String dialect, long expectedKeys, int buckets) {
    return FilterFactory.getFilter(expectedKeys, buckets);
  }

  @Override
  public byte[] write(String dialect, IFilter filter) throws IOException {
    if (!dialect.equals("cassandra")) {
      return null;
    }
    DataOutputBuffer out = new DataOutputBuffer();
    serializer(dialect).serialize((BloomFilter) filter, out);
    return out.toByteArray();
  }

  @Override
  public IFilter read(String dialect, byte[] file) throws IOException {
    return serializer(dialect).deserialize(new DataInputBuffer(file));
  }

  @Override
  public Altered altered(Object statement) {
    AlterTableStatement.Raw alter = (AlterTableStatement.Raw) statement;
    QualifiedName name = (QualifiedName) Statements.field(alter, "name");
    return new Altered(name.getKeyspace(), name.getName(), Statements.rate(alter));
  }
}
