import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.HexFormat;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.NanoTime;
import org.apache.parquet.example.data.simple.SimpleGroup;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.LocalOutputFile;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;

/**
 * Writes a Parquet file with a filter for each column. Standard input has the schema, the file, the rows of a row group,
 * and the rows: each value as the hex of its plain encoding without a length, or null.
 */
public final class WriteParquet {
  private WriteParquet() {}

  public static void main(String[] args) throws Exception {
    JsonObject input = JsonParser.parseReader(new InputStreamReader(System.in)).getAsJsonObject();
    MessageType schema = MessageTypeParser.parseMessageType(input.get("schema").getAsString());
    try (ParquetWriter<Group> writer = ExampleParquetWriter
        .builder(new LocalOutputFile(Path.of(input.get("file").getAsString())))
        .withConf(new PlainParquetConfiguration())
        .withType(schema)
        .withCompressionCodec(CompressionCodecName.UNCOMPRESSED)
        .withDictionaryEncoding(false)
        .withStatisticsEnabled(false)
        .withRowGroupRowCountLimit(input.get("rowGroup").getAsInt())
        .withBloomFilterEnabled(true)
        .withMaxBloomFilterBytes(512)
        .build()) {
      for (JsonElement row : input.getAsJsonArray("rows")) {
        writer.write(group(schema, row.getAsJsonArray()));
      }
    }
  }

  private static Group group(MessageType schema, JsonArray row) {
    SimpleGroup group = new SimpleGroup(schema);
    for (int i = 0; i < row.size(); i++) {
      if (row.get(i).isJsonNull()) {
        continue;
      }
      byte[] value = HexFormat.of().parseHex(row.get(i).getAsString());
      ByteBuffer number = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN);
      switch (schema.getType(i).asPrimitiveType().getPrimitiveTypeName()) {
        case INT32 -> group.add(i, number.getInt());
        case INT64 -> group.add(i, number.getLong());
        case FLOAT -> group.add(i, number.getFloat());
        case DOUBLE -> group.add(i, number.getDouble());
        case INT96 -> group.add(i, NanoTime.fromBinary(Binary.fromConstantByteArray(value)));
        default -> group.add(i, Binary.fromConstantByteArray(value));
      }
    }
    return group;
  }
}
