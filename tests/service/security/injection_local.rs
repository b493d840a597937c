//! Hostile texts in every place of the requests that are answered with SQL, and that SQL run where a caller
//! would run it.
//!
//! It is run as a script, in which one statement may follow another, next to a table that no question is
//! about: the canary survives, and rows are those that were meant.

use super::requests::{POLICY, check, conjunction, list, role};
use portcullis_compiler::Dialect;
use portcullis_testkit::hostile_texts::TEXTS;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::postgres::WIRE;
use portcullis_testkit::program::{Service, key};
use serde_json::{Value as Json, json};
use std::fmt::Write;

/// A service, and a database of a caller's with documents that have each text as their id and their note.
pub(crate) struct World {
    pub(crate) service: Service,
    key: String,
    _folder: tempfile::TempDir,
    pub(crate) callers: Vec<Caller>,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = key(folder.path(), "0123456789");
        let service = Service::start(folder.path(), &[]);
        let (status, answer) = service.caller.post(&key, "policy", &json!({ "src": POLICY }));
        assert_eq!(status, 200, "{answer}");
        let (_, answer) = service.caller.post(&key, "batch", &json!([{ "inserts": [role("ada", "plans")] }]));
        assert!(answer["message"].is_string(), "{answer}");
        Self { service, key, _folder: folder, callers: DIALECTS.map(caller).into_iter().collect() }
    }

    /// The SQL for a request, or the message of its refusal.
    fn sql(&self, path: &str, caller: &Caller, document: &str, mut body: Json) -> Result<String, String> {
        let document = format!("dialect: {}\n{document}", caller.dialect());
        body.as_object_mut().unwrap().insert("data_bindings".into(), document.into());
        let (status, answer) = self.service.caller.post(&self.key, path, &body);
        match status {
            200 => Ok(answer["sql"].as_str().unwrap().to_owned()),
            400 => Err(answer["message"].as_str().unwrap().to_owned()),
            other => panic!("{path} {body}: {other} {answer}"),
        }
    }

    pub(crate) fn filter(
        &self,
        caller: &Caller,
        user: &str,
        column: &str,
        document: &str,
    ) -> Result<String, String> {
        let body = json!({ "query": list(user, "read"), "column": column });
        self.sql("list_query", caller, document, body)
    }
}

pub(crate) const PARENTS: &str =
    "facts:\n  has_relation(Doc:_, parent, Doc:_):\n    query: SELECT id, parent FROM docs\n";

fn caller(dialect: Dialect) -> Caller {
    let caller = Caller::new(dialect).unwrap();
    caller
        .script(
            "CREATE TEMPORARY TABLE canary (id TEXT); INSERT INTO canary VALUES ('alive');
             CREATE TEMPORARY TABLE docs (id TEXT, parent TEXT, note TEXT);
             INSERT INTO docs VALUES ('plans', NULL, NULL), ('draft', 'plans', NULL), ('other', NULL, NULL);",
        )
        .unwrap();
    for text in TEXTS {
        match &caller {
            Caller::Postgresql(session) => WIRE.block_on(async {
                let insert = "INSERT INTO docs VALUES ($1, NULL, $1)";
                session.client().execute(insert, &[text]).await.unwrap();
            }),
            Caller::Sqlite { connection, .. } => {
                connection.execute("INSERT INTO docs VALUES (?1, NULL, ?1)", [text]).unwrap();
            }
        }
    }
    caller
}

/// Runs SQL as a script, then asks whether everything is still there.
#[track_caller]
pub(crate) fn is_harmless(caller: &Caller, sql: &str) {
    // It may name what does not exist; what it must not do is more than one thing.
    if caller.script(sql).is_err() {
        let _ = caller.script("ROLLBACK");
    }
    let counts = caller.run(
        "SELECT (SELECT COUNT(*) FROM canary WHERE id = 'alive') AS a, (SELECT COUNT(*) FROM canary) AS b,
                (SELECT COUNT(*) FROM docs) AS c",
    );
    let expected = ["1", "1", &(TEXTS.len() + 3).to_string()].map(|n| Some(n.to_owned()));
    assert_eq!(counts.unwrap().rows, [expected], "{sql}");
}

/// The ids for which a condition holds, and the same condition as an operand of a larger one.
pub(crate) fn listed(caller: &Caller, filter: &str) -> Result<Vec<String>, String> {
    let ids = |condition: &str| -> Result<Vec<String>, String> {
        let rows = caller.run(&format!("SELECT id FROM docs WHERE {condition}"))?.rows;
        Ok(rows.concat().into_iter().flatten().collect())
    };
    let found = ids(filter)?;
    assert_eq!(ids(&format!("1 = 0 AND {filter}"))?, Vec::<String>::new(), "{filter}");
    assert_eq!(ids(&format!("NOT {filter} AND {filter}"))?, Vec::<String>::new(), "{filter}");
    Ok(found)
}

