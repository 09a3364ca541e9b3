import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * Reads the native filters of fullbloom: fast, compact and dynamic ones. One file, nothing but Java 11.
 *
 * <pre>{@code
 * NativeFilter known = NativeFilter.open(Path.of("names.bloom"), null);
 * known.mayContain("alice"); // false is certain, true is probable
 * }</pre>
 *
 * <p>Written from docs/formats/native.md alone. A filter is not changed after it was read: several threads may use it.
 */
public final class NativeFilter {
  private static final long P = 0x9e3779b97f4a7c15L;
  private static final long Q = 0xbf58476d1ce4e5b9L;
  private static final long R = 0x94d049bb133111ebL;
  private static final long MAGIC = 0x0a4d4f4f4c424689L;
  private static final int FILTER = 1, BITS = 2, LABEL = 3, CHECKSUMS = 4, SECRET = 5, EXCEPTIONS = 11, EXCEPTION_DATA = 12;
  private static final int COMPACT = 13, DYNAMIC = 14, KEY_FIELD = 15;
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  /** The bytes are no filter that this reader knows; the message says what is wrong. */
  public static final class FormatException extends IllegalArgumentException {
    FormatException(String message) {
      super(message);
    }
  }

  /** The filter is keyed, and its secret is neither in the file nor given, or is another one. */
  public static final class LockedException extends IllegalArgumentException {
    LockedException(String message) {
      super(message);
    }
  }

  private interface Hash {
    long of(byte[] key);
  }

  private interface Test {
    boolean of(long hash);
  }

  private final byte[] data;
  private final Map<Integer, long[]> sections = new HashMap<>();
  private final int head;
  private final Hash hash;
  private final Test test;
  private final int keyType;
  private final int hashBits;
  private final int form;
  private final boolean hasExceptions;
  private long[][] levels; // offset, blocks, probes
  private long listAt;
  private long listed;

  /** Reads and checks a whole file. The secret may be null. */
  public static NativeFilter open(Path path, byte[] secret) throws java.io.IOException {
    if (Files.exists(Path.of(path + ".journal"))) {
      throw new FormatException(path + ".journal has keys that this reader does not read: save the filter first");
    }
    return new NativeFilter(Files.readAllBytes(path), secret);
  }

  /** A filter from its bytes, all of them checked. The secret has 16 bytes, or is null if none is needed. */
  public NativeFilter(byte[] bytes, byte[] secret) {
    data = bytes;
    readFront();
    long[] filter = section(FILTER);
    require(filter[1] == 64, "the filter section has another length");
    head = (int) filter[0];
    int layout = data[head];
    int hashKind = data[head + 1];
    form = data[head + 5];
    keyType = data[head + 6];
    hashBits = layout == 4 ? 0 : data[head + 7];
    require(layout >= 2 && layout <= 4, "layout " + layout);
    require(hashKind == 1 || hashKind == 2, "hash " + hashKind);
    require((form & ~6) == 0, "flags " + form);
    require(keyType >= 0 && keyType <= 4, "key type " + keyType);
    require(hashBits == 0 || hashBits >= 10 && hashBits <= 63, hashBits + " bits of the hash");
    require(sections.containsKey(COMPACT) == (layout == 3) && sections.containsKey(DYNAMIC) == (layout == 4),
        "sections of another kind of filter");
    long seed = u64(head + 16);
    hash = hashKind == 1 ? fold64(seed) : unlocked(secret, seed);
    test = layout == 2 ? lines() : layout == 3 ? new Compact() : new Dynamic();
    hasExceptions = sections.containsKey(EXCEPTIONS) || sections.containsKey(EXCEPTION_DATA);
    if (hasExceptions) {
      require(layout != 4, "a dynamic filter with exceptions");
      readExceptions();
    }
  }

  /** Whether the filter may contain a text. False is certain. */
  public boolean mayContain(String key) {
    return mayContain(key.getBytes(StandardCharsets.UTF_8));
  }

  /** The same for bytes. */
  public boolean mayContain(byte[] key) {
    requireType(keyType <= 2);
    return ask(formed(key));
  }

  /** The same for an integer of any width; those above 2^63 - 1 are given as the negative ones of the same bits. */
  public boolean mayContain(long key) {
    requireType(keyType == 0 || keyType > 2);
    byte[] bytes = new byte[8];
    LONG.set(bytes, 0, key);
    return ask(bytes);
  }

