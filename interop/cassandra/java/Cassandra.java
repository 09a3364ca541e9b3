import java.io.IOException;
import org.apache.cassandra.utils.IFilter;

/** What the driver needs from one release. The class Release in each release's directory implements it. */
interface Cassandra {
  IFilter byRate(String dialect, long expectedKeys, double rate);

  IFilter byBuckets(String dialect, long expectedKeys, int buckets);

  /** The bytes of the file, or null if this release only reads the dialect. */
  byte[] write(String dialect, IFilter filter) throws IOException;

  IFilter read(String dialect, byte[] file) throws IOException;

  /** What a parsed ALTER TABLE statement does. */
  Altered altered(Object statement);
}
