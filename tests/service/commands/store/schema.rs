//! What `store migrate` makes, and how `store check` describes it.

use super::{SERVER, command, database, ended, sql, store, text};
use portcullis_testkit::program::portcullis;
use serde_json::Value as Json;
use std::process::Stdio;

#[test]
fn a_new_database_gets_a_store_and_a_second_run_changes_nothing() {
    let url = database("fresh");
    let (code, out, err) = store(&["migrate", &url]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("database `fresh` as `postgres` at /tmp/portcullis-postgres."), "{out}");
    assert!(out.ends_with(": a new store of format 1\n"), "{out}");
    let secret = "SELECT encode(secret, 'hex') || nonce FROM portcullis_e1.clock";
    let before = text(&url, secret);
    let (code, out, _) = store(&["migrate", &url]);
    assert_eq!(code, 0);
    assert!(out.ends_with(": already of format 1\n"), "{out}");
    assert_eq!(text(&url, secret), before);
    let first = "SELECT count(*)::text FROM portcullis_e1.clock NATURAL JOIN portcullis_e1.revision";
    assert_eq!(text(&url, first), "1");
}

#[test]
fn the_address_comes_from_the_environment_too() {
    let url = database("named");
    let output = command(&["migrate"]).env("PORTCULLIS_STORE", &url).output().unwrap();
    assert_eq!(ended(&output).0, 0);
    let output = command(&["check"]).env("PORTCULLIS_STORE", &url).output().unwrap();
    assert_eq!(ended(&output).0, 0);
    assert_eq!(store(&["check"]).0, 2);
    let (_, help, _) = store(&["check", "--help"]);
    assert!(help.contains("PORTCULLIS_STORE]") && help.contains("store check [OPTIONS] <URL>"), "{help}");
}

#[test]
fn processes_that_migrate_at_the_same_time_take_turns() {
    let url = database("crowd");
    let runs: Vec<_> = (0..4)
        .map(|_| command(&["migrate", &url]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
        .collect();
    for run in runs {
        let (code, _, err) = ended(&run.wait_with_output().unwrap());
        assert_eq!((code, err.as_str()), (0, ""));
    }
    let counted =
        "SELECT format || ' ' || (SELECT count(*) FROM portcullis.environment) FROM portcullis.meta";
    assert_eq!(text(&url, counted), "1 1");
}

#[test]
fn a_check_names_what_is_good_and_what_is_not() {
    let url = database("checked");
    let (code, out, err) = store(&["check", &url]);
    assert_eq!((code, err.as_str()), (1, ""));
    for line in [
        "good     server: PostgreSQL 15.",
        "good     encryption: not needed, because the connection does not leave this machine",
        "good     encoding: the database has the encoding UTF8",
        "good     literals: backslashes in literals are ordinary characters",
        "warning  durability: `fsync` is off: a crash of the machine can damage the database; turn it on",
        "bad      schema: the database contains no store: create it with `portcullis store migrate URL`",
        "good     rights: postgres may do all that is needed",
    ] {
        assert!(out.lines().any(|found| found.starts_with(line)), "{line}\n{out}");
    }
    store(&["migrate", &url]);
    let (code, out, _) = store(&["check", "--json", &SERVER.remote("checked", "postgres")]);
    assert_eq!(code, 0);
    let report: Json = serde_json::from_str(&out).unwrap();
    let said = |what: &str| {
        let findings = report["findings"].as_array().unwrap();
        let finding = findings.iter().find(|finding| finding["what"] == what).unwrap();
        format!("{}: {}", finding["state"].as_str().unwrap(), finding["message"].as_str().unwrap())
    };
    assert_eq!(said("schema"), "good: format 1");
    assert_eq!(
        said("environment"),
        "good: `0123456789` in the schema portcullis_e1: revision 0, 0 relations"
    );
    assert!(said("encryption").starts_with("warning: the connection is not encrypted: turn on `ssl`"));
    assert!(report["store"].as_str().unwrap().starts_with("database `checked` as `postgres` at 127.0.0.1"));
}

#[test]
fn a_store_of_a_later_release_is_used_if_it_allows_that() {
    let url = database("later");
    store(&["migrate", &url]);
    sql(&url, "UPDATE portcullis.meta SET format = 7, min_reader = 1");
    let (code, out, _) = store(&["migrate", &url]);
    assert_eq!(code, 0);
    assert!(out.ends_with(": already of format 7\n"), "{out}");
    assert_eq!(store(&["check", &url]).0, 0);
    // It does not know all tables that a new environment needs.
    let folder = tempfile::tempdir().unwrap();
    let mut create = portcullis(folder.path());
    create.env("PORTCULLIS_STORE", &url).args(["keys", "create", "--environment", "another"]);
    let (code, _, err) = ended(&create.output().unwrap());
    assert_eq!(code, 1);
    assert!(err.contains("the store has format 7, and this release knows formats up to 1"), "{err}");
    assert_eq!(text(&url, "SELECT count(*)::text FROM portcullis.environment"), "1");

    sql(&url, "UPDATE portcullis.meta SET min_reader = 2");
    let refused = "the store has format 7, and this release knows formats up to 1: \
                   use the release that migrated it";
    let (code, _, err) = store(&["migrate", &url]);
    assert_eq!((code, err), (1, format!("error: {refused}\n")));
    let (code, out, _) = store(&["check", &url]);
    assert!(code == 1 && out.contains(&format!("bad      schema: {refused}\n")), "{out}");

    sql(&url, "UPDATE portcullis.meta SET format = 0, min_reader = 0");
    let (code, out, _) = store(&["check", &url]);
    assert!(code == 1 && out.contains("needs format 1: run `portcullis store migrate URL`\n"), "{out}");
}
