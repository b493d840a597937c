//! Ids that were made to be mistaken for something else: data in every position, or refused.

use super::service::{Service, column, returned};
use super::text::faults;
use portcullis::engine::{EvaluateQuery, EvaluateVar, LocalMode, LocalQuestion};
use portcullis::store;
use portcullis_compiler::Dialect;
use portcullis_testkit::hosted::FAULT;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::notation::{Fact, Value};
use portcullis_testkit::postgres::WIRE;
use std::collections::BTreeMap;

const POLICY: &str = r#"
actor User {}
resource Doc {
  roles = ["reader"];
  permissions = ["read"];
  relations = { folder: Folder };
  "read" if "reader";
  "read" if "read" on "folder";
}
resource Folder { permissions = ["read"]; roles = ["reader"]; "read" if "reader"; }
has_permission(u: User, action: String, d: Doc) if granted(u, action, d);
"#;

const DOCUMENT: &str = "
facts:
  has_relation(Doc:_, folder, Folder:_):
    query: SELECT id, folder_id FROM docs
  granted(User:_, String:_, Doc:_):
    query: SELECT who, what, doc FROM grants
";

/// What an id may be.
const HOSTILE: [&str; 36] = [
    "'; DROP TABLE docs; --",
    "\\' OR 1=1 --",
    "' OR '1'='1",
    "'",
    "''",
    "'''",
    "\\",
    "\\\\",
    "\\'",
    "\\''",
    "\"",
    "a\"b",
    "$1",
    "$$",
    "$tag$",
    "?",
    "?1",
    ":x",
    "::text",
    "@x",
    "%s",
    "%(x)s",
    "{0}",
    "#{x}",
    "\\u0027",
    "U&'\\0027'",
    "E'\\x27'",
    "/* x",
    "-- x",
    ")",
    "(",
    "line\nbreak\r\ttab",
    "\u{1}\u{7f}\u{85}",
    "\u{2019}\u{ff07}\u{200b}",
    "日本語 🦊 ÅNGSTRÖM",
    " blank ",
];

/// Docs and grants whose every id is hostile.
fn caller(dialect: Dialect) -> Caller {
    let caller = Caller::new(dialect).unwrap();
    caller
        .script(
            "CREATE TEMPORARY TABLE docs (id TEXT, folder_id TEXT);
             CREATE TEMPORARY TABLE grants (who TEXT, what TEXT, doc TEXT);",
        )
        .unwrap();
    for (number, id) in HOSTILE.iter().enumerate() {
        let other = HOSTILE[(number + 1) % HOSTILE.len()];
        match &caller {
            Caller::Postgresql(session) => WIRE.block_on(async {
                let client = session.client();
                client.execute("INSERT INTO docs VALUES ($1, $2)", &[id, &other]).await.unwrap();
                client.execute("INSERT INTO grants VALUES ($1, $1, $1)", &[id]).await.unwrap();
            }),
            Caller::Sqlite { connection, .. } => {
                connection.execute("INSERT INTO docs VALUES (?1, ?2)", [id, &other]).unwrap();
                connection.execute("INSERT INTO grants VALUES (?1, ?1, ?1)", [id]).unwrap();
            }
        }
    }
    caller
}

fn service() -> Service {
    Service::new(POLICY, "", DOCUMENT)
}

fn value(ty: &str, id: &str) -> store::Value {
    store::Value::new(ty, id)
}

fn authorize(actor: &str, action: &str, resource: &str) -> LocalQuestion {
    LocalQuestion::Authorize {
        actor: value("User", actor),
        action: action.to_owned(),
        resource: value("Doc", resource),
    }
}

fn list(actor: &str, action: &str) -> LocalQuestion {
    LocalQuestion::List {
        actor: value("User", actor),
        action: action.to_owned(),
        resource_type: "Doc".into(),
        column: "docs.id".into(),
    }
}

fn role(actor: &str, ty: &str, id: &str) -> Fact {
    let args = vec![Value::new("User", actor), Value::new("String", "reader"), Value::new(ty, id)];
    Fact { predicate: "has_role".into(), args }
}

fn is_yes(text: &str) -> bool {
    matches!(text, "true" | "1")
}

fn listed(caller: &Caller, filter: &str) -> Vec<String> {
    let returned = returned(caller, &format!("SELECT id FROM docs WHERE {filter}"));
    returned.rows.concat().into_iter().flatten().collect()
}

#[test]
fn in_the_question() {
    let service = service();
    for dialect in DIALECTS {
        let caller = caller(dialect);
        for id in HOSTILE {
            let sql = service.ask(dialect, authorize(id, id, id), &[]).unwrap();
            assert!(is_yes(&column(&caller, &sql)), "{id:?}\n{sql}");
            assert_eq!(faults(&sql), Vec::<String>::new(), "{id:?}\n{sql}");
            for (actor, action, resource) in [("x", id, id), (id, "x", id), (id, id, "x")] {
                let sql = service.ask(dialect, authorize(actor, action, resource), &[]).unwrap();
                assert!(!is_yes(&column(&caller, &sql)), "{id:?}\n{sql}");
            }
            let filter = service.ask(dialect, list(id, id), &[]).unwrap();
            assert_eq!(listed(&caller, &filter), [id], "{filter}");
            assert_eq!(faults(&filter), Vec::<String>::new(), "{id:?}\n{filter}");
            let actions = LocalQuestion::Actions { actor: value("User", id), resource: value("Doc", id) };
            let sql = service.ask(dialect, actions, &[]).unwrap();
            let found: Vec<String> = returned(&caller, &sql).rows.concat().into_iter().flatten().collect();
            assert_eq!(found, [id], "{sql}");
        }
        assert_eq!(column(&caller, "SELECT COUNT(*) FROM docs"), HOSTILE.len().to_string());
    }
}

