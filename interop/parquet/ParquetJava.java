import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import org.apache.parquet.column.values.bloomfilter.BlockSplitBloomFilter;
import org.apache.parquet.io.api.Binary;

/** Compares parquet-java with the filters that fullbloom's example random_filters prints, without their headers. */
public final class ParquetJava {
  private ParquetJava() {}

  public static void main(String[] args) throws Exception {
    Lines.compare(given -> {
      int bits = BlockSplitBloomFilter.optimalNumOfBits(given.expectedKeys(), given.rate());
      BlockSplitBloomFilter theirs = new BlockSplitBloomFilter(bits / 8);
      given.keys().forEach(key -> theirs.insertHash(theirs.hash(Binary.fromConstantByteArray(key))));
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      theirs.writeTo(out);
      byte[] blocks = Arrays.copyOfRange(
          given.filter(), given.filter().length - (int) (given.bits() / 8), given.filter().length);
      if (!Arrays.equals(out.toByteArray(), blocks)) {
        return "other bytes";
      }
      BlockSplitBloomFilter ours = new BlockSplitBloomFilter(blocks);
      StringBuilder answers = new StringBuilder();
      for (byte[] key : given.others()) {
        answers.append(ours.findHash(ours.hash(Binary.fromConstantByteArray(key))) ? '1' : '0');
      }
      return answers.toString().equals(given.answers()) ? null : "other answers";
    });
  }
}
