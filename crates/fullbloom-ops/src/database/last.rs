//! The database that a table given by name belongs to.

use fullbloom_table::database::{Database, DatabaseTable};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The database looked at last, so that a list of its tables reads the MANIFEST once. Copies share it; a new
/// one reads again.
#[derive(Debug, Clone, Default)]
pub struct LastDatabase(Arc<Mutex<Option<Known>>>);

/// A directory, and the database in it.
type Known = (PathBuf, Arc<Database>);

impl LastDatabase {
    /// The database in the directory of this table, if it has a readable MANIFEST, and the table in it.
    pub(crate) fn of(&self, path: &Path) -> Option<(Arc<Database>, DatabaseTable)> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let database = self.open(parent.unwrap_or(Path::new(".")))?;
        let table = database.tables.iter().find(|table| table.path.file_name() == path.file_name())?;
        let table = table.named(path); // as the caller wrote it
        database.has_levels().then_some((database, table))
    }

    fn open(&self, directory: &Path) -> Option<Arc<Database>> {
        let mut last = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((known, database)) = &*last
            && known == directory
        {
            return Some(Arc::clone(database));
        }
        let database = Arc::new(Database::open(directory).ok()?);
        *last = Some((directory.to_owned(), Arc::clone(&database)));
        Some(database)
    }
}