/// Stored and sent with the request; on the way to a document, and of it.
#[test]
fn in_facts() {
    for dialect in DIALECTS {
        let caller = caller(dialect);
        for (number, id) in HOSTILE.iter().enumerate() {
            let before = HOSTILE[(number + HOSTILE.len() - 1) % HOSTILE.len()];
            let on_folder = role("ada", "Folder", id);
            let on_doc = role(id, "Doc", id);
            let stored = service();
            stored.store(&[on_folder.clone(), on_doc.clone()]);
            let fresh = service();
            for (service, context) in [(&stored, Vec::new()), (&fresh, vec![on_folder, on_doc])] {
                let filter = service.ask(dialect, list("ada", "read"), &context).unwrap();
                assert_eq!(listed(&caller, &filter), [before], "{filter}");
                assert_eq!(faults(&filter), Vec::<String>::new(), "{id:?}\n{filter}");
                let filter = service.ask(dialect, list(id, "read"), &context).unwrap();
                assert_eq!(listed(&caller, &filter), [*id], "{filter}");
                let sql = service.ask(dialect, authorize("ada", "read", before), &context).unwrap();
                assert!(is_yes(&column(&caller, &sql)), "{id:?}\n{sql}");
            }
        }
    }
}

/// With `standard_conforming_strings` off a backslash escapes, and a literal still ends where it should.
#[test]
fn where_backslashes_escape() {
    let service = service();
    let caller = caller(Dialect::Postgresql);
    caller.script("SET standard_conforming_strings = off; SET escape_string_warning = off").unwrap();
    for id in HOSTILE {
        let sql = service.ask(Dialect::Postgresql, authorize(id, id, id), &[]).unwrap();
        assert!(is_yes(&column(&caller, &sql)), "{id:?}\n{sql}");
        let filter = service.ask(Dialect::Postgresql, list(id, id), &[]).unwrap();
        assert_eq!(listed(&caller, &filter), [id], "{filter}");
    }
}

#[test]
fn a_nul_is_refused() {
    let service = service();
    let bad = "a\0b";
    let context = [role(bad, "Doc", "d")];
    for dialect in DIALECTS {
        let questions = [
            (authorize(bad, "read", "d"), &[][..]),
            (authorize("ada", bad, "d"), &[]),
            (authorize("ada", "read", bad), &[]),
            (list(bad, "read"), &[]),
            (list("ada", bad), &[]),
            (authorize("ada", "read", "d"), &context),
        ];
        for (question, context) in questions {
            let message = service.ask(dialect, question, context).unwrap_err();
            assert!(!message.starts_with(FAULT), "{message}");
        }
    }
}

fn select(name: &str) -> LocalQuestion {
    let var =
        |ty: &str, id: Option<&str>| EvaluateVar { ty: ty.to_owned(), ids: id.map(|id| vec![id.to_owned()]) };
    let vars = [("u", var("User", Some("'"))), ("a", var("String", None)), ("d", var("Doc", None))];
    let names = ["u", "a", "d"].map(str::to_owned);
    LocalQuestion::Evaluate {
        query: EvaluateQuery {
            atoms: vec![("allow".to_owned(), names.to_vec())],
            vars: vars.into_iter().map(|(name, var)| (name.to_owned(), var)).collect::<BTreeMap<_, _>>(),
        },
        mode: LocalMode::Select(vec![("d".to_owned(), name.to_owned())]),
    }
}

/// A column's name is a name: of any characters, or refused.
#[test]
fn in_names_of_columns() {
    let service = service();
    let long = "x".repeat(64);
    let fits = "x".repeat(63);
    let names = HOSTILE.iter().copied().chain(["", "a\0b", &long, &fits, "Größe", "select", "*"]);
    for name in names {
        for dialect in DIALECTS {
            let caller = caller(dialect);
            match service.ask(dialect, select(name), &[]) {
                Ok(sql) => {
                    let returned = returned(&caller, &sql);
                    assert_eq!(returned.columns[0].0, name, "{sql}");
                    assert_eq!(returned.rows.concat(), [Some("'".to_owned())], "{sql}");
                    assert_eq!(column(&caller, "SELECT COUNT(*) FROM docs"), HOSTILE.len().to_string());
                }
                Err(message) => {
                    assert!(!message.starts_with(FAULT), "{name:?}: {message}");
                    let is_usual = name == "select" || name == "Größe" || name == fits;
                    assert!(!is_usual, "{name:?}: {message}");
                }
            }
        }
    }
}

/// A pattern over one variable, several ids of a request.
#[test]
fn in_lists_of_ids() {
    let service = service();
    for dialect in DIALECTS {
        let caller = caller(dialect);
        let LocalQuestion::Evaluate { mut query, .. } = select("d") else { panic!("no conjunction") };
        query.vars.get_mut("u").unwrap().ids = Some(HOSTILE.map(str::to_owned).to_vec());
        let mode = LocalMode::Filter { var: "d".to_owned(), column: "docs.id".to_owned() };
        let filter = service.ask(dialect, LocalQuestion::Evaluate { query, mode }, &[]).unwrap();
        let mut found = listed(&caller, &filter);
        found.sort();
        let mut all = HOSTILE.map(str::to_owned).to_vec();
        all.sort();
        assert_eq!(found, all, "{filter}");
        assert_eq!(faults(&filter), Vec::<String>::new(), "{filter}");
    }
}
