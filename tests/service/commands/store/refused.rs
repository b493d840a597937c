//! Each server, database and role that cannot be the store, with the message that says what to do.

use super::{SERVER, command, database, ended, sql, store};
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::program::{self, Service};
use serde_json::{Value as Json, json};
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// What `store migrate` says instead of migrating.
fn refused(url: &str) -> String {
    let (code, out, err) = store(&["migrate", url]);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    err
}

/// The code of the same error under `--json`.
fn code(url: &str) -> String {
    let (_, out, _) = store(&["check", "--json", url]);
    let error: Json = serde_json::from_str(&out).unwrap();
    error.get("code").and_then(Json::as_str).unwrap_or_default().to_owned()
}

#[test]
fn a_wrong_address_is_a_wrong_argument() {
    for url in ["mysql://db/portcullis", "postgres://ada:pass?word@db/portcullis"] {
        let (status, _, err) = store(&["migrate", url]);
        assert_eq!(status, 2);
        assert!(err.starts_with("error: the address of the store is wrong: "), "{err}");
        assert!(err.ends_with("; write postgres://USER@HOST:PORT/DATABASE\n"), "{err}");
        assert!(!err.contains("word@db"), "{err}");
        assert_eq!(code(url), "invalid_arguments");
    }
}

#[test]
fn a_server_that_does_not_answer_is_given_up_in_time() {
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let url = format!("postgres://ada@127.0.0.1:{closed}/portcullis");
    let err = refused(&url);
    assert!(err.starts_with("error: the store does not answer: error connecting to server"), "{err}");
    assert!(err.ends_with(&format!(
        ", at 127.0.0.1 port {closed}; check the address, the network, and that PostgreSQL runs\n"
    )));
    assert_eq!(code(&url), "store_unreachable");

    // It accepts connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let began = Instant::now();
    let err = refused(&format!("postgres://ada@127.0.0.1:{port}/portcullis?connect_timeout=1"));
    assert!(err.contains("no answer within 1s, at 127.0.0.1 port"), "{err}");
    assert!(began.elapsed() < Duration::from_secs(10));

    // The next server of the address is tried.
    database("second");
    let several = format!("127.0.0.1:{closed},127.0.0.1:{}", SERVER.port);
    let (code, out, _) = store(&["migrate", &format!("postgres://postgres@{several}/second")]);
    assert_eq!(code, 0, "{out}");
}

#[test]
fn a_login_that_is_refused_says_who_refuses_it() {
    sql(&SERVER.address("postgres", "postgres"), "CREATE ROLE shut NOLOGIN");
    let err = refused(&SERVER.remote("postgres", "shut"));
    assert_eq!(
        err,
        format!(
            "error: 127.0.0.1 port {} refuses the login: role \"shut\" is not permitted to log in; \
             check the user and the password of the address\n",
            SERVER.port
        )
    );
    let url = SERVER.remote("absent", "postgres");
    let err = refused(&url);
    assert!(err.contains("says: database \"absent\" does not exist; create it: CREATE DATABASE"), "{err}");
    assert_eq!(code(&url), "store_unreachable");
}

#[test]
fn a_database_that_cannot_hold_a_store_is_refused() {
    let admin = SERVER.address("postgres", "postgres");
    sql(
        &admin,
        "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' LOCALE_PROVIDER libc TEMPLATE template0",
    );
    let url = SERVER.address("ascii", "postgres");
    let err = refused(&url);
    assert!(
        err.starts_with("error: the database has the encoding SQL_ASCII, and the store needs UTF8:"),
        "{err}"
    );
    let (status, out, _) = store(&["check", &url]);
    assert!(
        status == 1 && out.contains("bad      encoding: the database has the encoding SQL_ASCII"),
        "{out}"
    );

    let url = database("escapes");
    sql(&url, "ALTER DATABASE escapes SET standard_conforming_strings = off");
    let err = refused(&url);
    assert!(err.contains("ALTER ROLE postgres SET standard_conforming_strings = on"), "{err}");

    let url = database("foreign_schema");
    sql(&url, "CREATE SCHEMA portcullis");
    let err = refused(&url);
    assert!(
        err.contains("a schema `portcullis` that Portcullis did not create: use another database"),
        "{err}"
    );

    let url = database("read_only");
    sql(&url, "ALTER DATABASE read_only SET default_transaction_read_only = on");
    let reason = "accepts no writes, because the setting `default_transaction_read_only` is on: turn it off";
    let err = refused(&url);
    assert!(err.contains(reason) && !err.contains("standby"), "{err}");
    let (status, out, _) = store(&["check", &url]);
    assert!(status == 1 && out.starts_with("bad      server: ") && out.contains(reason), "{out}");
}

