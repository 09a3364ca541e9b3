import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import org.apache.cassandra.cql3.QualifiedName;
import org.apache.cassandra.cql3.statements.schema.AlterTableStatement;
import org.apache.cassandra.io.util.DataOutputBuffer;
import org.apache.cassandra.utils.BloomFilter;
import org.apache.cassandra.utils.BloomFilterSerializer;
import org.apache.cassandra.utils.FilterFactory;
import org.apache.cassandra.utils.IFilter;

/** Cassandra 4.1 writes the files of 4.0 and later, and reads those of 3.x. */
final class Release implements Cassandra {
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
    BloomFilterSerializer.serialize((BloomFilter) filter, out);
    return out.toByteArray();
  }

  @Override
  public IFilter read(String dialect, byte[] file) throws IOException {
    boolean oldFormat = dialect.equals("cassandra-3");
    return BloomFilterSerializer.deserialize(new DataInputStream(new ByteArrayInputStream(file)), oldFormat);
  }

  @Override
  public Altered altered(Object statement) {
    AlterTableStatement.Raw alter = (AlterTableStatement.Raw) statement;
    QualifiedName name = (QualifiedName) Statements.field(alter, "name");
    return new Altered(name.getKeyspace(), name.getName(), Statements.rate(alter));
  }
}
