import java.util.function.Consumer;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.apache.cassandra.cql3.QueryProcessor;
import org.apache.cassandra.cql3.UntypedResultSet;
import org.apache.cassandra.db.ColumnFamilyStore;
import org.apache.cassandra.db.Keyspace;
import org.apache.cassandra.io.sstable.format.SSTableReader;
import org.apache.cassandra.io.sstable.format.SSTableReaderWithFilter;
import org.apache.cassandra.service.EmbeddedCassandraService;

/**
 * A complete Cassandra node in this process. "write ROWS" creates a table and flushes it; "read ROWS" opens the existing one.
 * Both then read every row, look up as many absent rows that sort between them, and print one line: rows found, absent rows
 * found, absent rows rejected by the filter, sstables, bytes of their filters in memory.
 *
 * <p>The property table.options has more options of the table; after.write names a class (Consumer of a ColumnFamilyStore) that
 * is called once the rows are flushed.
 */
public final class Node {
  public static void main(String[] args) {
    try {
      run(args);
    } catch (Throwable e) {
      e.printStackTrace();
      Runtime.getRuntime().halt(1); // the threads of a node that did not start would keep the process alive
    }
    System.exit(0); // as those of one that did
  }

  private static void run(String[] args) throws Exception {
    int rows = Integer.parseInt(args[1]);
    new EmbeddedCassandraService().start();
    if (args[0].equals("write")) {
      write(rows);
    }
    int found = count(rows, i -> isThere("order-" + i, i));
    ColumnFamilyStore orders = Keyspace.open("shop").getColumnFamilyStore("orders");
    long rejectedBefore = rejected(orders);
    int absentFound = count(rows, i -> isThere("order-" + i + "-absent", i));
    long inMemory = 0;
    for (SSTableReader sstable : orders.getLiveSSTables()) {
      inMemory += ((SSTableReaderWithFilter) sstable).getFilterOffHeapSize();
    }
    System.out.printf(
        "%d %d %d %d %d%n",
        found, absentFound, rejected(orders) - rejectedBefore, orders.getLiveSSTables().size(), inMemory);
  }

  private static void write(int rows) throws Exception {
    QueryProcessor.executeInternal(
        "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    QueryProcessor.executeInternal(
        "CREATE TABLE shop.orders (id text PRIMARY KEY, number int) WITH bloom_filter_fp_chance = 0.01"
            + System.getProperty("table.options", ""));
    for (int i = 0; i < rows; i++) {
      QueryProcessor.executeInternal("INSERT INTO shop.orders (id, number) VALUES (?, ?)", "order-" + i, i);
    }
    ColumnFamilyStore orders = Keyspace.open("shop").getColumnFamilyStore("orders");
    orders.forceBlockingFlush(ColumnFamilyStore.FlushReason.UNIT_TESTS);
    String after = System.getProperty("after.write");
    if (after != null) {
      @SuppressWarnings("unchecked")
      Consumer<ColumnFamilyStore> hook =
          (Consumer<ColumnFamilyStore>) Class.forName(after).getDeclaredConstructor().newInstance();
      hook.accept(orders);
    }
  }

  private static boolean isThere(String id, int number) {
    UntypedResultSet row = QueryProcessor.executeInternal("SELECT number FROM shop.orders WHERE id = ?", id);
    return !row.isEmpty() && row.one().getInt("number") == number;
  }

  private static int count(int rows, IntPredicate asked) {
    return (int) IntStream.range(0, rows).filter(asked).count();
  }

  private static long rejected(ColumnFamilyStore table) {
    long rejected = 0;
    for (SSTableReader sstable : table.getLiveSSTables()) {
      rejected += ((SSTableReaderWithFilter) sstable).getFilterTracker().getTrueNegativeCount();
    }
    return rejected;
  }
}
