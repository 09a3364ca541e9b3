import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HexFormat;
import java.util.List;

/**
 * Compares java-lsm-tree's rules, with the JVM's own String.hashCode and BitSet, with the filters that fullbloom's example
 * random_filters prints. Prints the number of cases and of differences.
 */
public final class JavaLsm {
  private final BitSet bits;
  private final int size;
  private final int probes;

  private JavaLsm(int expectedKeys, double rate) {
    size = (int) (-expectedKeys * Math.log(rate) / (Math.log(2) * Math.log(2)));
    probes = (int) (size * Math.log(2) / expectedKeys);
    bits = new BitSet(size);
  }

  private int position(String key, int probe) {
    int hash = key.hashCode();
    return Math.abs((hash + probe * (hash >>> 16)) % size);
  }

  private void add(String key) {
    for (int probe = 0; probe < probes; probe++) {
      bits.set(position(key, probe));
    }
  }

  private boolean mightContain(String key) {
    for (int probe = 0; probe < probes; probe++) {
      if (!bits.get(position(key, probe))) {
        return false;
      }
    }
    return true;
  }

  public static void main(String[] args) throws IOException {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    int cases = 0;
    int differences = 0;
    for (String line; (line = in.readLine()) != null; cases++) {
      String why = compare(line.split("\t", -1));
      if (why != null) {
        differences++;
        System.err.println(why + ": " + line.substring(0, Math.min(line.length(), 300)));
      }
    }
    System.out.println(cases + "\t" + differences);
  }

  /** A description of the difference, or null. */
  private static String compare(String[] parts) {
    JavaLsm filter = new JavaLsm(Integer.parseInt(parts[2]), Double.parseDouble(parts[1]));
    if (filter.size != Integer.parseInt(parts[3]) || filter.probes != Integer.parseInt(parts[4])) {
      return "sized " + filter.size + ", " + filter.probes + " probes";
    }
    keys(parts[5]).forEach(filter::add);
    // A BitSet drops the zeros at its end; the set bits are the same.
    if (!Arrays.equals(filter.bits.toByteArray(), BitSet.valueOf(HexFormat.of().parseHex(parts[7])).toByteArray())) {
      return "other bytes";
    }
    StringBuilder answers = new StringBuilder();
    for (String key : keys(parts[6])) {
      answers.append(filter.mightContain(key) ? '1' : '0');
    }
    return answers.toString().equals(parts[8]) ? null : "other answers";
  }

  private static List<String> keys(String list) {
    List<String> keys = new ArrayList<>();
    for (int at = 0; at < list.length(); ) {
      int comma = list.indexOf(',', at);
      keys.add(new String(HexFormat.of().parseHex(list, at, comma), StandardCharsets.UTF_8));
      at = comma + 1;
    }
    return keys;
  }
}
