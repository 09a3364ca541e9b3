import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.antlr.runtime.RecognitionException;
import org.apache.cassandra.cql3.CQLFragmentParser;
import org.apache.cassandra.cql3.CqlParser;

/**
 * Parses the statements that fullbloom plan proposes, with Cassandra's own parser.
 *
 * <p>With the argument "names" it prints names for keyspaces and tables: every word that CQL's grammar names,
 * and others that may need quotes. Otherwise its input has lines of a name, a rate and a statement, which must set the rate of the table NAME.NAME.
 * Prints the number of statements and of differences.
 */
public final class Statements {
  private static final Set<String> OTHERS = Set.of("shop", "orders_2", "Shop", "SELECT", "2024", "e1", "_x", "schema", "table");

  public static void main(String[] args) throws IOException {
    if (args.length > 0) {
      Set<String> names = new TreeSet<>(OTHERS);
      for (String token : CqlParser.tokenNames) {
        if (token.startsWith("K_")) {
          names.add(token.substring(2).toLowerCase(Locale.ROOT));
        }
      }
      names.forEach(System.out::println);
      return;
    }
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    int cases = 0;
    int differences = 0;
    for (String line; (line = in.readLine()) != null; cases++) {
      String[] parts = line.split("\t");
      String why = differs(parts[0], parts[1], parts[2]);
      if (why != null) {
        differences++;
        System.err.println(why + ": " + parts[2]);
      }
    }
    System.out.println(cases + "\t" + differences);
  }

  /** A description of the difference, or null. */
  private static String differs(String name, String rate, String statement) {
    Altered altered;
    try {
      altered = new Release().altered(CQLFragmentParser.parseAnyUnhandled(CqlParser::query, statement));
    } catch (RecognitionException | RuntimeException e) {
      return e.toString();
    }
    boolean isMeant = altered.keyspace().equals(name) && altered.table().equals(name);
    return isMeant && Double.parseDouble(altered.rate()) == Double.parseDouble(rate) ? null : altered.toString();
  }

  /** The rate that a parsed ALTER TABLE statement sets. */
  static String rate(Object statement) {
    Map<?, ?> properties = (Map<?, ?>) field(field(statement, "attrs"), "properties");
    return (String) properties.get("bloom_filter_fp_chance");
  }

  /** The value of a private field: what a statement will do is not public. */
  static Object field(Object object, String name) {
    for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
      try {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(object);
      } catch (NoSuchFieldException e) {
        // perhaps its superclass has it
      } catch (IllegalAccessException e) {
        throw new IllegalStateException(e);
      }
    }
    throw new IllegalStateException(object.getClass() + " has no " + name);
  }
}
