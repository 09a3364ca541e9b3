import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** Shared by the adapters of Java libraries: reads requests and prints answers. */
public final class Adapter {
  private Adapter() {}

  /** What a library does with one request: a number for each key, or null if it cannot be asked this. */
  public interface Reader {
    int[] answer(JsonObject request) throws Exception;
  }

  /** Whether a filter may contain a key. */
  public interface Lookup {
    boolean mayContain(byte[] key) throws Exception;
  }

  public static void run(String name, String version, List<String> systems, Reader reader) throws IOException {
    JsonObject about = new JsonObject();
    about.addProperty("name", name);
    about.addProperty("version", version);
    JsonArray list = new JsonArray();
    systems.forEach(list::add);
    about.add("systems", list);
    System.out.println(about);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      JsonObject reply = new JsonObject();
      try {
        int[] answers = reader.answer(JsonParser.parseString(line).getAsJsonObject());
        if (answers == null) {
          reply.addProperty("skip", "not offered by this library");
        } else {
          JsonArray numbers = new JsonArray();
          for (int answer : answers) {
            numbers.add(answer);
          }
          reply.add("answers", numbers);
        }
      } catch (UnsupportedOperationException e) {
        reply.addProperty("skip", String.valueOf(e.getMessage()));
      } catch (Throwable e) {
        reply.addProperty("error", e.toString());
      }
      System.out.println(reply);
      System.out.flush();
    }
  }

  public static Path file(JsonObject request) {
    return Path.of(text(request, "file"));
  }

  public static byte[] bytes(JsonObject request) throws IOException {
    return Files.readAllBytes(file(request));
  }

  public static String text(JsonObject request, String field) {
    JsonElement value = request.get(field);
    return value == null ? "" : value.getAsString();
  }

  public static int[] lookUp(JsonObject request, Lookup filter) throws Exception {
    List<Integer> answers = new ArrayList<>();
    for (JsonElement key : request.getAsJsonArray("keys")) {
      answers.add(filter.mayContain(HexFormat.of().parseHex(key.getAsString())) ? 1 : 0);
    }
    return answers.stream().mapToInt(i -> i).toArray();
  }
}
