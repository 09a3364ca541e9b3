import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Adapter of the corpus in conformance/ for NativeFilter. Reads just the JSON that the runner sends. */
public final class NativeAdapter {
  private NativeAdapter() {}

  public static void main(String[] args) throws Exception {
    if (args.length > 0) {
      bench(NativeFilter.open(Path.of(args[0]), null));
      return;
    }
    System.out.println("{\"name\": \"readers/java\", \"version\": \"1\", \"systems\": [\"native\"]}");
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      System.out.println(reply(line));
    }
  }

  /** Prints how many lookups a second the filter answers, in three rounds of a million keys. */
  private static void bench(NativeFilter filter) {
    byte[][] keys = new byte[1_000_000][];
    for (int i = 0; i < keys.length; i++) {
      keys[i] = ("key-" + i).getBytes(StandardCharsets.UTF_8);
    }
    for (int round = 0; round < 3; round++) {
      long start = System.nanoTime();
      int found = 0;
      for (byte[] key : keys) {
        found += filter.mayContain(key) ? 1 : 0;
      }
      System.out.printf("%.2f million lookups a second, %d found%n", keys.length * 1e3 / (System.nanoTime() - start), found);
    }
  }

  private static String reply(String request) {
    try {
      if (!text(request, "ask").equals("filter")) {
        return "{\"skip\": \"reads filters alone\"}";
      }
      String secret = text(request, "secret");
      NativeFilter filter =
          new NativeFilter(Files.readAllBytes(Path.of(text(request, "file"))), secret == null ? null : bytes(secret));
      boolean isNumber = text(request, "type").matches("int|long");
      StringBuilder answers = new StringBuilder();
      int keys = request.indexOf("\"keys\": [");
      Matcher key = Pattern.compile("\"([0-9a-f]*)\"").matcher(request).region(keys + 9, request.indexOf(']', keys));
      while (key.find()) {
        byte[] bytes = bytes(key.group(1));
        boolean found = isNumber
            ? filter.mayContain(ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getLong())
            : filter.mayContain(bytes);
        answers.append(answers.length() == 0 ? "" : ", ").append(found ? 1 : 0);
      }
      return "{\"answers\": [" + answers + "]}";
    } catch (Throwable e) {
      return "{\"error\": \"" + e.toString().replaceAll("[^ -~]|[\"\\\\]", "'") + "\"}";
    }
  }

  private static String text(String request, String field) {
    Matcher found = Pattern.compile("\"" + field + "\": \"([^\"]*)\"").matcher(request);
    return found.find() ? found.group(1) : null;
  }

  private static byte[] bytes(String hex) {
    byte[] out = new byte[hex.length() / 2];
    for (int i = 0; i < out.length; i++) {
      out[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
    }
    return out;
  }
}
