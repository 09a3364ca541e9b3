import java.util.function.Consumer;
import org.apache.cassandra.db.ColumnFamilyStore;
import org.apache.cassandra.db.compression.CompressionDictionaryManager;

/** Trains a compression dictionary from the flushed rows, and writes the table again with it. */
public final class Train implements Consumer<ColumnFamilyStore> {
  @Override
  public void accept(ColumnFamilyStore table) {
    CompressionDictionaryManager manager = table.compressionDictionaryManager();
    manager.train(true);
    try {
      for (int i = 0; manager.getCurrent() == null; i++) {
        if (i == 600) {
          throw new IllegalStateException("no dictionary after a minute: " + manager.getTrainingState());
        }
        Thread.sleep(100);
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    table.forceMajorCompaction();
  }
}
