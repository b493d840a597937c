//! A key is compared as a digest, in constant time, and everything that is not a whole key gets the same answer.
//!
//! Whether a comparison takes the same time is seen in the source, not with a clock: every text that a stranger sends and
//! that is compared with something secret goes through one of three functions, which are named here.

use crate::executable::portcullis;
use crate::program::{Program, key};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Where something secret is compared, and by what: `subtle`, or `hmac`, which uses it.
const COMPARISONS: &[(&str, &str)] = &[
    ("src/http/auth.rs", ".ct_eq("),
    ("src/store/keys.rs", ".ct_eq("),
    ("src/http/page.rs", ".verify_slice("),
];

/// Words that stand for something secret, or for its digest, in the source.
const SECRETS: &[&str] = &["secret", "digest", "presented", "tag", "hash", "sent", "key.text"];

/// The source files below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// Lines of code without comments and without the unit tests at the end.
fn code(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    product.lines().filter(|line| !line.trim_start().starts_with("//")).map(str::to_owned).collect()
}

fn words(line: &str) -> Vec<&str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.').collect()
}

#[test]
fn secrets_are_compared_in_constant_time_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (file, call) in COMPARISONS {
        let n = code(&root.join(file)).iter().filter(|line| line.contains(call)).count();
        assert_eq!(n, 1, "{file} compares by {call}");
    }
    let mut files = Vec::new();
    for folder in ["src/http", "src/control", "src/engine"] {
        sources(&root.join(folder), &mut files);
    }
    files.push(root.join("src/store/keys.rs"));
    let mut offenders = Vec::new();
    for path in &files {
        for line in code(path) {
            let compares = [" == ", " != ", ".eq(", ".ne(", "starts_with(", "matches!(", ".cmp("];
            let names =
                |word: &&str| SECRETS.iter().any(|secret| word.split('.').any(|part| part == *secret));
            if compares.iter().any(|way| line.contains(way)) && words(&line).iter().any(names) {
                offenders.push(format!("{}: {}", path.strip_prefix(root).unwrap().display(), line.trim()));
            }
        }
    }
    assert!(offenders.is_empty(), "compared with `==`:\n{}", offenders.join("\n"));
}

/// Neither kind of key is kept as it is.
#[test]
fn no_key_is_kept_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let key = key(folder.path(), "0123456789");
    let secret = key.rsplit('_').next().unwrap().as_bytes();
    for name in ["store.db", "store.db-wal"] {
        let file = folder.path().join("d/0123456789").join(name);
        let bytes = fs::read(&file).unwrap_or_default();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret), "{name}");
    }
}

/// Every text that is nearly a key gets the one refusal, word by word.
#[test]
fn what_is_nearly_a_key_is_no_key() {
    const FIXED: &str = "e_0123456789_7_a-configured-key-of-some-length";
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let stored = key(folder, "0123456789");
    let other = key(folder, "b");
    let mut command = portcullis(folder);
    command.env("PORTCULLIS_API_KEY", FIXED);
    let service = Program::spawn_as(command, folder, "d", &[]).answering().unwrap();
    let status = |key: &str| service.caller.send(key, "GET /api/stats", &[], None).unwrap();
    let refusal = (401, json!({ "message": "the API key is unknown or was revoked" }).to_string());
    for whole in [FIXED, &stored, &other] {
        assert_eq!(status(whole).0, 200, "{whole}");
        let parts: Vec<&str> = whole.splitn(4, '_').collect();
        let mut near: Vec<String> = (1..whole.len()).map(|end| whole[..end].to_owned()).collect();
        near.extend((0..whole.len()).map(|at| {
            let mut bytes = whole.as_bytes().to_vec();
            bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
            String::from_utf8(bytes).unwrap()
        }));
        near.extend((1..4).map(|more| format!("{whole}{}", "0".repeat(more))));
        near.extend([
            whole.to_uppercase(),
            format!("{whole}_"),
            format!("{whole},{whole}"),
            format!("{whole} {whole}"),
            format!("\"{whole}\""),
            parts[..3].join("_"),
            format!("{}_", parts[..3].join("_")),
            format!("e_b_{}_{}", parts[2], parts[3]).replace(&other, "e_b_none"),
            format!("e__{}_{}", parts[2], parts[3]),
            whole.replace("e_", "E_"),
        ]);
        for text in near.into_iter().filter(|text| text != whole) {
            assert_eq!(status(&text), refusal, "{text}");
        }
        assert_eq!(status(whole).0, 200);
    }
    service.stop();
}
