import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** Shared by the drivers: compares the lines that fullbloom's example random_filters prints, one by one. */
public final class Lines {
  private Lines() {}

  /** Describes the difference in the filter of one line, or returns null. */
  public interface Comparison {
    String compare(Case given) throws Exception;
  }

  /** One line. */
  public record Case(
      double rate, long expectedKeys, long bits, int probes, List<byte[]> keys, List<byte[]> others, byte[] filter,
      String answers) {}

  /** Compares all lines of standard input; prints the number of cases and of differences. */
  public static void compare(Comparison comparison) throws IOException {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    int cases = 0;
    int differences = 0;
    for (String line; (line = in.readLine()) != null; cases++) {
      String why;
      try {
        String[] parts = line.split("\t", -1);
        why = comparison.compare(new Case(
            Double.parseDouble(parts[1]), Long.parseLong(parts[2]), Long.parseLong(parts[3]),
            Integer.parseInt(parts[4]), keys(parts[5]), keys(parts[6]), HexFormat.of().parseHex(parts[7]), parts[8]));
      } catch (Exception e) {
        why = e.toString();
      }
      if (why != null) {
        differences++;
        System.err.println(why + ": " + line.substring(0, Math.min(line.length(), 300)));
      }
    }
    System.out.println(cases + "\t" + differences);
  }

  private static List<byte[]> keys(String list) {
    List<byte[]> keys = new ArrayList<>();
    for (int at = 0; at < list.length(); ) {
      int comma = list.indexOf(',', at);
      keys.add(HexFormat.of().parseHex(list, at, comma));
      at = comma + 1;
    }
    return keys;
  }
}
