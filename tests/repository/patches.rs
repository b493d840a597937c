//! The patches of copies of the code: the seeded faults of the differential run, and the one that leaves
//! out a pass to measure it. Each is a patch of the code as it is.

use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn every_patch_applies() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::fs::read_dir(root.join("tests/random/differential/faults")).unwrap();
    let mut patches: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    assert!(patches.len() >= 4, "{} faults", patches.len());
    patches.push(root.join("benches/passes/without.patch"));
    for path in patches {
        let git =
            Command::new("git").args(["apply", "--check"]).arg(&path).current_dir(root).output().unwrap();
        assert!(git.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&git.stderr));
    }
}
