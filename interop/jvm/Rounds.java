import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** The JVM's side of `fullbloom-bench engines`. Each input line starts a round; the output is its CPU time and its count. */
public final class Rounds {
  private Rounds() {}

  /** A filter on the JVM. Keys are numbers; each filter converts them in advance to the form that its rounds need. */
  public interface Peer {
    /** Creates an empty filter for this many keys at a rate of 0.01. */
    void create(long keys);

    /** Inserts a key that is not kept. */
    void fill(long key);

    /** Keeps these keys for rounds: 0 those that are present, 1 absent ones. */
    void keep(int list, long[] keys);

    /** Inserts the kept keys. */
    long insert(int list);

    /** How many of the kept keys may be present. */
    long ask(int list);
  }

  /** The output step of splitmix64, as in bench/src/keys.rs. */
  private static long mix(long number) {
    long z = number + 0x9e3779b97f4a7c15L;
    z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
    z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
    return z ^ z >>> 31;
  }

  /** Eight bytes, little-endian. */
  public static byte[] bytes(long key) {
    byte[] bytes = new byte[8];
    for (int i = 0; i < 8; i++) {
      bytes[i] = (byte) (key >>> 8 * i);
    }
    return bytes;
  }

  /** Runs commands until the end of the input: `create KEYS ASKED`, `insert`, `present`, `absent`. */
  public static void serve(Peer peer) throws Exception {
    ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.split(" ");
      long counted = 0;
      long start = clock.getCurrentThreadCpuTime();
      switch (words[0]) {
        case "create" -> {
          long keys = Long.parseLong(words[1]);
          int asked = Integer.parseInt(words[2]);
          peer.create(keys);
          for (long i = 0; i < keys; i++) {
            peer.fill(mix(i));
          }
          long[] present = new long[asked];
          long[] absent = new long[asked];
          for (int i = 0; i < asked; i++) {
            present[i] = mix(Long.remainderUnsigned(mix(i), keys));
            absent[i] = mix(i + (1L << 40));
          }
          peer.keep(0, present);
          peer.keep(1, absent);
        }
        case "insert" -> counted = peer.insert(0);
        case "present" -> counted = peer.ask(0);
        case "absent" -> counted = peer.ask(1);
        default -> throw new IllegalArgumentException(line);
      }
      System.out.println((clock.getCurrentThreadCpuTime() - start) + " " + counted);
    }
  }
}
