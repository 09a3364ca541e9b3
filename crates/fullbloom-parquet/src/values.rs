//! The values of a column chunk, as the bytes that are hashed: the plain encoding without a length.

use crate::error::{Error, guarded};
use crate::file::File;
use crate::footer::Chunk;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::file::reader::RowGroupReader;

/// Records read at once.
const BATCH: usize = 4096;

/// Values are handed out when they have this many bytes. A dictionary stores a value once, so the values of
/// all records in a batch may take far more memory than the file.
const BATCH_BYTES: usize = 1 << 20;

impl File {
    /// Hands out all values of a chunk that are not null, in batches.
    pub fn for_each_values(&self, chunk: &Chunk, mut each: impl FnMut(&[Vec<u8>])) -> Result<(), Error> {
        guarded(|| {
            self.check_pages(chunk)?;
            let group = self.row_group(chunk.row_group).map_err(Error::refused)?;
            match group.get_column_reader(chunk.column).map_err(Error::refused)? {
                ColumnReader::BoolColumnReader(_) => Err(Error::Type),
                ColumnReader::Int32ColumnReader(r) => read(r, |v| v.to_le_bytes().to_vec(), &mut each),
                ColumnReader::Int64ColumnReader(r) => read(r, |v| v.to_le_bytes().to_vec(), &mut each),
                ColumnReader::FloatColumnReader(r) => read(r, |v| v.to_le_bytes().to_vec(), &mut each),
                ColumnReader::DoubleColumnReader(r) => read(r, |v| v.to_le_bytes().to_vec(), &mut each),
                ColumnReader::Int96ColumnReader(r) => {
                    read(r, |v| v.data().iter().flat_map(|word| word.to_le_bytes()).collect(), &mut each)
                }
                ColumnReader::ByteArrayColumnReader(r) => read(r, |v| v.data().to_vec(), &mut each),
                ColumnReader::FixedLenByteArrayColumnReader(r) => read(r, |v| v.data().to_vec(), &mut each),
            }
        })
    }
}

fn read<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    bytes: impl Fn(&T::T) -> Vec<u8>,
    each: &mut impl FnMut(&[Vec<u8>]),
) -> Result<(), Error> {
    let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        values.clear();
        definitions.clear();
        repetitions.clear();
        let (records, _, levels) = reader
            .read_records(BATCH, Some(&mut definitions), Some(&mut repetitions), &mut values)
            .map_err(Error::refused)?;
        if records == 0 && levels == 0 {
            return Ok(());
        }
        let (mut keys, mut held) = (Vec::new(), 0);
        for value in &values {
            let key = bytes(value);
            held += key.len();
            keys.push(key);
            if held >= BATCH_BYTES {
                each(&keys);
                keys.clear();
                held = 0;
            }
        }
        each(&keys);
    }
}
