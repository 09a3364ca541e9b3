//! Small files in memory, and forged footers for them.

use bytes::Bytes;
use fullbloom_dialects::Filter;
use fullbloom_dialects::Parquet;
use fullbloom_parquet::{Chunk, Error, File, Options, Verified};
use parquet::data_type::DataType;
use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::{
    EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion,
};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// The footer's length and the magic, at the end of every file.
pub const TAIL: usize = 8;

/// Properties that make the smallest files: no compression, no dictionary, no statistics, no page index.
pub fn plain() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_created_by(String::new())
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_writer_version(WriterVersion::PARQUET_1_0)
}

/// The same with a filter for each column.
pub fn filtered() -> WriterPropertiesBuilder {
    plain().set_bloom_filter_enabled(true).set_bloom_filter_max_ndv(4)
}

/// A row group that is being written.
pub type Rows<'a> = SerializedRowGroupWriter<'a, Vec<u8>>;

/// The bytes of a file with this many row groups, each written by `rows`.
pub fn file_of(
    schema: &str,
    properties: WriterPropertiesBuilder,
    groups: usize,
    mut rows: impl FnMut(usize, &mut Rows<'_>),
) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build())).unwrap();
    for group in 0..groups {
        let mut row_group = writer.next_row_group().unwrap();
        rows(group, &mut row_group);
        row_group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

/// Writes the next column of a row group.
pub fn column<T: DataType>(
    rows: &mut Rows<'_>,
    values: &[T::T],
    definitions: Option<&[i16]>,
    repetitions: Option<&[i16]>,
) {
    let mut column = rows.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, definitions, repetitions).unwrap();
    column.close().unwrap();
}

/// Where the footer of a file begins.
pub fn footer_start(file: &[u8]) -> usize {
    let (len, _) = file[file.len() - TAIL..].split_first_chunk::<4>().unwrap();
    file.len() - TAIL - u32::from_le_bytes(*len) as usize
}

/// `body` with this footer after it.
pub fn with_footer(body: &[u8], footer: &[u8]) -> Vec<u8> {
    [body, footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()
}

/// A filter's offset and length in the footer.
pub type Place = (Option<i64>, Option<i32>);

/// The file with `extra` before its footer, and with other filter positions in the footer. `place` gets the
/// number of the row group and of the column, and the position that is there.
pub fn moved(file: &[u8], extra: &[u8], mut place: impl FnMut(usize, usize, Place) -> Place) -> Vec<u8> {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&Bytes::copy_from_slice(file)).unwrap();
    let mut groups = Vec::new();
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let mut columns = Vec::new();
        for (column, chunk) in group.columns().iter().enumerate() {
            let (offset, len) =
                place(number, column, (chunk.bloom_filter_offset(), chunk.bloom_filter_length()));
            let chunk = chunk.clone().into_builder();
            columns.push(chunk.set_bloom_filter_offset(offset).set_bloom_filter_length(len).build().unwrap());
        }
        groups.push(group.clone().into_builder().set_column_metadata(columns).build().unwrap());
    }
    let metadata = metadata.into_builder().set_row_groups(groups).build();
    let mut footer = Vec::new();
    ParquetMetaDataWriter::new(&mut footer, &metadata).finish().unwrap();
    [&file[..footer_start(file)], extra, &footer].concat()
}

/// Opens bytes.
pub fn open(bytes: &[u8]) -> Result<File, Error> {
    File::from_source(bytes.to_vec())
}

/// Verifies a chunk without measuring its rate.
pub fn verify(file: &File, chunk: &Chunk) -> Result<Option<Verified>, Error> {
    file.verify(chunk, Options { absent: 0 })
}

/// A filter with a header, 32 bytes for each block, and these keys.
pub fn section(blocks: u64, keys: &[&[u8]]) -> Vec<u8> {
    let mut filter = Filter::from_dialect(Parquet::with_blocks(blocks).unwrap()).unwrap();
    keys.iter().for_each(|key| {
        filter.insert(key);
    });
    filter.encode()
}
