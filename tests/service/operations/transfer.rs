//! What is exported can be imported, with any ids; what cannot be imported is named with its place.

use super::program::{ENVIRONMENT, POLICY, bad, good, key, key_file, note, run};
use super::program::{set_policy, store_notes, stored_facts};
use portcullis_testkit::program::{Service, portcullis};
use serde_json::{Value as Json, json};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

const HOSTILE: &[&str] = &[
    "plain",
    " spaces at both ends ",
    "it's \"quoted\", with, commas",
    "\"",
    "\"\"",
    ",",
    "\n",
    "two\nlines",
    "two\r\nlines",
    "\r",
    "a tab\tand a backslash \\ and \\n",
    "=1+1",
    "'; DROP TABLE facts; --",
    "null",
    "# no comment",
    "\u{feff}mark",
    "żółć Ωμέγα 漢字 🏰 e\u{301}",
    "\u{202e}right to left",
    "\u{1}\u{7f}\u{85}\u{2028}",
    "[{\"inserts\":[]}]",
];

/// A service over a folder, and a key of it, which is in the file `key`.
fn served(folder: &Path) -> (Service, String) {
    let service = Service::start(folder, &[]);
    let key = key(folder, ENVIRONMENT);
    key_file(folder, "key", &key);
    (service, key)
}

/// A service with hostile facts of one, two and three arguments, its key, and all its facts.
fn hostile(folder: &Path) -> (Service, String, Json) {
    let (service, key) = served(folder);
    set_policy(&service, &key);
    for user in HOSTILE {
        store_notes(&service, &key, user, HOSTILE);
    }
    let entity = |ty: &str, id: &str| json!({ "type": ty, "id": id });
    let facts: Vec<Json> = HOSTILE
        .iter()
        .flat_map(|id| {
            let role = [entity("User", id), entity("String", "reader"), entity("Repo", id)];
            let age = [entity("User", id), entity("Integer", "-9223372036854775808")];
            [json!({ "predicate": "has_role", "args": role }), json!({ "predicate": "age", "args": age })]
        })
        .collect();
    assert_eq!(service.caller.post(&key, "batch", &json!([{ "inserts": facts }])).0, 200);
    let all = stored_facts(&service, &key);
    assert_eq!(all.as_array().unwrap().len(), HOSTILE.len() * (HOSTILE.len() + 2));
    (service, key, all)
}

#[test]
fn an_export_imported_elsewhere_gives_equal_facts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (service, _, all) = hostile(folder);
    for (n, format) in ["jsonl", "csv"].into_iter().enumerate() {
        let file = format!("facts.{format}");
        let told =
            good(folder, &["facts", "export", &file, "--url", &service.caller.url, "--key-file", "key"]);
        assert_eq!(told, format!("{file}: 440 facts\n"));
        // The folder is read while it is served, and by the same order.
        let mode = fs::metadata(folder.join(&file)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "for its owner alone");
        let read = good(folder, &["facts", "export", "--format", format, "--data", "d"]);
        assert_eq!(read, fs::read_to_string(folder.join(&file)).unwrap());

        let environment = format!("copy-{n}");
        let copy = key(folder, &environment);
        key_file(folder, "copy", &copy);
        set_policy(&service, &copy);
        let url = format!("{}/api/", service.caller.url);
        let args = ["facts", "import", &file, "--url", &url, "--key-file", "copy", "--chunk", "7"];
        assert!(good(folder, &args).starts_with("440 facts stored in http://"));
        assert_eq!(stored_facts(&service, &copy), all, "{format}");
        assert!(good(folder, &args).starts_with("440 facts"), "once more changes nothing");
        assert_eq!(stored_facts(&service, &copy), all, "{format}");
        assert!(!folder.join(format!("{file}.import")).exists());
        let again = good(
            folder,
            &["facts", "export", "--format", format, "--data", "d", "--environment", &environment],
        );
        assert_eq!(again, read);
    }
}

#[test]
fn a_service_behind_a_certificate_of_ones_own_is_found_by_the_settings_and_trusted_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    fs::write(folder.join("cert.pem"), made.cert.pem()).unwrap();
    fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    fs::write(folder.join("p.polar"), POLICY).unwrap();
    let stored_note = note("ada", "over TLS");
    fs::write(folder.join("facts.jsonl"), stored_note.to_string()).unwrap();
    let tls = ["--tls-cert", "cert.pem", "--tls-key", "key.pem", "--policy", "p.polar"];
    let service = Service::start(folder, &tls);
    key_file(folder, "key", &key(folder, ENVIRONMENT));
    let address = service.caller.address();
    let run = |arguments: &[&str], trusted: Option<&str>| {
        let mut command = portcullis(folder);
        command.args(["facts"]).args(arguments).args(["--key-file", "key"]);
        command.envs(trusted.map(|file| ("SSL_CERT_FILE", file)));
        command.env("PORTCULLIS_LISTEN", address.to_string()).env("PORTCULLIS_TLS_CERT", "cert.pem");
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let (stored, told) = run(&["import", "facts.jsonl"], None);
    assert!(!stored && told.contains("certificate"), "{told}");
    let (stored, told) = run(&["import", "facts.jsonl"], Some("cert.pem"));
    assert!(stored && told.starts_with("1 fact stored in https://127.0.0.1:"), "{told}");
    let (read, exported) = run(&["export"], Some("cert.pem"));
    assert_eq!((read, serde_json::from_str(&exported).ok()), (true, Some(stored_note)));
}

