import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;
import com.google.gson.JsonObject;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Adapter of Guava: BloomFilter.readFrom with the funnel of the key type. */
public final class GuavaAdapter {
  private GuavaAdapter() {}

  public static void main(String[] args) throws Exception {
    Adapter.run("Guava", args[0], List.of("guava"), GuavaAdapter::answer);
  }

  private static int[] answer(JsonObject request) throws Exception {
    InputStream in = new ByteArrayInputStream(Adapter.bytes(request));
    switch (Adapter.text(request, "type")) {
      case "text" -> {
        var filter = BloomFilter.readFrom(in, Funnels.stringFunnel(StandardCharsets.UTF_8));
        return Adapter.lookUp(request, key -> filter.mightContain(new String(key, StandardCharsets.UTF_8)));
      }
      case "utf16" -> {
        var filter = BloomFilter.readFrom(in, Funnels.unencodedCharsFunnel());
        return Adapter.lookUp(request, key -> filter.mightContain(new String(key, StandardCharsets.UTF_16LE)));
      }
      case "int" -> {
        var filter = BloomFilter.readFrom(in, Funnels.integerFunnel());
        return Adapter.lookUp(request, key -> filter.mightContain(number(key).getInt()));
      }
      case "long" -> {
        var filter = BloomFilter.readFrom(in, Funnels.longFunnel());
        return Adapter.lookUp(request, key -> filter.mightContain(number(key).getLong()));
      }
      default -> {
        var filter = BloomFilter.readFrom(in, Funnels.byteArrayFunnel());
        return Adapter.lookUp(request, filter::mightContain);
      }
    }
  }

  private static ByteBuffer number(byte[] key) {
    return ByteBuffer.wrap(key).order(ByteOrder.LITTLE_ENDIAN);
  }
}
