//! The seeded faults of the differential run: each is a patch of the code as it is.

use std::path::Path;
use std::process::Command;

#[test]
fn every_seeded_fault_applies() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("tests/random/differential/faults");
    let mut n_patches = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let git =
            Command::new("git").args(["apply", "--check"]).arg(&path).current_dir(root).output().unwrap();
        assert!(git.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&git.stderr));
        n_patches += 1;
    }
    assert!(n_patches >= 4, "{n_patches} faults");
}
