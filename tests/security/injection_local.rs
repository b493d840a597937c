//! Hostile texts in every place of the requests that are answered with SQL, and that SQL run where a caller would run it.
//!
//! It is run as a script, in which one statement may follow another, beside a table that nobody asked about: the canary
//! survives, and rows are those that were meant.

use crate::program::{Service, key};
use crate::requests::{POLICY, check, conjunction, list, role};
use crate::support::hosted::RUNTIME;
use crate::support::hostile::TEXTS;
use crate::support::local::DIALECTS;
use crate::support::local::caller::Caller;
use portcullis_compiler::Dialect;
use serde_json::{Value as Json, json};
use std::fmt::Write;

/// A service, and a database of a caller's with documents that have each text as their id and their note.
struct World {
    service: Service,
    key: String,
    _folder: tempfile::TempDir,
    callers: Vec<Caller>,
}

impl World {
    fn new() -> Self {
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

    fn filter(&self, caller: &Caller, user: &str, column: &str, document: &str) -> Result<String, String> {
        let body = json!({ "query": list(user, "read"), "column": column });
        self.sql("list_query", caller, document, body)
    }
}

const PARENTS: &str =
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
            Caller::Postgresql(session) => RUNTIME.block_on(async {
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
fn is_harmless(caller: &Caller, sql: &str) {
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
fn listed(caller: &Caller, filter: &str) -> Result<Vec<String>, String> {
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
            // The same as a fact of the request, beside which nothing else is granted.
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
        // Names that are no columns of ours: actions and types.
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

/// What somebody may pass on as the column of a filter, in the hope of more rows or of another statement.
const COLUMNS: &[&str] = &[
    "docs.id; DROP TABLE canary",
    "docs.id; DROP TABLE canary; --",
    "docs.id) OR (1 = 1",
    "docs.id)) OR ((1 = 1",
    "docs.id IN ('x')) OR (TRUE",
    "1 = 1 OR docs.id",
    "TRUE OR docs.id",
    "docs.id = docs.id OR docs.id",
    "NOT docs.id",
    "docs.id IS NOT NULL OR docs.id",
    "docs.id -- ",
    "docs.id --\n",
    "docs.id /*",
    "docs.id */ OR 1 = 1 /*",
    "docs.id /* x */",
    "docs.id #",
    "docs.id UNION SELECT id FROM canary",
    "docs.id FROM docs; DELETE FROM canary; SELECT docs.id",
    "(DELETE FROM canary RETURNING id)",
    "(SELECT 'plans'); DROP TABLE canary; SELECT (1",
    "docs.id BETWEEN 'a' AND 'z' OR docs.id",
    "docs.id AND docs.id",
    "docs.id, docs.id",
    "docs.id AS x",
    "docs.id LIMIT 1",
    "docs.id\u{0}",
    "docs.id $1",
    "docs.id ?1",
    "docs.id :x",
    "$$plans$$ OR 1 = 1 OR $$x$$",
    "docs.id'",
    "docs.id\"",
    "docs.id`",
    "docs.id]",
    "docs.id\\",
];

#[test]
fn a_column_of_a_filter_is_one_expression() {
    let world = World::new();
    for caller in &world.callers {
        for column in ["docs.id", "id", "\"docs\".\"id\"", "lower(docs.id)"] {
            let filter = world.filter(caller, "ada", column, PARENTS).unwrap();
            let mut found = listed(caller, &filter).unwrap();
            found.sort();
            assert_eq!(found, ["draft", "plans"], "{filter}");
        }
        let mut n_refused = 0;
        for column in COLUMNS.iter().chain(TEXTS) {
            let Ok(filter) = world.filter(caller, "ada", column, PARENTS) else {
                n_refused += 1;
                continue;
            };
            is_harmless(caller, &format!("SELECT id FROM docs WHERE {filter}"));
            is_harmless(caller, &format!("DELETE FROM docs WHERE 1 = 0 AND {filter}"));
            // The database may refuse it. What it takes grants nothing that the column itself does not hold.
            if let Ok(found) = listed(caller, &filter) {
                assert!(
                    found.iter().all(|id| id == "plans" || id == "draft"),
                    "{column:?}: {found:?}\n{filter}"
                );
            }
        }
        assert!(n_refused > COLUMNS.len(), "{n_refused} columns were refused");
    }
    world.service.stop();
}

/// Queries of a document that are more than one query, or none.
const QUERIES: &[&str] = &[
    "SELECT id, parent FROM docs; DROP TABLE canary",
    "SELECT id, parent FROM docs; DROP TABLE canary; --",
    "DROP TABLE canary",
    "DELETE FROM canary RETURNING id, id",
    "WITH gone AS (DELETE FROM canary RETURNING id) SELECT id, id FROM gone",
    "UPDATE canary SET id = 'gone' RETURNING id, id",
    "INSERT INTO canary VALUES ('new') RETURNING id, id",
    "SELECT id, parent INTO stolen FROM docs",
    "SELECT id, parent FROM docs) UNION SELECT id, id FROM canary; --",
    "SELECT id, parent FROM docs FOR UPDATE",
    "COPY canary TO PROGRAM 'true'",
    "COPY (SELECT id, parent FROM docs) TO STDOUT",
    "\\copy canary from program 'true'",
    "DO $$ BEGIN DELETE FROM canary; END $$",
    "CALL x()",
    "EXPLAIN ANALYZE DELETE FROM canary",
    "PRAGMA writable_schema = 1",
    "ATTACH DATABASE 'x' AS y",
    "TRUNCATE canary",
    "BEGIN",
    "COMMIT",
    "SELECT id, parent FROM docs WHERE id = $1",
    "SELECT id, parent FROM docs WHERE id = ?",
    "SELECT id, parent FROM docs WHERE id = :x",
    "SELECT id, parent FROM docs /*",
    "SELECT id, parent FROM docs WHERE id = 'x",
    "",
];

#[test]
fn a_document_holds_queries_and_names() {
    let world = World::new();
    let printable = TEXTS.iter().filter(|text| text.chars().all(|c| !c.is_control()));
    let printable: Vec<&str> = printable.copied().collect();
    for caller in &world.callers {
        let of_query = |query: &str| {
            format!("facts:\n  \"has_relation(Doc:_, parent, Doc:_)\":\n    query: {}\n", json!(query))
        };
        for query in QUERIES {
            let asked = world.filter(caller, "ada", "docs.id", &of_query(query));
            assert!(asked.is_err(), "{query}: {asked:?}");
        }
        let mut n_taken = 0;
        for text in &printable {
            // A literal of the caller's own, written as both databases write it.
            let literal = format!("'{}'", text.replace('\'', "''"));
            let query = format!("SELECT id, 'plans' FROM docs WHERE note = {literal}");
            if let Ok(filter) = world.filter(caller, "ada", "docs.id", &of_query(&query)) {
                is_harmless(caller, &format!("SELECT id FROM docs WHERE {filter}"));
                let mut found = listed(caller, &filter).unwrap();
                let mut expected = ["plans", text];
                found.sort();
                expected.sort_unstable();
                assert_eq!(found, expected, "{filter}");
                n_taken += 1;
            }
            for document in [
                format!(
                    "facts:\n  {}:\n    query: SELECT id, 'plans' FROM docs\n",
                    json!(format!("has_relation(Doc:_, {text}, Doc:_)"))
                ),
                format!(
                    "facts:\n  {}:\n    query: SELECT id, 'plans' FROM docs\n",
                    json!(format!("{text}(Doc:_, parent, Doc:_)"))
                ),
                format!(
                    "facts:\n  {}:\n    query: SELECT 'plans' FROM docs\n",
                    json!(format!("has_relation(Doc:{text}, parent, Doc:_)"))
                ),
                format!("{PARENTS}sql_types:\n  Doc: {}\n", json!(text)),
                format!("{PARENTS}sql_types:\n  {}: integer\n", json!(text)),
                (*text).to_owned(),
            ] {
                let Ok(filter) = world.filter(caller, "ada", "docs.id", &document) else { continue };
                is_harmless(caller, &format!("SELECT id FROM docs WHERE {filter}"));
                if let Ok(found) = listed(caller, &filter) {
                    let is_meant = |id: &String| id == "plans" || id == "draft" || id == text;
                    assert!(found.iter().all(is_meant), "{document}: {found:?}\n{filter}");
                }
            }
        }
        assert!(n_taken > printable.len() / 2, "{n_taken} literals");
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
