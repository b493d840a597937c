//! `portcullis init`: everything that it writes runs, as it says.

#![expect(clippy::unwrap_used, reason = "a test that cannot start its program has failed")]

use portcullis_testkit::program::portcullis;
use std::fs;
use std::path::Path;

fn run(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let output = portcullis(folder).args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// The standard output of a command that succeeds without a message.
fn good(folder: &Path, args: &[&str]) -> String {
    let (code, out, err) = run(folder, args);
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}: {out}");
    out
}

#[test]
fn what_init_writes_runs() {
    let place = tempfile::tempdir().unwrap();
    let out = good(place.path(), &["init", "new/app"]);
    assert!(
        out.starts_with("wrote policy.polar, facts.txt, bindings.yaml, schema.sql in `new/app`\n"),
        "{out}"
    );
    let folder = &place.path().join("new/app");
    assert!(good(folder, &["test", "policy.polar"]).ends_with("2 tests, 0 failed\n"));
    assert_eq!(good(folder, &["fmt", "--check", "policy.polar"]), "");
    assert_eq!(good(folder, &["validate", "policy.polar"]), "policy.polar: valid\n");
    let files = ["--policy", "policy.polar", "--facts", "facts.txt"];
    let asked = |args: &[&str]| good(folder, &[args, &files].concat());
    assert_eq!(asked(&["authorize", "User:1", "read", "Document:10"]), "allowed\n");
    assert_eq!(asked(&["list", "User:1", "read", "Document"]), "Document:10\nDocument:11\nDocument:12\n");
    let why = ["why", "policy.polar", "allow(User:1, \"read\", Document:10)", "--facts", "facts.txt"];
    assert!(good(folder, &why).contains("line 25: \"read\" if \"reader\""));

    // The rows of the schema are the facts of the file.
    let database = rusqlite::Connection::open(folder.join("app.db")).unwrap();
    database.execute_batch(&fs::read_to_string(folder.join("schema.sql")).unwrap()).unwrap();
    good(
        folder,
        &["bindings", "check", "bindings.yaml", "--policy", "policy.polar", "--database", "sqlite:app.db"],
    );
    for user in ["1", "2", "3", "4"] {
        let question = format!("allow(User:{user}, \"read\", Document:?)");
        let filter = ["--bindings", "bindings.yaml", "--filter", "documents.id"];
        let filter = good(folder, &[&["compile", "policy.polar", &question], &filter[..]].concat());
        let sql = format!("SELECT 'Document:' || id FROM documents WHERE {filter} ORDER BY id");
        let mut rows = database.prepare(&sql).unwrap();
        let rows = rows.query_map([], |row| row.get::<_, String>(0)).unwrap();
        let rows: Vec<String> = rows.map(Result::unwrap).collect();
        let listed = asked(&["list", &format!("User:{user}"), "read", "Document"]);
        assert_eq!(listed.lines().collect::<Vec<_>>(), rows, "user {user}");
    }
}

/// The commands that it prints are the ones that the test above runs, and they are spelled right.
#[test]
fn init_says_what_to_do_next() {
    let place = tempfile::tempdir().unwrap();
    let out = good(place.path(), &["init"]);
    let commands = out.lines().filter_map(|line| line.strip_prefix("  portcullis "));
    let mut n_commands = 0;
    for command in commands {
        let name = command.split(' ').next().unwrap();
        good(place.path(), &[name, "--help"]);
        n_commands += 1;
    }
    assert_eq!(n_commands, 6, "{out}");
    let check =
        ["authorize", "User:1", "read", "Document:10", "--policy", "policy.polar", "--facts", "facts.txt"];
    assert!(out.contains(&format!("  portcullis {}\n", check.join(" "))), "{out}");
    assert_eq!(good(place.path(), &check), "allowed\n");
}

#[test]
fn init_changes_no_file() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("facts.txt"), "mine").unwrap();
    let (code, out, err) = run(place.path(), &["init"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert_eq!(err, "error: `./facts.txt` exists: move it, or choose another folder; nothing was written\n");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(place.path().join("facts.txt")).unwrap(), "mine");
}
