import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.Version;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.values.bloomfilter.BloomFilter;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.filter2.predicate.FilterApi;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.api.ReadSupport;
import org.apache.parquet.hadoop.example.GroupReadSupport;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.io.InputFile;
import org.apache.parquet.io.LocalInputFile;
import org.apache.parquet.io.api.Binary;

/** Adapter of parquet-java: `column` by ParquetFileReader.readBloomFilter, `rows` by ParquetReader with a filter. */
public final class ParquetJavaAdapter {
  private ParquetJavaAdapter() {}

  public static void main(String[] args) throws Exception {
    Adapter.run("parquet-java", Version.VERSION_NUMBER, List.of("parquet"), request -> switch (Adapter.text(request, "ask")) {
      case "column" -> column(request);
      case "rows" -> rows(request);
      default -> null;
    });
  }

  private static int[] column(JsonObject request) throws Exception {
    String physical = physical(request);
    List<BloomFilter> filters = new ArrayList<>();
    try (ParquetFileReader reader = ParquetFileReader.open(new LocalInputFile(Adapter.file(request)))) {
      for (BlockMetaData block : reader.getFooter().getBlocks()) {
        for (ColumnChunkMetaData chunk : block.getColumns()) {
          if (chunk.getPath().toDotString().equals(Adapter.text(request, "column"))) {
            filters.add(reader.readBloomFilter(chunk));
          }
        }
      }
    }
    return Adapter.lookUp(request, key -> {
      ByteBuffer number = ByteBuffer.wrap(key).order(ByteOrder.LITTLE_ENDIAN);
      for (BloomFilter filter : filters) {
        if (filter == null || filter.findHash(switch (physical) {
          case "INT32" -> filter.hash(number.getInt(0));
          case "INT64" -> filter.hash(number.getLong(0));
          case "FLOAT" -> filter.hash(number.getFloat(0));
          case "DOUBLE" -> filter.hash(number.getDouble(0));
          default -> filter.hash(Binary.fromConstantByteArray(key));
        })) {
          return true;
        }
      }
      return false;
    });
  }

  private static int[] rows(JsonObject request) throws Exception {
    JsonArray keys = request.getAsJsonArray("keys");
    int[] counts = new int[keys.size()];
    for (int i = 0; i < counts.length; i++) {
      FilterPredicate predicate = predicate(request, keys.get(i));
      InputFile file = new LocalInputFile(Adapter.file(request));
      try (ParquetReader<Group> reader = new Builder(file).withFilter(FilterCompat.get(predicate)).build()) {
        while (reader.read() != null) {
          counts[i]++;
        }
      }
    }
    return counts;
  }

  private static FilterPredicate predicate(JsonObject request, JsonElement key) {
    String column = Adapter.text(request, "column");
    String other = Adapter.text(request, "other");
    return switch (Adapter.text(request, "where")) {
      case "<>" -> FilterApi.not(equal(request, column, key));
      case "in" -> FilterApi.in(
          FilterApi.intColumn(column), new java.util.HashSet<>(key.getAsJsonArray().asList().stream()
              .map(part -> number(part).getInt(0)).toList()));
      case "or" -> FilterApi.or(
          equal(request, column, key.getAsJsonArray().get(0)), equal(request, other, key.getAsJsonArray().get(1)));
      case "and" -> FilterApi.and(
          equal(request, column, key.getAsJsonArray().get(0)), equal(request, other, key.getAsJsonArray().get(1)));
      default -> equal(request, column, key);
    };
  }

  private static FilterPredicate equal(JsonObject request, String column, JsonElement key) {
    ByteBuffer number = number(key);
    return switch (physical(request)) {
      case "INT32" -> FilterApi.eq(FilterApi.intColumn(column), number.getInt(0));
      case "INT64" -> FilterApi.eq(FilterApi.longColumn(column), number.getLong(0));
      case "FLOAT" -> FilterApi.eq(FilterApi.floatColumn(column), number.getFloat(0));
      case "DOUBLE" -> FilterApi.eq(FilterApi.doubleColumn(column), number.getDouble(0));
      default -> FilterApi.eq(FilterApi.binaryColumn(column), Binary.fromConstantByteArray(number.array()));
    };
  }

  private static ByteBuffer number(JsonElement key) {
    return ByteBuffer.wrap(HexFormat.of().parseHex(key.getAsString())).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static String physical(JsonObject request) {
    return Adapter.text(request, "physical");
  }

  /** Readers of plain configuration, without Hadoop's files. */
  private static final class Builder extends ParquetReader.Builder<Group> {
    Builder(InputFile file) {
      super(file, new PlainParquetConfiguration());
    }

    @Override
    protected ReadSupport<Group> getReadSupport() {
      return new GroupReadSupport();
    }
  }
}
