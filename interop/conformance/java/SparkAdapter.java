import com.google.gson.JsonObject;
import java.io.ByteArrayInputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.spark.util.sketch.BloomFilter;

/** Adapter of Spark's sketch library: BloomFilter.readFrom, and the lookup of the key type. */
public final class SparkAdapter {
  private SparkAdapter() {}

  public static void main(String[] args) throws Exception {
    Adapter.run("Spark sketch", args[0], List.of("spark"), SparkAdapter::answer);
  }

  private static int[] answer(JsonObject request) throws Exception {
    BloomFilter filter = BloomFilter.readFrom(new ByteArrayInputStream(Adapter.bytes(request)));
    return switch (Adapter.text(request, "type")) {
      case "text" -> Adapter.lookUp(request, key -> filter.mightContainString(new String(key, StandardCharsets.UTF_8)));
      case "long" -> Adapter.lookUp(
          request, key -> filter.mightContainLong(ByteBuffer.wrap(key).order(ByteOrder.LITTLE_ENDIAN).getLong()));
      default -> Adapter.lookUp(request, filter::mightContainBinary);
    };
  }
}