#[test]
fn a_folder_takes_facts_from_a_pipe_while_nobody_serves_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (service, _, all) = hostile(folder);
    let exported = good(folder, &["facts", "export", "--data", "d"]);
    let copy = key(folder, "copy");
    set_policy(&service, &copy);
    let served = bad(folder, &["facts", "import", "/dev/null", "--data", "d", "--environment", "copy"]);
    assert!(served.contains("import through the service"), "{served}");
    service.stop();
    let mut import = portcullis(folder);
    import.args(["facts", "import", "-", "--data", "d", "--environment", "copy", "--chunk", "100"]);
    let mut child = import.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(exported.as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(ended.stdout).unwrap(), "440 facts stored in d/copy\n");
    let service = Service::start(folder, &[]);
    assert_eq!(stored_facts(&service, &copy), all);
    let missing = bad(folder, &["facts", "export", "--data", "d", "--environment", "none"]);
    assert!(missing.starts_with("there is no store in"), "{missing}");
}

/// Imports a file: exit code, standard output, standard error.
fn import(folder: &Path, service: &Service, file: &str, more: &[&str]) -> (i32, String, String) {
    let args = [&["facts", "import", file, "--url", &service.caller.url, "--key-file", "key"], more].concat();
    run(folder, &args)
}

/// Why a file with this text is not imported.
fn refused(folder: &Path, service: &Service, file: &str, text: &str) -> String {
    fs::write(folder.join(file), text).unwrap();
    let (code, out, err) = import(folder, service, file, &[]);
    assert_eq!((code, out.as_str()), (1, ""), "{text}");
    assert_eq!(import(folder, service, file, &["--dry-run"]).2, err, "a trial says the same");
    err.trim_start_matches("error: ").trim_end().to_owned()
}

#[test]
fn a_line_that_cannot_be_stored_is_named_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (service, key) = served(folder);
    let line = |user: &str, text: &str| note(user, text).to_string();
    let none = refused(folder, &service, "a.jsonl", &line("a", "b"));
    assert!(
        none.starts_with("`a.jsonl`, line 1, column 1: note(User, \"b\") is not used in policy"),
        "{none}"
    );
    set_policy(&service, &key);

    let good_line = line("ada", "fine");
    let wrong = [
        (format!("{good_line}\n\n{{\"predicate\":\"note\"}}\n"), "line 3, column 20: missing field `args`"),
        (format!("{good_line}\n{{\"predicate\":7}}"), "line 2, column 14: invalid type: integer `7`"),
        (format!("{good_line}\n{}", good_line.get(..30).unwrap()), "line 2, column 30: EOF while parsing"),
        (format!("{good_line}\n{good_line} {good_line}"), "line 2, column 88: trailing characters"),
        (
            "{\"predicate\":\"note\",\"args\":[7]}".to_owned(),
            "invalid type: integer `7`, expected a value, an object with",
        ),
        ("7".to_owned(), "invalid type: integer `7`, expected a fact, an object with"),
        (line("ada", ""), "line 1, column 1: argument 2 of `note` has an empty id"),
        (
            line("ada", &"x".repeat(400)),
            "line 1, column 1: argument 2 of `note` has a type and id of 406 bytes",
        ),
        (good_line.replace("note", "memo"), "memo(User, \"fine\") is not used in policy"),
        (format!("{good_line}\n").repeat(40) + "[]", "line 41, column 1: expected one fact on the line"),
        ("x".repeat(3 << 20), "a fact of more than a megabyte"),
    ];
    for (text, reason) in wrong {
        let told = refused(folder, &service, "a.jsonl", &text);
        assert!(told.starts_with("`a.jsonl`, line ") && told.contains(reason), "{told} has no {reason}");
    }
    assert_eq!(stored_facts(&service, &key), json!([]), "nothing of all this was stored");
}

