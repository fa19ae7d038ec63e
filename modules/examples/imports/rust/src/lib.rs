//! A workflow with many children, some failing: each file of an import is a workflow of its
//! own, and the outcomes of the others are known when one cannot be read.

use std::collections::BTreeMap;

use cruster::prelude::*;

/// The request of [`Import`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, Schema)]
pub struct ImportRequest {
    /// The key of an import.
    pub batch: String,
    pub files: Vec<String>,
    /// How many files are read at the same time. Defaults to all.
    #[serde(default)]
    pub at_once: i64,
}

impl ImportRequest {
    fn at_once(&self) -> usize {
        match usize::try_from(self.at_once) {
            Ok(n @ 1..) => n,
            _ => usize::MAX,
        }
    }
}

/// The result of [`Import`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct ImportResult {
    pub rows: i64,
    /// The files that could not be read, with the reason.
    pub failed: BTreeMap<String, String>,
}

/// The request of [`ImportFile`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, Schema)]
pub struct FileRequest {
    pub batch: String,
    pub file: String,
}

/// Reads the files of a batch, each in a child.
#[workflow]
pub struct Import;

#[workflow_impl(key = |request: &ImportRequest| request.batch.clone(), hash = false)]
impl Import {
    async fn execute(&self, request: ImportRequest) -> Result<ImportResult> {
        let children = request.files.iter().map(|file| {
            ImportFile::client(self).execute(FileRequest {
                batch: request.batch.clone(),
                file: file.clone(),
            })
        });
        let rows = cruster::join_all(children)
            .limit(request.at_once())
            .settled()
            .await;
        let mut result = ImportResult::default();
        for (file, rows) in request.files.into_iter().zip(rows) {
            match rows {
                Ok(rows) => result.rows += rows,
                Err(e) if e.is_interrupted() => return Err(e),
                Err(e) => {
                    result.failed.insert(file, e.message());
                }
            }
        }
        Ok(result)
    }
}

/// Reads one file: its parts are rows, each stored once.
#[workflow]
pub struct ImportFile;

#[workflow_impl(key = |request: &FileRequest| format!("{}/{}", request.batch, request.file), hash = false)]
impl ImportFile {
    async fn execute(&self, request: FileRequest) -> Result<i64> {
        let parts = self.open(request.clone()).await?;
        for number in 0..parts {
            let file = request.clone();
            self.store(Part { file, number }).await?;
        }
        Ok(parts)
    }

    /// Tells how many parts a file has. A file whose name begins with "broken" has none.
    #[activity]
    async fn open(&self, request: FileRequest) -> Result<i64> {
        let file = request.file;
        if file.starts_with("broken") {
            return Err(cruster::err!("unreadable", "{file} cannot be read").non_retryable());
        }
        Ok(3)
    }

    /// Stores a part of a file.
    #[activity(retries = 3, backoff = "constant", base = "10ms")]
    async fn store(&self, part: Part) -> Result<bool> {
        self.transaction().execute(
            "INSERT INTO import_rows (batch, source, part) VALUES ($1, $2, $3)",
            (&part.file.batch, &part.file.file, part.number),
        )?;
        Ok(true)
    }
}

/// A part of a file.
#[derive(Clone, Debug, Serialize, Deserialize, Schema)]
pub struct Part {
    #[serde(flatten)]
    pub file: FileRequest,
    pub number: i64,
}

cruster::module! {
    workflows: [Import, ImportFile],
    migrations: [
        Migration::new(1, "rows", "
CREATE TABLE import_rows (
	batch  TEXT NOT NULL,
	source TEXT NOT NULL,
	part   BIGINT NOT NULL
)"),
    ],
}
