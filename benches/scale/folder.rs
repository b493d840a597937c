//! The folder with the data of a code host, and its size.
//!
//! A folder holds `data`, which the service writes, and `workload.json`, which says what was loaded, so that
//! data of another workload is refused. A folder is temporary unless it is to be kept.

use portcullis::http::DEFAULT_ENVIRONMENT;
use serde_json::{Value as Json, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder for one code host.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Removes it at the end, unless it is kept.
    _temporary: Option<tempfile::TempDir>,
}

/// Bytes on the disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes {
    /// Of all files while the service runs, so with the log.
    pub(crate) running: u64,
    /// After it ended.
    pub(crate) closed: u64,
}

impl Folder {
    /// One that is gone afterwards.
    pub(crate) fn temporary() -> Self {
        let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self { path: temporary.path().to_owned(), _temporary: Some(temporary) }
    }

    /// A new one that stays.
    pub(crate) fn kept(parent: &Path, scale: f64) -> Self {
        let path = parent.join(format!("scale-{scale}"));
        assert!(!path.exists(), "`{}` is there already", path.display());
        fs::create_dir_all(&path).unwrap();
        Self { path, _temporary: None }
    }

    /// One that an earlier run kept, with the same workload.
    pub(crate) fn reused(parent: &Path, scale: f64, seed: u64) -> Self {
        let path = parent.join(format!("scale-{scale}"));
        let kept = fs::read(path.join("workload.json"));
        let kept = kept.unwrap_or_else(|error| panic!("`{}` was not kept: {error}", path.display()));
        let kept: Json = serde_json::from_slice(&kept).unwrap();
        assert_eq!(kept, workload(scale, seed), "`{}` holds another workload", path.display());
        Self { path, _temporary: None }
    }

    /// Notes that everything is loaded.
    pub(crate) fn loaded(&self, scale: f64, seed: u64) {
        fs::write(self.path.join("workload.json"), workload(scale, seed).to_string()).unwrap();
    }

    /// The folder of the service.
    pub(crate) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    /// The folder of the store of facts.
    pub(crate) fn store(&self) -> PathBuf {
        self.data().join(DEFAULT_ENVIRONMENT)
    }

    /// How large all files of the store are now.
    pub(crate) fn bytes(&self) -> u64 {
        let sizes = fs::read_dir(self.store()).unwrap().map(|file| file.unwrap().metadata().unwrap().len());
        sizes.sum()
    }
}

fn workload(scale: f64, seed: u64) -> Json {
    json!({ "scale": scale, "seed": seed })
}
