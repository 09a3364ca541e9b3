import com.google.common.hash.GuavaDriver;
import java.util.Arrays;

/** Compares Guava with the filters that fullbloom's example random_filters prints. */
public final class Guava {
  private Guava() {}

  public static void main(String[] args) throws Exception {
    String dialect = args[0];
    Lines.compare(given -> {
      byte[] theirs = GuavaDriver.bytes(given.keys(), given.expectedKeys(), given.rate(), dialect);
      if (!Arrays.equals(theirs, given.filter())) {
        return "other bytes";
      }
      if (!GuavaDriver.refuses(Arrays.copyOf(theirs, theirs.length - 1))) {
        return "a cut file is accepted";
      }
      return GuavaDriver.answers(given.filter(), given.others()).equals(given.answers()) ? null : "other answers";
    });
  }
}
