import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import org.apache.spark.util.sketch.BloomFilter;

/** Compares Spark's sketch library with the filters that fullbloom's example random_filters prints. */
public final class Spark {
  private Spark() {}

  public static void main(String[] args) throws Exception {
    BloomFilter.Version version =
        args[0].equals("spark") ? BloomFilter.Version.V1 : BloomFilter.Version.V2;
    Lines.compare(given -> {
      double ln2 = Math.log(2);
      long bits = (long) (-given.expectedKeys() * Math.log(given.rate()) / (ln2 * ln2));
      BloomFilter theirs = BloomFilter.create(version, given.expectedKeys(), bits, 0);
      given.keys().forEach(theirs::putBinary);
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      theirs.writeTo(out);
      if (!Arrays.equals(out.toByteArray(), given.filter())) {
        return "other bytes";
      }
      BloomFilter ours = BloomFilter.readFrom(new ByteArrayInputStream(given.filter()));
      StringBuilder answers = new StringBuilder();
      given.others().forEach(key -> answers.append(ours.mightContainBinary(key) ? '1' : '0'));
      return answers.toString().equals(given.answers()) ? null : "other answers";
    });
  }
}
