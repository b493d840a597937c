//! `login` tries a service and a key, and keeps them for the commands that name neither.

use super::program::{bad, good, key, run};
use portcullis_testkit::program::{self, Service, portcullis};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Logs in with a key on the standard input: exit code, standard output, standard error.
fn login(folder: &Path, url: &str, key: &str) -> (i32, String, String) {
    let mut command = portcullis(folder);
    command.args(["login", url]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(key.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_login_is_tried_kept_used_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = Service::start(folder, &[]);
    let key = key(folder, "staging");
    let file = folder.join(".config/portcullis/login.json");

    let (code, out, err) = login(folder, &service.caller.url, "e_staging_1_unknown");
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.starts_with("error: the service answers 401: "), "{err}");
    let (code, _, err) = login(folder, &service.caller.url, "");
    assert!(code == 1 && err.starts_with("error: the key is empty"), "{err}");
    assert_eq!(login(folder, "nowhere", &key).0, 2);
    assert!(!file.exists(), "what does not work is not kept");

    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let (code, out, err) = login(folder, &service.caller.url, &format!("{key}\n"));
    let expected = format!(
        "logged in to {}/api, environment staging; the key is in `{}`\n",
        service.caller.url,
        file.display()
    );
    assert_eq!((code, out, err.as_str()), (0, expected, ""));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(file.parent().unwrap()), mode(&file)), (0o700, 0o600));

    let pushed = folder.join("policy.polar");
    fs::write(&pushed, super::program::POLICY).unwrap();
    good(folder, &["policy", "push", "policy.polar"]);
    let added = good(folder, &["facts", "add", "age(User:ada, 7)"]);
    assert_eq!(added, format!("1 fact stored in {}/api, environment staging\n", service.caller.url));
    assert_eq!(good(folder, &["query", "age(User:ada, Integer:?)"]).lines().count(), 1);

    fs::write(&file, "{").unwrap();
    assert!(bad(folder, &["stats"]).ends_with("; log in again with `portcullis login`"));
    let (_, out, _) = run(folder, &["stats", "--format", "json"]);
    assert!(out.contains("\"invalid_settings\""), "{out}");
    assert_eq!(login(folder, &service.caller.url, &key).0, 0);
    assert_eq!(good(folder, &["logout"]), "logged out\n");
    assert_eq!(good(folder, &["logout"]), "you are not logged in\n");
    assert!(!file.exists());
}

#[test]
fn whatever_else_names_a_service_or_a_key_takes_precedence() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = Service::start(folder, &[]);
    assert_eq!(login(folder, &service.caller.url, &key(folder, "staging")).0, 0);
    good(folder, &["stats", "--url", &format!("{}/api/", service.caller.url)]);
    assert!(bad(folder, &["stats", "--url", "http://example.com"]).starts_with("no key: "));
    fs::write(folder.join("settings.toml"), "listen = \"127.0.0.1:1\"\n").unwrap();
    let unreachable = bad(folder, &["stats", "--config", "settings.toml"]);
    assert!(unreachable.starts_with("no answer from the service"), "{unreachable}");
    assert!(
        unreachable.contains("Connection refused; check") && !unreachable.contains("os error"),
        "{unreachable}"
    );
    for (variable, value) in [("PORTCULLIS_LISTEN", "127.0.0.1:1"), ("PORTCULLIS_CONFIG", "settings.toml")] {
        let output = portcullis(folder).arg("stats").env(variable, value).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.starts_with("error: no answer from the service"), "{variable}: {err}");
    }
    // So does a settings file that gives no address: the service is then the one on this machine.
    fs::write(folder.join("other.toml"), "query_time = 5\n").unwrap();
    let output = portcullis(folder).arg("stats").env("PORTCULLIS_CONFIG", "other.toml").output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.starts_with("error: no answer from the service"), "{err}");
    good(folder, &["stats"]);
}

#[test]
fn a_server_that_is_not_portcullis_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = BufReader::new(stream.try_clone().unwrap());
        let _end = head.lines().find(|line| line.as_ref().is_ok_and(String::is_empty));
        let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
        stream.write_all(answer.as_bytes()).unwrap();
    });
    let (code, out, err) = login(folder.path(), &url, "e_staging_1_secret");
    assert!(code == 1 && out.is_empty() && err.contains("missing field `policy`"), "{code} {out}{err}");
    assert!(!folder.path().join(".config/portcullis/login.json").exists());
}

/// `script` runs a command on a terminal of its own, and copies what the terminal shows.
#[test]
fn a_key_that_is_typed_is_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = Service::start(folder, &[]);
    let key = key(folder, "staging");
    let program = program::path();
    let mut terminal = Command::new("script")
        .args(["-qec", &format!("{} login {}", program.display(), service.caller.url), "/dev/null"])
        .env("XDG_CONFIG_HOME", folder.join(".config"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut shown = BufReader::new(terminal.stdout.take().unwrap());
    let mut prompt = String::new();
    shown.read_line(&mut prompt).unwrap();
    assert!(prompt.contains("the key, which is not shown"), "{prompt}");
    let mut typed = terminal.stdin.take().unwrap();
    writeln!(typed, "{key}").unwrap();
    let mut rest = String::new();
    shown.read_to_string(&mut rest).unwrap();
    assert!(terminal.wait().unwrap().success(), "{rest}");
    assert!(rest.contains("logged in to ") && !rest.contains(&key), "{rest}");
}