/// A real server says that it is older. Its setting cannot be changed, but what a database reads instead can.
#[test]
fn a_server_that_is_too_old_is_refused() {
    let url = database("aged");
    sql(
        &url,
        "CREATE SCHEMA aged;
         CREATE FUNCTION aged.current_setting(name text) RETURNS text LANGUAGE sql AS $$
           SELECT CASE name WHEN 'server_version_num' THEN '140023' WHEN 'server_version' THEN '14.23'
             ELSE pg_catalog.current_setting(name) END $$;
         ALTER DATABASE aged SET search_path = aged, pg_catalog",
    );
    let too_old = "PostgreSQL 14.23 is too old: the store needs 15 or later";
    assert_eq!(refused(&url), format!("error: {too_old}\n"));
    assert_eq!(code(&url), "");
    let (status, out, _) = store(&["check", &url]);
    assert!(status == 1 && out.contains(&format!("bad      server: {too_old}")), "{out}");
    let folder = tempfile::tempdir().unwrap();
    let (status, _, err) =
        program::run(folder.path(), &["serve", "--listen", "127.0.0.1:0", "--store", &url]);
    assert!(status == Some(1) && err.contains(too_old), "{err}");
    // One that is replaced by an older one while a node runs is refused by the next connection.
    sql(&url, "ALTER DATABASE aged RESET search_path");
    let node = Service::develop(&["--store", &url, "--query-wait", "1"]);
    let stored = || node.caller.post(DEVELOPMENT_KEY, "policy", &json!({ "src": "actor User {}" })).0;
    assert_eq!(stored(), 200);
    sql(&url, "ALTER DATABASE aged SET search_path = aged, pg_catalog");
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = 'aged' AND pid <> pg_backend_pid()";
    sql(&SERVER.address("postgres", "postgres"), end);
    assert_eq!(stored(), 503);
    node.program.logs(too_old);
}

#[test]
fn a_role_without_rights_is_told_the_grant() {
    let url = database("granted");
    sql(&url, "CREATE ROLE poor LOGIN; CREATE ROLE \"Other Role\" LOGIN");
    let poor = SERVER.address("granted", "poor");
    let grant = "GRANT CREATE ON DATABASE granted TO poor";
    let err = refused(&poor);
    assert_eq!(
        err,
        format!(
            "error: the role of the store lacks a right: poor may not create schemas in the database; \
             ask an administrator for {grant}\n"
        )
    );
    let (status, out, _) = store(&["check", &poor]);
    assert!(status == 1 && out.contains(grant), "{out}");
    sql(&url, grant);
    assert_eq!(store(&["migrate", &poor]).0, 0);
    assert_eq!(store(&["check", &poor]).0, 0);

    let other = SERVER.address("granted", "Other%20Role");
    let err = refused(&other);
    assert!(
        err.contains("lacks a right: permission denied for schema portcullis; `portcullis store check"),
        "{err}"
    );
    let (status, out, _) = store(&["check", &other]);
    assert!(status == 1 && out.contains("ask an administrator for GRANT poor TO \"Other Role\""), "{out}");
    sql(&url, "GRANT poor TO \"Other Role\"; GRANT CREATE ON DATABASE granted TO \"Other Role\"");
    assert_eq!(store(&["check", &other]).0, 0);
}

#[test]
fn no_message_shows_a_password() {
    let url = format!("postgres://ada:s3cret@127.0.0.1:{}/absent", SERVER.port);
    let outputs = [
        store(&["migrate", &url]),
        store(&["check", "--json", &url]),
        ended(&command(&["check"]).env("PORTCULLIS_STORE", &url).output().unwrap()),
        ended(&command(&["check", "--help"]).env("PORTCULLIS_STORE", &url).output().unwrap()),
        ended(&command(&["migrate", "--wrong"]).env("PORTCULLIS_STORE", &url).output().unwrap()),
    ];
    for (_, out, err) in outputs {
        assert!(!out.contains("s3cret") && !err.contains("s3cret"), "{out}{err}");
    }
}
