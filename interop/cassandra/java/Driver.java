import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.cassandra.dht.Murmur3Partitioner;
import org.apache.cassandra.utils.IFilter;

/**
 * Builds the filters that fullbloom's example random_filters prints, with Cassandra's own classes, and reads fullbloom's bytes.
 *
 * <p>Arguments: the dialect, and "damaged" if the lines contain damaged files. Prints the number of cases and of differences;
 * for damaged files, how many each program accepts.
 */
public final class Driver {
  public static void main(String[] args) throws IOException {
    Cassandra cassandra = new Release();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    if (args.length > 1) {
      damaged(cassandra, args[0], in);
      return;
    }
    int cases = 0;
    int differences = 0;
    for (String line; (line = in.readLine()) != null; cases++) {
      String why = compare(cassandra, args[0], line.split("\t", -1));
      if (why != null) {
        differences++;
        System.err.println(why + ": " + line.substring(0, Math.min(line.length(), 300)));
      }
    }
    System.out.println(cases + "\t" + differences);
  }

  /** A description of the difference, or null. */
  private static String compare(Cassandra cassandra, String dialect, String[] parts) throws IOException {
    long expectedKeys = Long.parseLong(parts[2]);
    List<byte[]> keys = keys(parts[5]);
    List<byte[]> others = keys(parts[6]);
    byte[] ours = HexFormat.of().parseHex(parts[7]);
    IFilter filter =
        parts[0].equals("fpr")
            ? cassandra.byRate(dialect, expectedKeys, Double.parseDouble(parts[1]))
            : cassandra.byBuckets(dialect, expectedKeys, Integer.parseInt(parts[1]));
    for (byte[] key : keys) {
      filter.add(decorated(key));
    }
    byte[] theirs = cassandra.write(dialect, filter);
    if (theirs != null && !Arrays.equals(theirs, ours)) {
      return "other bytes";
    }
    IFilter read = cassandra.read(dialect, ours);
    for (byte[] key : keys) {
      if (!read.isPresent(decorated(key))) {
        return "a key is lost";
      }
    }
    StringBuilder answers = new StringBuilder();
    for (byte[] key : others) {
      answers.append(read.isPresent(decorated(key)) ? '1' : '0');
    }
    filter.close();
    read.close();
    return answers.toString().equals(parts[8]) ? null : "other answers";
  }

  private static org.apache.cassandra.db.DecoratedKey decorated(byte[] key) {
    return Murmur3Partitioner.instance.decorateKey(ByteBuffer.wrap(key));
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

  /** One line for each type of damage: how many of the files Cassandra and fullbloom accept. */
  private static void damaged(Cassandra cassandra, String dialect, BufferedReader in) throws IOException {
    Map<String, int[]> accepted = new TreeMap<>();
    Map<String, String> reasons = new TreeMap<>();
    for (String line; (line = in.readLine()) != null; ) {
      String[] parts = line.split("\t", -1);
      int[] counts = accepted.computeIfAbsent(parts[0], kind -> new int[3]);
      counts[0]++;
      try {
        cassandra.read(dialect, HexFormat.of().parseHex(parts[1])).close();
        counts[1]++;
      } catch (Throwable refusal) {
        reasons.put(parts[0], refusal.getClass().getSimpleName());
      }
      counts[2] += parts[2].equals("accepted") ? 1 : 0;
    }
    System.out.printf("%-24s %6s %10s %10s%n", "damage", "files", "Cassandra", "fullbloom");
    accepted.forEach(
        (kind, counts) ->
            System.out.printf(
                "%-24s %6d %10d %10d  %s%n", kind, counts[0], counts[1], counts[2], reasons.getOrDefault(kind, "")));
  }
}