#[test]
fn an_id_becomes_a_value() {
    let world = World::new();
    let roles: Vec<Json> = TEXTS.iter().map(|text| role(text, text)).collect();
    assert_eq!(world.service.caller.post(&world.key, "batch", &json!([{ "inserts": roles }])).0, 200);
    for caller in &world.callers {
        for (n, text) in TEXTS.iter().enumerate() {
            let filter = world.filter(caller, text, "docs.id", PARENTS).unwrap();
            is_harmless(caller, &format!("SELECT id FROM docs WHERE {filter}"));
            assert_eq!(listed(caller, &filter).unwrap(), [*text], "{filter}");
            for (doc, allowed) in [(*text, true), (TEXTS[(n + 1) % TEXTS.len()], false)] {
                let body = json!({ "query": check(text, "read", doc) });
                let sql = world.sql("authorize_query", caller, PARENTS, body).unwrap();
                is_harmless(caller, &sql);
                let found = caller.run(&sql).unwrap().rows[0][0].clone();
                assert_eq!(
                    found.is_some_and(|yes| yes == "true" || yes == "1"),
                    allowed,
                    "{text:?} {doc:?}\n{sql}"
                );
            }
            // The same as a fact of the request, and nothing else is granted.
            let mut asked = list("eve", "read");
            asked["context_facts"] = json!([role("eve", text)]);
            let body = json!({ "query": asked, "column": "docs.id" });
            let filter = world.sql("list_query", caller, PARENTS, body).unwrap();
            assert_eq!(listed(caller, &filter).unwrap(), [*text], "{filter}");
        }
    }
    world.service.stop();
}

#[test]
fn a_name_of_a_column_or_a_variable_becomes_a_name() {
    let world = World::new();
    for caller in &world.callers {
        let mut n_taken = 0;
        for text in TEXTS {
            let mode = json!({ "mode": "select", "query_vars_to_output_column_names": { "doc": text } });
            let body = json!({ "query": conjunction("ada", &[]), "mode": mode });
            if let Ok(sql) = world.sql("evaluate_query_local", caller, PARENTS, body) {
                is_harmless(caller, &sql);
                let returned = caller.run(&sql).unwrap();
                assert_eq!(returned.columns.len(), 1, "{sql}");
                assert_eq!(returned.columns[0].0, *text, "{sql}");
                let mut ids: Vec<String> = returned.rows.concat().into_iter().flatten().collect();
                ids.sort();
                assert_eq!(ids, ["draft", "plans"], "{sql}");
                n_taken += 1;
            }
            // A variable is not in the SQL at all.
            let query = json!({
                "predicate": ["allow", ["u", "a", text]],
                "constraints": { "u": { "type": "User", "ids": ["ada"] }, "a": { "type": "String", "ids": ["read"] }, *text: { "type": "Doc", "ids": null } },
            });
            let mode = json!({ "mode": "select", "query_vars_to_output_column_names": { *text: "found" } });
            let sql =
                world.sql("evaluate_query_local", caller, PARENTS, json!({ "query": query, "mode": mode }));
            if !["u", "a"].contains(text) {
                let sql = sql.unwrap();
                assert_eq!(caller.run(&sql).unwrap().rows.len(), 2, "{sql}");
            }
        }
        assert!(n_taken > TEXTS.len() / 2, "{n_taken} names of columns");
        // Names that are not columns: actions and types.
        for text in TEXTS {
            let asked = json!({ "query": check("ada", text, "plans") });
            let typed = json!({ "query": { "actor_type": text, "actor_id": "ada", "action": "read", "resource_type": text, "resource_id": "plans" } });
            for body in [asked, typed] {
                if let Ok(sql) = world.sql("authorize_query", caller, PARENTS, body) {
                    is_harmless(caller, &sql);
                    let found = caller.run(&sql).unwrap().rows[0][0].clone();
                    assert!(found.is_none_or(|no| no == "false" || no == "0"), "{text:?}\n{sql}");
                }
            }
        }
    }
    world.service.stop();
}

/// Policy constants reach the SQL of local checks, too.
#[test]
fn a_constant_of_a_policy_becomes_a_value() {
    let world = World::new();
    let mut src = POLICY.to_owned();
    for (n, text) in TEXTS.iter().enumerate().filter(|(_, text)| text.chars().all(|c| !c.is_control())) {
        let quoted = format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        writeln!(src, "has_permission(_: User, \"see{n}\", d: Doc) if tagged(d, {quoted});").unwrap();
    }
    assert_eq!(world.service.caller.post(&world.key, "policy", &json!({ "src": src })).0, 200);
    let tagged = "facts:\n  tagged(Doc:_, String:_):\n    query: SELECT id, note FROM docs\n";
    for caller in &world.callers {
        for (n, text) in TEXTS.iter().enumerate().filter(|(_, text)| text.chars().all(|c| !c.is_control())) {
            let body = json!({ "query": list("ada", &format!("see{n}")), "column": "docs.id" });
            let filter = world.sql("list_query", caller, tagged, body).unwrap();
            is_harmless(caller, &format!("SELECT id FROM docs WHERE {filter}"));
            assert_eq!(listed(caller, &filter).unwrap(), [*text], "{filter}");
        }
    }
    world.service.stop();
}
