//! Where `bindings check` reports no error about a declaration, no answer is wrong; where it reports no
//! warning either, no statement fails.
//!
//! Each declaration of `declared` with each of its types of columns, and with types that ids seldom have.

use super::declared::{CAPITALS, DECLARED, Held, POSTGRESQL, SQLITE, UUID, document, faults, prepare};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::caller::{Caller, printed};
use portcullis_testkit::program::portcullis;
use serde_json::Value as Json;
use std::fs;
use std::path::Path;

/// Types that ids seldom have.
const STRANGE_POSTGRESQL: &[Held] = &[
    ("NUMERIC", &["5", "5.0"], &[]),
    ("NUMERIC(10,2)", &["5.00", "5.50"], &[]),
    ("NUMERIC(30)", &["5", "123456789012345678901234567890"], &[]),
    ("DOUBLE PRECISION", &["5", "5.5", "9.223372036854776e+18"], &[]),
    ("REAL", &["5", "5.5"], &[]),
    ("OID", &["5", "32768"], &[]),
    ("CHAR(5)", &["5", "hr"], &[]),
    ("NAME", &["5", "HR"], &[]),
    ("\"char\"", &["5", "h"], &[]),
    ("BOOLEAN", &["true"], &[]),
    ("DATE", &["2024-01-01"], &[]),
];

const STRANGE_SQLITE: &[Held] = &[
    ("REAL", &["5.0", "5.5", "hr"], &[]),
    ("", &["5", "hr"], &[]),
    ("BLOB", &["5", "hr"], &[]),
    ("BOOLEAN", &["1", "0", "hr"], &[]),
    ("VARCHAR(40)", &["5", "05", "hr"], &[]),
    ("UUID", &[UUID, CAPITALS, "5"], &[]),
    ("DATE", &["2024-01-01", "5"], &[]),
    ("DECIMAL(10,2)", &["5", "5.5", "hr"], &[]),
];

/// Of the declarations with an error one in `REJECTED` is tried: whether some are wrong.
const REJECTED: usize = 4;

#[test]
fn what_check_passes_is_answered_right() {
    let postgresql = POSTGRESQL.iter().chain(STRANGE_POSTGRESQL).map(|held| (Dialect::Postgresql, held));
    let sqlite = SQLITE.iter().chain(STRANGE_SQLITE).map(|held| (Dialect::Sqlite, held));
    let (mut n_wrong, mut n_passed) = (0, 0);
    for (at, (dialect, (ty, held, _))) in postgresql.chain(sqlite).enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let (caller, address) = database(dialect, folder.path());
        prepare(&caller, "checked", ty, held);
        if let Caller::Sqlite { connection, .. } = &caller {
            connection.execute("VACUUM INTO ?", [folder.path().join("app.db").to_str().unwrap()]).unwrap();
        }
        for (number, declared) in DECLARED.iter().enumerate() {
            let document = format!("dialect: {dialect}\n{}", document(declared));
            let severities = severities(folder.path(), &document, &address);
            let has = |severity: &str| severities.iter().any(|found| found == severity);
            n_passed += usize::from(!has("error"));
            if has("error") && !(at + number).is_multiple_of(REJECTED) {
                continue;
            }
            let faults = faults(&caller, held, declared, at + number);
            for fault in &faults {
                let is_found = has("error") || fault.is_refusal && has("warning");
                assert!(is_found, "{dialect}: {declared} over {ty}: {severities:?}, {}", fault.what);
            }
            n_wrong += usize::from(faults.iter().any(|fault| !fault.is_refusal));
        }
    }
    assert!(n_wrong >= 15, "only {n_wrong} declarations are wrong");
    assert!(n_passed >= 100, "only {n_passed} declarations have no error");
}

/// A database, and its address for the command.
fn database(dialect: Dialect, folder: &Path) -> (Caller, String) {
    let caller = Caller::new(dialect).unwrap();
    match dialect {
        Dialect::Sqlite => (caller, format!("sqlite:{}", folder.join("app.db").display())),
        Dialect::Postgresql => {
            caller.script("DROP SCHEMA IF EXISTS checked CASCADE; CREATE SCHEMA checked").unwrap();
            let place = printed(&caller, "SHOW unix_socket_directories").unwrap();
            let place = place[0][0].clone().unwrap();
            let options = "-c%20search_path%3Dchecked,public";
            (caller, format!("postgresql:///postgres?user=postgres&host={place}&options={options}"))
        }
    }
}

/// The severities of what the command reports.
fn severities(folder: &Path, document: &str, address: &str) -> Vec<String> {
    fs::write(folder.join("bindings.yaml"), document).unwrap();
    let mut command = portcullis(folder);
    command.args(["bindings", "check", "bindings.yaml", "--database", address, "--json"]);
    let output = command.output().unwrap();
    let report: Json = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let entries = report["entries"].as_array().unwrap().iter();
    let findings = entries.flat_map(|entry| entry["findings"].as_array().unwrap());
    findings.map(|finding| finding["severity"].as_str().unwrap().to_owned()).collect()
}
