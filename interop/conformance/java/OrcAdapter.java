import com.google.gson.JsonObject;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.apache.orc.OrcFile;
import org.apache.orc.OrcProto;
import org.apache.orc.TypeDescription;
import org.apache.orc.util.BloomFilter;
import org.apache.orc.util.BloomFilterIO;

/** Adapter of orc-core: the message as the index stream has it, BloomFilterIO.deserialize, and the test of the key type. */
public final class OrcAdapter {
  private OrcAdapter() {}

  public static void main(String[] args) throws Exception {
    Adapter.run("orc-core", args[0], List.of("orc"), OrcAdapter::answer);
  }

  private static int[] answer(JsonObject request) throws Exception {
    String type = Adapter.text(request, "type");
    BloomFilter filter = BloomFilterIO.deserialize(
        Adapter.text(request, "dialect").equals("utf8") ? OrcProto.Stream.Kind.BLOOM_FILTER_UTF8 : OrcProto.Stream.Kind.BLOOM_FILTER,
        OrcProto.ColumnEncoding.newBuilder().setKind(OrcProto.ColumnEncoding.Kind.DIRECT).setBloomEncoding(1).build(),
        OrcFile.WriterVersion.ORC_203,
        switch (type) {
          case "long" -> TypeDescription.Category.LONG;
          case "double" -> TypeDescription.Category.DOUBLE;
          case "text" -> TypeDescription.Category.STRING;
          default -> TypeDescription.Category.BINARY;
        },
        OrcProto.BloomFilter.parseFrom(Adapter.bytes(request)));
    if (filter == null) {
      throw new IllegalArgumentException("orc-core ignores the filter");
    }
    return switch (type) {
      case "long" -> Adapter.lookUp(request, key -> filter.testLong(number(key).getLong()));
      case "double" -> Adapter.lookUp(request, key -> filter.testDouble(number(key).getDouble()));
      default -> Adapter.lookUp(request, key -> filter.testBytes(key, 0, key.length));
    };
  }

  private static ByteBuffer number(byte[] key) {
    return ByteBuffer.wrap(key).order(ByteOrder.LITTLE_ENDIAN);
  }
}
