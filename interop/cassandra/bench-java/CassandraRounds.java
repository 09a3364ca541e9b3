import java.nio.ByteBuffer;
import org.apache.cassandra.utils.FilterFactory;
import org.apache.cassandra.utils.IFilter;
import org.apache.cassandra.utils.MurmurHash;

/** Cassandra's off-heap BloomFilter. Keys are hashed each time, or in advance if the argument is `hashed`. */
public final class CassandraRounds implements Rounds.Peer {
  private final boolean hashed;
  private IFilter filter;
  private final IFilter.FilterKey[][] kept = new IFilter.FilterKey[2][];

  private CassandraRounds(boolean hashed) {
    this.hashed = hashed;
  }

  public static void main(String[] args) throws Exception {
    Rounds.serve(new CassandraRounds(args.length > 0 && args[0].equals("hashed")));
  }

  /** A key that was just read from an sstable: only its bytes are known. */
  private record Raw(ByteBuffer bytes) implements IFilter.FilterKey {
    @Override
    public void filterHash(long[] dest) {
      MurmurHash.hash3_x64_128(bytes, bytes.position(), bytes.remaining(), 0, dest);
    }
  }

  /** A key whose hash was computed together with its token. */
  private record Hashed(long first, long second) implements IFilter.FilterKey {
    @Override
    public void filterHash(long[] dest) {
      dest[0] = first;
      dest[1] = second;
    }
  }

  private IFilter.FilterKey key(long key) {
    Raw raw = new Raw(ByteBuffer.wrap(Rounds.bytes(key)));
    if (!hashed) {
      return raw;
    }
    long[] hash = new long[2];
    raw.filterHash(hash);
    return new Hashed(hash[0], hash[1]);
  }

  @Override
  public void create(long keys) {
    if (filter != null) {
      filter.close();
    }
    filter = FilterFactory.getFilter(keys, 0.01);
  }

  @Override
  public void fill(long key) {
    filter.add(key(key));
  }

  @Override
  public void keep(int list, long[] keys) {
    kept[list] = new IFilter.FilterKey[keys.length];
    for (int i = 0; i < keys.length; i++) {
      kept[list][i] = key(keys[i]);
    }
  }

  @Override
  public long insert(int list) {
    for (IFilter.FilterKey key : kept[list]) {
      filter.add(key);
    }
    return 0;
  }

  @Override
  public long ask(int list) {
    long found = 0;
    for (IFilter.FilterKey key : kept[list]) {
      found += filter.isPresent(key) ? 1 : 0;
    }
    return found;
  }
}
