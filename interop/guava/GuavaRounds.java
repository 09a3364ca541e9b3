import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;

/** Guava's BloomFilter of byte arrays, or of longs if the argument is `long`. */
@SuppressWarnings("UnstableApiUsage")
public final class GuavaRounds {
  private GuavaRounds() {}

  public static void main(String[] args) throws Exception {
    Rounds.serve(args.length > 0 && args[0].equals("long") ? new Longs() : new Bytes());
  }

  private static final class Bytes implements Rounds.Peer {
    private BloomFilter<byte[]> filter;
    private final byte[][][] kept = new byte[2][][];

    @Override
    public void create(long keys) {
      filter = BloomFilter.create(Funnels.byteArrayFunnel(), keys, 0.01);
    }

    @Override
    public void fill(long key) {
      filter.put(Rounds.bytes(key));
    }

    @Override
    public void keep(int list, long[] keys) {
      kept[list] = new byte[keys.length][];
      for (int i = 0; i < keys.length; i++) {
        kept[list][i] = Rounds.bytes(keys[i]);
      }
    }

    @Override
    public long insert(int list) {
      long fresh = 0;
      for (byte[] key : kept[list]) {
        fresh += filter.put(key) ? 1 : 0;
      }
      return fresh;
    }

    @Override
    public long ask(int list) {
      long found = 0;
      for (byte[] key : kept[list]) {
        found += filter.mightContain(key) ? 1 : 0;
      }
      return found;
    }
  }

  private static final class Longs implements Rounds.Peer {
    private BloomFilter<Long> filter;
    private final Long[][] kept = new Long[2][];

    @Override
    public void create(long keys) {
      filter = BloomFilter.create(Funnels.longFunnel(), keys, 0.01);
    }

    @Override
    public void fill(long key) {
      filter.put(key);
    }

    @Override
    public void keep(int list, long[] keys) {
      kept[list] = new Long[keys.length];
      for (int i = 0; i < keys.length; i++) {
        kept[list][i] = keys[i];
      }
    }

    @Override
    public long insert(int list) {
      long fresh = 0;
      for (Long key : kept[list]) {
        fresh += filter.put(key) ? 1 : 0;
      }
      return fresh;
    }

    @Override
    public long ask(int list) {
      long found = 0;
      for (Long key : kept[list]) {
        found += filter.mightContain(key) ? 1 : 0;
      }
      return found;
    }
  }
}
