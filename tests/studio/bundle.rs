//! Whether the committed page is what its sources make, and how large it is.

use libtest_mimic::Failed;
use portcullis_testkit::tools::{has_npm_packages, outputs};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The files of the page together, compressed.
const MOST_BYTES: u64 = 400_000;

/// Builds the page again, and compares what each file holds. How it is compressed may differ.
pub(super) fn is_fresh() -> Result<(), Failed> {
    let studio = Path::new(env!("CARGO_MANIFEST_DIR")).join("studio");
    has_npm_packages(&studio)?;
    let built = tempfile::tempdir()?;
    outputs(Command::new("node").arg("build.js").arg(built.path()).current_dir(&studio))?;
    let names = |folder: &Path| -> Result<Vec<String>, Failed> {
        let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
        let mut names: Vec<String> =
            entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(names)
    };
    let committed = studio.join("dist");
    let files = names(&committed)?;
    if names(built.path())? != files || files.is_empty() {
        return Err("studio/dist has other files than the sources make: run `node studio/build.js`".into());
    }
    let mut n_bytes = 0;
    for name in &files {
        let content = |folder: &Path| outputs(Command::new("gzip").arg("-dc").arg(folder.join(name)));
        if content(&committed)? != content(built.path())? {
            return Err(format!(
                "studio/dist/{name} is not what the sources make: run `node studio/build.js`"
            )
            .into());
        }
        n_bytes += fs::metadata(committed.join(name))?.len();
    }
    if n_bytes > MOST_BYTES {
        return Err(format!("the page has {n_bytes} bytes, more than {MOST_BYTES}").into());
    }
    println!("the page has {n_bytes} bytes, compressed");
    Ok(())
}