#[test]
fn a_row_that_cannot_be_stored_is_named_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (service, key) = served(folder);
    set_policy(&service, &key);
    let header = "predicate,type1,id1,type2,id2\n";
    let wrong = [
        ("", "line 1, column 1: the first row must be the header"),
        ("note,User,ada,String,x\n", "line 1, column 1: the first row must be the header"),
        ("predicate,type1\n", "line 1, column 1: the first row must be the header"),
        (
            &format!("{header}note,User,\"a\nb\",String,x\nnote,User,ada,String\n"),
            "line 4, column 5: an empty id",
        ),
        (&format!("{header}note,,ada,String,x"), "line 2, column 2: an empty type"),
        (&format!("{header}note,User,,String,x"), "line 2, column 3: an empty id"),
        (&format!("{header},,"), "line 2, column 1: a row of empty cells"),
        (&format!("{header}age,User,a,Integer,007"), "line 2, column 1: `007` is not an Integer"),
        (&format!("{header}p{}", ",T,i".repeat(6)), "line 2, column 12: a fact has at most 5 arguments"),
        (
            &format!("{header}note,User,\"{}", "never closed ".repeat(1 << 18)),
            "a fact of more than a megabyte",
        ),
    ];
    for (text, reason) in wrong {
        let told = refused(folder, &service, "a.csv", text);
        assert!(told.starts_with("`a.csv`, line ") && told.contains(reason), "{told} has no {reason}");
    }
    fs::write(folder.join("a.csv"), [header.as_bytes(), b"note,User,\xff,String,x"].concat()).unwrap();
    assert!(import(folder, &service, "a.csv", &[]).2.contains("line 2, column 3: not UTF-8"));
    assert_eq!(stored_facts(&service, &key), json!([]), "nothing of all this was stored");
    // A table may end its rows with empty cells, and its lines as Windows does.
    let rows = "predicate,type1,id1,type2,id2,type3,id3\r\nnote,User,ada,String,\"2,0\",,\r\nage,User,ada,Integer,7\r\n";
    fs::write(folder.join("c.csv"), format!("\u{feff}{rows}")).unwrap();
    assert!(import(folder, &service, "c.csv", &[]).1.starts_with("2 facts stored in"));
    assert_eq!(stored_facts(&service, &key).as_array().unwrap().len(), 2);
}

#[test]
fn chunks_before_a_fault_are_stored_and_the_one_with_it_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (service, key) = served(folder);
    set_policy(&service, &key);
    let lines: Vec<String> = (0..25).map(|n| note("ada", &n.to_string()).to_string()).collect();
    fs::write(folder.join("b.jsonl"), lines.join("\n") + "\nwrong").unwrap();
    let chunked = import(folder, &service, "b.jsonl", &["--chunk", "10"]);
    assert!(chunked.2.contains("`b.jsonl`, line 26, column 1: expected value"), "{chunked:?}");
    assert_eq!(stored_facts(&service, &key).as_array().unwrap().len(), 20);
    fs::write(folder.join("b.jsonl"), lines.join("\n")).unwrap();
    let trial = import(folder, &service, "b.jsonl", &["--dry-run"]);
    assert!(trial.1.starts_with("25 facts can be stored in"), "{trial:?}");
    assert_eq!(stored_facts(&service, &key).as_array().unwrap().len(), 20);
}

#[test]
fn a_key_that_is_missing_wrong_or_read_only_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = Service::start(folder, &[]);
    let writing = key(folder, ENVIRONMENT);
    set_policy(&service, &writing);
    fs::write(folder.join("f.jsonl"), note("ada", "x").to_string()).unwrap();
    let import = ["facts", "import", "f.jsonl", "--url", &service.caller.url];
    assert!(bad(folder, &import).starts_with("no key: run `portcullis login`, set PORTCULLIS_API_KEY"));
    key_file(folder, "key", "e_0123456789_1_wrong");
    let with_key = [&import[..], &["--key-file", "key"]].concat();
    assert!(bad(folder, &with_key).starts_with("the service answers 401: the API key is unknown"));
    let reading = good(folder, &["keys", "create", "--name", "r", "--read-only", "--data", "d"]);
    key_file(folder, "key", reading.trim());
    let told = bad(folder, &with_key);
    assert_eq!(
        told,
        "`f.jsonl`, lines 1 to 1: the service answers 403: this API key is read-only: send a read-write key"
    );
    let mut command = portcullis(folder);
    command.args(import).env("PORTCULLIS_API_KEY", &writing);
    assert!(command.output().unwrap().status.success());
    assert_eq!(stored_facts(&service, &writing), json!([note("ada", "x")]));
    let address = run(folder, &["facts", "export", "--url", "127.0.0.1:1", "--key-file", "key"]);
    assert!(address.0 == 2 && address.2.contains("is not an address"), "{address:?}");
}