  /** The label that the writer gave the filter; empty without one. */
  public String label() {
    return sections.containsKey(LABEL) ? new String(slice(LABEL), StandardCharsets.UTF_8) : "";
  }

  private boolean ask(byte[] key) {
    long h = hash.of(key);
    if (hashBits != 0) {
      h = h >>> 64 - hashBits << 64 - hashBits;
      for (int i = 0; i < 2; i++) {
        h = (h ^ h >>> 32) * 0xd6e8feb86659fd93L;
      }
      h ^= h >>> 32;
    }
    return test.of(h) && !(hasExceptions && isException(h));
  }

  private void requireType(boolean fits) {
    if (!fits) {
      throw new IllegalArgumentException("the keys of the filter are " + (keyType > 2 ? "integers" : "text or bytes"));
    }
  }

  /** The key trimmed and in lower case, if the keys of the filter are. */
  private byte[] formed(byte[] key) {
    int start = 0;
    int end = key.length;
    if ((form & 4) != 0) {
      while (start < end && isSpace(key[start])) {
        start++;
      }
      while (start < end && isSpace(key[end - 1])) {
        end--;
      }
    }
    byte[] out = start == 0 && end == key.length ? key : Arrays.copyOfRange(key, start, end);
    if ((form & 2) != 0) {
      try {
        CharBuffer text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(out));
        return text.toString().toLowerCase(Locale.ROOT).getBytes(StandardCharsets.UTF_8);
      } catch (CharacterCodingException e) {
        out = out.clone();
        for (int i = 0; i < out.length; i++) {
          out[i] += out[i] >= 'A' && out[i] <= 'Z' ? 32 : 0;
        }
      }
    }
    return out;
  }

  private static boolean isSpace(byte b) {
    return b == 9 || b == 10 || b == 12 || b == 13 || b == 32;
  }

  // Hashes.

  private static long multiplyHigh(long x, long y) {
    return Math.multiplyHigh(x, y) + (x >> 63 & y) + (y >> 63 & x);
  }

  private static long fold(long x, long y) {
    return multiplyHigh(x, y) ^ x * y;
  }

  private static long le(byte[] bytes, int at) {
    return (long) LONG.get(bytes, at);
  }

  private static Hash fold64(long seed) {
    long[] s = new long[4];
    for (int i = 0; i < 4; i++) {
      long z = seed + (i + 1) * P;
      z = (z ^ z >>> 30) * Q;
      z = (z ^ z >>> 27) * R;
      s[i] = z ^ z >>> 31;
    }
    long a = s[0], b = s[1], c = s[2], d = s[3];
    return key -> {
      int n = key.length;
      long w = b ^ n * P;
      long f;
      if (n == 0) {
        f = fold(a, w);
      } else if (n <= 3) {
        f = fold((key[0] & 255) + ((key[n / 2] & 255) << 8) + ((key[n - 1] & 255) << 16) ^ a, w);
      } else if (n <= 8) {
        f = fold(((int) INT.get(key, 0) & 0xffffffffL) + ((long) (int) INT.get(key, n - 4) << 32) ^ a, w);
      } else if (n <= 16) {
        f = fold(le(key, 0) ^ a, le(key, n - 8) ^ w);
      } else {
        int at = 0;
        if (n > 32) {
          long u = w;
          long v = d;
          for (int i = 0; i + 32 < n; i += 32) {
            u = fold(le(key, i) ^ a, le(key, i + 8) ^ u);
            v = fold(le(key, i + 16) ^ c, le(key, i + 24) ^ v);
          }
          at = n - 32;
          w = u ^ v;
        }
        long t = fold(le(key, at) ^ a, le(key, at + 8) ^ w);
        f = fold(le(key, n - 16) ^ c, le(key, n - 8) ^ d ^ t);
      }
      return (f ^ f >>> 32) * P;
    };
  }

  private static Hash siphash13(byte[] secret) {
    long k0 = le(secret, 0);
    long k1 = le(secret, 8);
    return key -> {
      long[] v = {k0 ^ 0x736f6d6570736575L, k1 ^ 0x646f72616e646f6dL, k0 ^ 0x6c7967656e657261L, k1 ^ 0x7465646279746573L};
      byte[] padded = Arrays.copyOf(key, key.length / 8 * 8 + 8);
      padded[padded.length - 1] = (byte) key.length;
      for (int at = 0; at < padded.length; at += 8) {
        long word = le(padded, at);
        v[3] ^= word;
        sipRound(v);
        v[0] ^= word;
      }
      v[2] ^= 255;
      for (int i = 0; i < 3; i++) {
        sipRound(v);
      }
      return v[0] ^ v[1] ^ v[2] ^ v[3];
    };
  }

  private static void sipRound(long[] v) {
    v[0] += v[1];
    v[1] = Long.rotateLeft(v[1], 13) ^ v[0];
    v[0] = Long.rotateLeft(v[0], 32);
    v[2] += v[3];
    v[3] = Long.rotateLeft(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = Long.rotateLeft(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = Long.rotateLeft(v[1], 17) ^ v[2];
    v[2] = Long.rotateLeft(v[2], 32);
  }

  private Hash unlocked(byte[] given, long checkValue) {
    byte[] secret = given == null && sections.containsKey(SECRET) ? slice(SECRET) : given;
    if (secret == null || secret.length != 16) {
      throw new LockedException("the filter is keyed: its secret of 16 bytes is needed");
    }
    Hash keyed = siphash13(secret);
    byte[] derived = new byte[16];
    LONG.set(derived, 0, keyed.of(new byte[] {1, 0}));
    LONG.set(derived, 8, keyed.of(new byte[] {1, 1}));
    byte[] question = "fullbloom native: is this the secret?".getBytes(StandardCharsets.UTF_8);
    if (siphash13(derived).of(question) != checkValue) {
      throw new LockedException("this is not the secret of the filter");
    }
    return keyed;
  }

  // Fast filters.

  private Test lines() {
    long[] bits = section(BITS);
    int lines = data[head + 2];
    int group = data[head + 3];
    int probes = data[head + 4];
    long blocks = u64(head + 8);
    require(lines == 1 || lines == 2 || lines == 4, "lines per key: " + lines);
    require(lines == 1 ? group == 1 : group >= lines && group <= 64 && Integer.bitCount(group) == 1, "lines in a block: " + group);
    require(probes >= 1 && probes <= 8, "probes: " + probes);
    require(blocks >= 1 && blocks <= data.length && bits[1] == blocks * group * 64, "the array has another length than its blocks");
    return h -> linesTest(bits[0], blocks, group, lines, probes, h);
  }

  /** Whether all bits of a hash are set in the array that begins at an offset. */
  private boolean linesTest(long at, long blocks, int group, int lines, int probes, long h) {
    long x1 = h * P;
    long x2 = (x1 ^ x1 >>> 32) * Q;
    long first = multiplyHigh(x1, blocks) * group;
    int part = group / lines;
    long a = h;
    long b = x1;
    long x = x2;
    for (int i = 0; i < lines; i++) {
      int line = (int) (at + 64 * (first + i * part + (x2 >>> 58 - 6 * i & part - 1)));
      if (i > 0) {
        a = x;
        b = (x ^ x >>> 32) * P;
        x = b;
      }
      long fields = Long.rotateLeft(a, 32) ^ b;
      int start = (int) (b >>> 5 & 7);
      for (int k = start; k < start + probes; k++) {
        int lane = k & 7;
        int field = (int) (fields >>> 8 * lane);
        int bit = 31 - (field & 31);
        int word = lane + ((field & 128) >> 4);
        if ((data[line + 4 * word + (bit >> 3)] >> (bit & 7) & 1) == 0) {
          return false;
        }
      }
    }
    return true;
  }

  private void readExceptions() {
    long[] section = section(EXCEPTIONS);
    long[] array = section(EXCEPTION_DATA);
    require(section[1] >= 16, "the exceptions section is too short");
    long count = u64(section[0]);
    listed = u64(section[0] + 8);
    require(count >= 0 && count <= 64 && section[1] == 16 + 16 * count, count + " levels of exceptions");
    levels = new long[(int) count][];
    listAt = array[0];
    long end = array[0] + array[1];
    for (int i = 0; i < count; i++) {
      long blocks = u64(section[0] + 16 + 16L * i);
      long probes = u64(section[0] + 24 + 16L * i);
      require(blocks >= 1 && blocks <= (end - listAt) / 64 && probes >= 1 && probes <= 8,
          "a level of exceptions has impossible numbers");
      levels[i] = new long[] {listAt, blocks, probes};
      listAt += 64 * blocks;
    }
    require(listed >= 0 && listed <= data.length && end - listAt == 8 * listed, "the exceptions have another length");
  }

  /** Whether a key whose bits are all set is a known-good one. */
  private boolean isException(long h) {
    for (int i = 0; i < levels.length; i++) {
      long x = h + (i + 1) * P;
      x = (x ^ x >>> 32) * Q;
      x = (x ^ x >>> 29) * R;
      if (!linesTest(levels[i][0], levels[i][1], 1, 1, (int) levels[i][2], x ^ x >>> 32)) {
        return i % 2 == 1;
      }
    }
    return (levels.length + (inList(listAt, listed, h, 0) ? 0 : 1)) % 2 == 0;
  }

  /** Whether a number is in an ascending list of words, of which the lowest bits are left out. */
  private boolean inList(long at, long count, long number, int dropped) {
    long low = 0;
    long high = count;
    while (low < high) {
      long middle = (low + high) / 2;
      long found = u64(at + 8 * middle) >>> dropped;
      if (found == number) {
        return true;
      }
      if (Long.compareUnsigned(found, number) < 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return false;
  }

  /** A compact filter: layers of lines, each a system of linear equations, and a list. */
  private final class Compact implements Test {
    final int width = data[head + 2];
    final int further = data[head + 3] & 255;
    final long[][] layers; // offset, lines, split
    final long list;
    final long count;

    Compact() {
      long[] bits = section(BITS);
      long[] section = section(COMPACT);
      require((width == 1 || width == 2 || width == 4 || width == 8) && data[head + 4] == 0, "columns of " + width + " parts");
      require(8 / width + further + 1 <= 65, further + " further columns");
      require(u64(head + 8) <= data.length && bits[1] == u64(head + 8) * 64, "the array has another length than its lines");
      require(section[1] >= 8 && section[1] <= 8 + 20 * 16 && section[1] % 16 == 8, "the compact section has another length");
      layers = new long[(int) (section[1] / 16)][];
      long at = bits[0];
      for (int i = 0; i < layers.length; i++) {
        long lines = u64(section[0] + 8 + 16L * i);
        long split = u64(section[0] + 16 + 16L * i);
        require(lines >= 1 && lines < 1L << 32 && split >= 0 && split <= 256 * lines, "a layer has impossible numbers");
        long shorter = split >> 8; // lines with one column less
        require(8 + (further + (shorter < lines ? 1 : 0)) * width <= 64, further + " further columns of " + width + " parts");
        layers[i] = new long[] {at, lines, split};
        at += lines * 64 + (lines * (further + 1) - shorter) * width * 8 + 63 & ~63L;
        require(at <= bits[0] + bits[1], "the layers are longer than the array");
      }
      list = at;
      count = u64(section[0]);
      require(count >= 0 && count <= data.length && bits[0] + bits[1] - at == (count * 8 + 63 & ~63L),
          "the layers and the list have another length than the array");
    }

    @Override
    public boolean of(long h) {
      long t = (h ^ h >>> 32) * Q;
      long u = (t ^ t >>> 29) * R;
      long z = h;
      for (int i = 0; i < layers.length; i++) {
        if (i > 0) {
          z = i == 1 ? (t ^ t >>> 32) * P : (z ^ z >>> 32) * Q;
        }
        long lines = layers[i][1];
        long x = multiplyHigh(z, lines) << 32 | z * lines >>> 32;
        long line = x >>> 32;
        int priority = (int) Math.min(x >>> 24 & 255, 254);
        if (priority < (data[(int) (layers[i][0] + 64 * line + 63)] & 255)) {
          return agrees(layers[i], line, x, t, u & ~255L | x >>> 16 & 255);
        }
      }
      return inList(list, count, h, 0);
    }

    /** Whether the sum of the chosen slots is the fingerprint in every column. */
    boolean agrees(long[] layer, long line, long x, long t, long fingerprint) {
      int choices = width <= 2 ? 6 : 8;
      int[] slots = new int[choices];
      int[] sums = new int[width];
      int at = (int) (layer[0] + 64 * line);
      for (int i = 0; i < choices; i++) {
        int chosen = (int) (t >>> 8 * i) & 255;
        slots[i] = width == 1 && i < 4 ? 16 * i + chosen % 16 : chosen % 64;
        sums[part(i)] ^= data[at + slots[i]];
      }
      for (int first = 0; first < 8; first += width) {
        int sum = 0;
        for (int part = 0; part < width; part++) {
          sum ^= sums[part] >> first + part;
        }
        if ((sum & 1) != (fingerprint >>> first & 1)) {
          return false;
        }
      }
      int columns = further + (x >>> 24 >= layer[2] ? 1 : 0);
      long before = line * (further + 1) - Math.min(line, layer[2] >> 8);
      for (int column = 0; column < columns; column++) {
        long words = layer[0] + 64 * layer[1] + (before + column) * width * 8;
        int sum = 0;
        for (int i = 0; i < choices; i++) {
          sum ^= data[(int) (words + 8 * part(i) + (slots[i] >> 3))] >> (slots[i] & 7);
        }
        if ((sum & 1) != (fingerprint >>> 8 + column * width & 1)) {
          return false;
        }
      }
      return true;
    }

    private int part(int i) {
      return width == 1 ? 0 : width == 2 ? i / 3 : width == 4 ? i / 2 : i;
    }
  }

  /** A dynamic filter: the fingerprints of its keys, in lines, overflow lines and a list. */
  private final class Dynamic implements Test {
    final long start = section(BITS)[0];
    final int bits = data[head + 2];
    final int tag;
    final long items;
    final long[][] tables; // lines, remainder bits, slots, quotients

    Dynamic() {
      long[] section = section(DYNAMIC);
      int mode = data[head + 3];
      long lines = u64(head + 8);
      require(mode >= 0 && mode <= 3 && data[head + 4] == 0, "mode " + mode);
      require(mode < 2 ? section[1] == 16 : section[1] >= 48, "the dynamic section has another length");
      items = u64(section[0]);
      long counts = u64(section[0] + 8);
      long generations = mode < 2 ? 1 : (int) INT.get(data, (int) section[0] + 24);
      require(generations >= 1 && generations <= 200 && (mode < 2 || section[1] == 48 + 8 * (generations + 1)), generations + " generations");
      tag = mode < 2 ? 2 * mode : 64 - Long.numberOfLeadingZeros(generations + 2 + generations / 4 - 1);
      require(bits >= 10 && bits + tag <= 62, "fingerprints of " + bits + " bits");
      require(lines >= 16 && lines % 16 == 0 && lines <= Math.min(1L << bits, data.length), lines + " lines");
      require(items >= 0 && items <= data.length && counts >= 0 && counts <= data.length
          && section(BITS)[1] == (lines + lines / 16) * 64 + 8 * items + 16 * counts, "the array has another length");
      tables = new long[][] {shape(lines), shape(lines / 16)};
    }

    private long[] shape(long lines) {
      long range = ((1L << bits) + lines - 1) / lines;
      long[] best = {lines, 0, 0, 0};
      for (int r = 1; r <= 56 - tag; r++) {
        long quotients = (range - 1 >> r) + 1;
        int width = r + tag;
        int slots = quotients > 64 ? 0 : 62;
        while (slots > 0 && (slots * width + quotients > (512 - slots) / 8 * 8 || (slots - 1) * width > 455)) {
          slots--;
        }
        if (slots > best[2]) {
          best = new long[] {lines, r, slots, quotients};
        }
      }
      require(best[2] > 0, lines + " lines have no slots");
      return best;
    }

    @Override
    public boolean of(long h) {
      long fingerprint = h >>> 64 - bits;
      long at = start;
      for (long[] table : tables) {
        // fingerprint * lines is line * 2^bits + rest; the distance from the first of the line is rest / lines.
        long low = fingerprint * table[0];
        long line = multiplyHigh(fingerprint, table[0]) << 64 - bits | low >>> bits;
        long number = (low & (1L << bits) - 1) / table[0];
        int found = lineTest((int) (at + 64 * line), number, (int) table[1], (int) table[2], (int) table[3]);
        if (found != FULL) {
          return found == FOUND;
        }
        at += 64 * table[0];
      }
      return inList(at, items, fingerprint, tag);
    }

    static final int MISSING = 0;
    static final int FOUND = 1;
    static final int FULL = 2; // not found, and all slots are used

    private int lineTest(int at, long number, int r, int slots, int quotients) {
      int end = (512 - slots) / 8 * 8;
      int starts = 511 - slots; // bit i from here: slot i is the first of its quotient, or the end
      int missing = bit(at, starts + slots) ? FULL : MISSING;
      int quotient = (int) (number >>> r);
      if (!bit(at, end - quotients + quotient)) {
        return missing;
      }
      int slot = 0;
      for (int q = 0; q < quotient; q++) {
        if (bit(at, end - quotients + q)) {
          do {
            require(++slot <= slots, "a line of fingerprints contradicts itself");
          } while (!bit(at, starts + slot));
        }
      }
      do {
        require(slot < slots, "a line of fingerprints contradicts itself");
        long remainder = 0;
        for (int i = r - 1; i >= 0; i--) {
          remainder = remainder << 1 | (bit(at, slot * (r + tag) + tag + i) ? 1 : 0);
        }
        if (remainder == (number & (1L << r) - 1)) {
          return FOUND;
        }
      } while (!bit(at, starts + ++slot));
      return missing;
    }

    private boolean bit(int at, int i) {
      return (data[at + (i >> 3)] >> (i & 7) & 1) != 0;
    }
  }

  // The file.

  private void readFront() {
    require(data.length >= 64 && u64(0) == MAGIC, "not a native filter");
    int version = (int) INT.get(data, 12) & 0xffff;
    int count = (int) INT.get(data, 12) >>> 16;
    long front = u32(16);
    long chunk = u32(20);
    require(version == 1, "version " + version);
    require(count <= 64, count + " sections");
    require(front % 64 == 0 && 64 + 32L * count <= front && front <= data.length, "a front of " + front + " bytes");
    require(crc(12, front) == u32(8), "the front is damaged");
    require(chunk >= 64 && Long.bitCount(chunk) == 1, "chunks of " + chunk + " bytes");
    require(u64(24) == data.length, data.length + " of " + u64(24) + " bytes");
    require(u64(32) == 0, "a required feature is unknown");
    long end = 64 + 32L * count;
    for (long at = 64; at < 64 + 32L * count; at += 32) {
      long kind = u32(at);
      long offset = u64(at + 8);
      long size = u64(at + 16);
      require(offset >= end && offset <= data.length && size >= 0 && size <= data.length - offset, "section " + kind + " is not in the file");
      end = offset + size;
      boolean known = kind >= FILTER && kind <= SECRET || kind >= EXCEPTIONS && kind <= KEY_FIELD;
      require(known || (u32(at + 4) & 1) == 0 && !(kind >= 6 && kind <= 10), "section " + kind + " is unknown");
      boolean inPlace = kind == BITS || kind == EXCEPTION_DATA ? offset >= front && offset % 64 == 0 : end <= front;
      require(!known || inPlace, "section " + kind + " is in another place");
      require(!known || sections.put((int) kind, new long[] {offset, size}) == null, "section " + kind + " is there twice");
    }
    long[] sums = section(CHECKSUMS);
    require(sums[1] == (data.length - front + chunk - 1) / chunk * 4, "the checksums have another length");
    for (long i = 0; i < sums[1] / 4; i++) {
      long at = front + i * chunk;
      require(crc(at, Math.min(at + chunk, data.length)) == u32(sums[0] + 4 * i), "the data are damaged from byte " + at + " on");
    }
  }

  private long crc(long from, long to) {
    CRC32C crc = new CRC32C();
    crc.update(data, (int) from, (int) (to - from));
    return crc.getValue();
  }

  private long u64(long at) {
    return (long) LONG.get(data, (int) at);
  }

  private long u32(long at) {
    return (int) INT.get(data, (int) at) & 0xffffffffL;
  }

  private long[] section(int kind) {
    require(sections.containsKey(kind), "section " + kind + " is missing");
    return sections.get(kind);
  }

  private byte[] slice(int kind) {
    long[] section = section(kind);
    return Arrays.copyOfRange(data, (int) section[0], (int) (section[0] + section[1]));
  }

  private static void require(boolean holds, String what) {
    if (!holds) {
      throw new FormatException(what);
    }
  }
}
