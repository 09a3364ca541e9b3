import com.google.gson.JsonObject;
import java.nio.ByteBuffer;
import java.util.List;
import org.apache.cassandra.dht.Murmur3Partitioner;
import org.apache.cassandra.io.util.DataInputBuffer;
import org.apache.cassandra.utils.BloomFilterSerializer;
import org.apache.cassandra.utils.IFilter;

/** Adapter of cassandra-all: BloomFilterSerializer for the versions that this release reads. */
public final class CassandraAdapter {
  private CassandraAdapter() {}

  public static void main(String[] args) throws Exception {
    Adapter.run("cassandra-all", args[0], List.of("cassandra"), CassandraAdapter::answer);
  }

  private static int[] answer(JsonObject request) throws Exception {
    BloomFilterSerializer serializer = switch (Adapter.text(request, "dialect")) {
      case "cassandra" -> BloomFilterSerializer.newFormatInstance;
      case "cassandra-3" -> BloomFilterSerializer.oldFormatInstance;
      default -> throw new UnsupportedOperationException("this release does not read such files");
    };
    try (IFilter filter = serializer.deserialize(new DataInputBuffer(Adapter.bytes(request)))) {
      return Adapter.lookUp(
          request, key -> filter.isPresent(Murmur3Partitioner.instance.decorateKey(ByteBuffer.wrap(key))));
    }
  }
}
