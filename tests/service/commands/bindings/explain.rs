//! `portcullis bindings check --explain`: the SQL of each permission, the database's plan, and what is slow.

use super::{check, postgresql, sqlite};
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::fs;
use std::path::Path;

pub(super) const POLICY: &str = r#"
actor User {}
actor Robot {}
resource Folder { roles = ["viewer"]; }
resource Doc {
  permissions = ["read", "share"];
  relations = { folder: Folder, owner: User };
  "read" if "viewer" on "folder";
  "share" if "owner";
}
"#;

pub(super) const FACTS: &str = "facts:
  has_relation(Doc:_, folder, Folder:_):
    query: SELECT id, folder_id FROM docs
  has_relation(Doc:_, owner, User:_):
    query: SELECT id, owner_id FROM docs
  has_role(User:_, String:_, Folder:_):
    query: SELECT user_id, role, folder_id FROM folder_roles
";

pub(super) const TYPES: &str = "sql_types: {User: integer, Doc: integer, Folder: integer}\n";
pub(super) const TABLES: &str = "tables: {Doc: docs.id}\n";

const SCHEMA: &str = "
    CREATE TABLE docs (id integer PRIMARY KEY, owner_id integer, folder_id integer NOT NULL);
    INSERT INTO docs SELECT n + 6, n % 1000, n % 100 FROM generate_series(1, 20000) n;
    CREATE INDEX ON docs (folder_id);
    CREATE TABLE folder_roles (user_id integer NOT NULL, role text NOT NULL, folder_id integer NOT NULL,
                               PRIMARY KEY (user_id, folder_id));
    INSERT INTO folder_roles SELECT n % 500 + 3, 'viewer', n % 100 FROM generate_series(1, 1000) n
      ON CONFLICT DO NOTHING;
    CREATE INDEX ON folder_roles (folder_id);
    ANALYZE;
";

/// The explanations as JSON.
fn explained(folder: &Path, bindings: &str, database: &str, args: &[&str]) -> Json {
    explained_with(folder, POLICY, bindings, database, args)
}

/// The explanations of a policy.
pub(super) fn explained_with(
    folder: &Path,
    policy: &str,
    bindings: &str,
    database: &str,
    args: &[&str],
) -> Json {
    fs::write(folder.join("policy.polar"), policy).unwrap();
    let args = [&["--policy", "policy.polar", "--explain", "--json"], args].concat();
    let (_, out, err) = check(folder, bindings, database, &args);
    assert_eq!(err, "");
    serde_json::from_str::<Json>(&out).unwrap()["explain"].take()
}

/// One statement: by `check`, `list` or `subjects`, the actor's type, and the action.
pub(super) fn statement<'j>(explained: &'j Json, question: &str, actor: &str, action: &str) -> &'j Json {
    let all = explained["statements"].as_array().unwrap();
    let found = all.iter().find(|statement| {
        statement["question"] == question && statement["actor_type"] == actor && statement["action"] == action
    });
    found.unwrap()
}

/// What is slow about a statement, with what would help.
pub(super) fn slow(statement: &Json) -> Vec<(String, String)> {
    let steps = statement["plan"]["steps"].as_array().unwrap();
    let of = |part: &Json| part["slow"].as_array().unwrap().clone();
    let text = |value: &Json| value.as_str().unwrap_or("-").to_owned();
    let parts = of(&statement["plan"]).into_iter().chain(steps.iter().flat_map(of));
    parts.map(|slow| (text(&slow["what"]), text(&slow["help"]))).collect()
}

pub(super) fn helps(explained: &Json) -> Vec<&str> {
    explained["help"].as_array().unwrap().iter().map(|help| help["help"].as_str().unwrap()).collect()
}

#[test]
fn a_missing_index_is_named_where_it_is_missed() {
    let folder = tempfile::tempdir().unwrap();
    let database = postgresql("explained", SCHEMA);
    let bindings = [FACTS, TYPES, TABLES].concat();
    let all = explained(folder.path(), &bindings, &database, &[]);
    let list = statement(&all, "list", "User", "share");
    let [(what, help)] = slow(list).try_into().unwrap();
    assert!(what.starts_with("reads all 20,000 rows of `docs`, of which "), "{what}");
    assert_eq!(help, "CREATE INDEX ON docs (owner_id);");
    // The rule at this line says that owners may share.
    assert_eq!(list["plan"]["steps"][0]["rule_lines"], json!([9]), "{list}");
    assert!(list["explained"].as_str().unwrap().starts_with("SELECT docs.id FROM docs WHERE ("), "{list}");
    // Each other one has the indexes that it needs.
    for (question, action) in [("check", "share"), ("check", "read"), ("list", "read")] {
        assert_eq!(slow(statement(&all, question, "User", action)), [], "{question} {action}");
    }
    assert_eq!(helps(&all), ["CREATE INDEX ON docs (owner_id);"]);
    // The ids are those of the database, the smallest first.
    let ids: Vec<String> =
        all["ids"].as_array().unwrap().iter().map(|id| format!("{}:{}", id["type"], id["id"])).collect();
    assert_eq!(ids, [r#""Doc":"7""#, r#""Robot":"1""#, r#""User":"0""#]);
    assert_eq!(all["ids"][1]["read_from"], Json::Null, "no bound query has robots");
    let robot = statement(&all, "check", "Robot", "read");
    assert_eq!(robot["is_never_allowed"], true, "{robot}");
    assert_eq!(
        robot["never_because"], "a rule grants it, but the facts that it needs are neither bound nor stored",
        "{robot}"
    );
}

#[test]
fn a_missing_type_and_a_missing_promise_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let database = postgresql("explained_without", SCHEMA);
    let all = explained(folder.path(), FACTS, &database, &[]);
    let found = slow(statement(&all, "list", "User", "read"));
    let cast = "compares `docs.folder_id` through a cast to `text`, so its index is not used";
    let expected = (cast.to_owned(), "sql_types: Folder: integer".to_owned());
    assert!(found.contains(&expected), "{found:?}");
    let promised = found.iter().any(|(_, help)| help == "tables: Doc: docs.id");
    assert!(promised, "{found:?}");
}

#[test]
fn the_text_marks_the_slow_step_and_counts_what_helps() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("policy.polar"), POLICY).unwrap();
    let database = postgresql("explained_text", SCHEMA);
    let bindings = [FACTS, TYPES, TABLES].concat();
    let args = ["--policy", "policy.polar", "--explain"];
    let (code, out, err) = check(folder.path(), &bindings, &database, &args);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let (_, list) = out.split_once("== list: User \"share\" Doc ==\n").unwrap();
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[0].contains("docs.id IS NOT NULL AND "), "{list}");
    let plan = lines.iter().position(|line| *line == "SELECT docs.id FROM docs WHERE …").unwrap();
    assert_eq!(lines[plan + 1], "        rows          cost  step");
    assert!(lines[plan + 2].ends_with("  Seq Scan on docs"), "{list}");
    assert!(lines[plan + 4].trim_start().starts_with("! reads all 20,000 rows of `docs`"), "{list}");
    assert_eq!(lines[plan + 5].trim_start(), "help: CREATE INDEX ON docs (owner_id);");
    assert!(out.contains("\n  CREATE INDEX ON docs (owner_id);  (3 statements)\n"), "{out}");
    let never = "\nnever allowed, as the facts that the rules need are neither bound nor stored:\n  to a Robot: all of Doc\n";
    assert!(out.contains(never), "{out}");
    assert!(!out.contains(" Robot \"read\"") && !out.contains("actions: Robot"), "{out}");
    assert!(out.ends_with("\n14 statements: 3 with slow parts, 0 without a plan\n"), "{out}");
}

/// A rule of `allow` replaces the implied one, for the types that it does not take, too.
#[test]
fn what_is_never_allowed_has_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let database = postgresql("explained_never", SCHEMA);
    let policies = [
        ("", "a rule grants it, but the facts that it needs are neither bound nor stored"),
        (
            "allow(u: User, a: String, f: Folder) if has_permission(u, a, f);",
            "no rule of `allow` takes a Doc, and the policy's own rules replace the implied one",
        ),
        (
            "allow(u: User, \"read\", d: Doc) if has_permission(u, \"read\", d);",
            "no rule of `allow` takes \"share\" with a User and a Doc, and the policy's own rules replace the implied one",
        ),
    ];
    for (rule, reason) in policies {
        fs::write(folder.path().join("policy.polar"), [POLICY, rule].concat()).unwrap();
        let bindings = [FACTS.split("  has_role").next().unwrap(), TYPES, TABLES].concat();
        let bindings = bindings
            .replace("  has_relation(Doc:_, owner, User:_):\n    query: SELECT id, owner_id FROM docs\n", "");
        let args = ["--policy", "policy.polar", "--explain", "--json"];
        let (_, out, _) = check(folder.path(), &bindings, &database, &args);
        let all = serde_json::from_str::<Json>(&out).unwrap()["explain"].take();
        assert_eq!(statement(&all, "list", "User", "share")["never_because"], reason, "{all}");
    }
}

/// The summary has a line for each type of actor, and one for what nobody may do.
#[test]
fn the_summary_says_once_what_is_never_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let database = postgresql("explained_never_once", SCHEMA);
    let rules = r#"
        actor Team {}
        resource Report { permissions = ["print", "send"]; relations = { sender: Robot }; "send" if "sender"; }
        has_permission(u: User, "print", r: Report) if printer(u, r);
        declare printer(User, Report);
    "#;
    let policy = POLICY.replace("\"share\"];", "\"share\", \"keep\"];");
    let policy = [
        &policy,
        rules,
        "has_permission(a: Actor, \"keep\", d: Doc) if keeper(a, d);\ndeclare keeper(Actor, Doc);\n",
    ]
    .concat();
    let bindings = [
        FACTS,
        "  has_relation(Report:_, sender, Robot:_):\n    query: SELECT id, folder_id FROM docs\n",
        TYPES,
        TABLES,
    ]
    .concat();
    let summary = |policy: &str| {
        fs::write(folder.path().join("policy.polar"), policy).unwrap();
        let args = ["--policy", "policy.polar", "--explain"];
        let (code, out, err) = check(folder.path(), &bindings, &database, &args);
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        let (_, statements) = out.split_once("\nstatements:\n").unwrap();
        let (_, never) = statements.split_once("\n\n").unwrap();
        assert!(!statements.contains("  never  "), "{statements}");
        never.split_once("\n51 statements: ").unwrap().0.to_owned()
    };
    let lacks_facts = r#"never allowed, as the facts that the rules need are neither bound nor stored:
  to anyone: "keep" of Doc; "print" of Report
  to a Robot: "read", "share" of Doc
  to a Team: "read", "share" of Doc; "send" of Report
  to a User: "send" of Report
"#;
    assert_eq!(summary(&policy), lacks_facts);
    let not_taken = r#"never allowed, as no rule of `allow` takes it, and the policy's own rules replace the implied one:
  to anyone: "keep", "share" of Doc; all of Report
  to a Robot: "read" of Doc
  to a Team: "read" of Doc
"#;
    let allow = "allow(u: User, \"read\", d: Doc) if has_permission(u, \"read\", d);";
    assert_eq!(summary(&[&policy, allow].concat()), not_taken);
}

/// Lists of actors and of actions are looked at, too; the text shows those that are slow.
#[test]
fn subjects_and_actions_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let policy = [POLICY, "has_permission(user: User, \"archive\", doc: Doc) if read(user, n) and size(doc, m) and m < n;\ndeclare read(User, Integer);\ndeclare size(Doc, Integer);\n"].concat();
    let policy = policy.replace("\"share\"];", "\"share\", \"archive\"];");
    let schema = [
        SCHEMA,
        "CREATE TABLE users (id integer PRIMARY KEY, n_read integer NOT NULL);
        ALTER TABLE docs ADD size integer NOT NULL DEFAULT 0;
        INSERT INTO users SELECT n, n FROM generate_series(0, 19999) n; ANALYZE;",
    ]
    .concat();
    let facts = [FACTS, "  read(User:_, Integer:_):\n    query: SELECT id, n_read FROM users\n  size(Doc:_, Integer:_):\n    query: SELECT id, size FROM docs\n"].concat();
    let bindings = [&facts, TYPES, "tables: {Doc: docs.id, User: users.id}\n"].concat();
    let database = postgresql("explained_subjects", &schema);
    fs::write(folder.path().join("policy.polar"), policy).unwrap();
    let explain = |args: &[&str]| {
        let args = [&["--policy", "policy.polar", "--explain"], args].concat();
        let (code, out, err) = check(folder.path(), &bindings, &database, &args);
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        out
    };
    let all = serde_json::from_str::<Json>(&explain(&["--json"])).unwrap()["explain"].take();
    let subjects = statement(&all, "subjects", "User", "archive");
    assert_eq!((&subjects["actor_id"], &subjects["resource_id"]), (&Json::Null, &json!("7")), "{subjects}");
    assert!(
        subjects["explained"].as_str().unwrap().starts_with("SELECT users.id FROM users WHERE "),
        "{subjects}"
    );
    let found = slow(subjects);
    assert!(found.iter().any(|(what, _)| what.starts_with("reads all 20,000 rows of `users`")), "{subjects}");
    let mut steps = subjects["plan"]["steps"].as_array().unwrap().iter();
    let step = steps.find(|step| !step["slow"].as_array().unwrap().is_empty()).unwrap();
    assert_eq!(step["rule_lines"], json!([11]), "{subjects}");
    // The service knows why, and the rows of the resource are found by their key.
    let helps = helps(&all);
    assert!(
        helps.contains(&"restrict the rows in your own query, or let the rule start from the actor"),
        "{all}"
    );
    assert!(!helps.contains(&"add an equality with the row to the rule"), "{all}");
    let actions: Vec<&Json> =
        all["statements"].as_array().unwrap().iter().filter(|each| each["question"] == "actions").collect();
    let [of_user, of_robot] = actions.try_into().unwrap();
    assert_eq!((&of_user["action"], &of_user["is_never_allowed"]), (&Json::Null, &json!(false)), "{of_user}");
    assert!(of_user["plan"]["steps"][0]["text"].is_string(), "{of_user}");
    assert_eq!(of_robot["is_never_allowed"], true, "{of_robot}");
    let out = explain(&[]);
    assert!(out.contains("\n== subjects: User \"archive\" Doc ==\n"), "{out}");
    assert!(out.contains("    rules that read this: line 11\n"), "{out}");
    assert!(out.contains("  actions: User Doc\n") && !out.contains("== actions: User Doc"), "{out}");
}

/// Where another actor gets another plan, both are shown.
#[test]
fn the_plan_of_another_actor_follows_if_it_differs() {
    let folder = tempfile::tempdir().unwrap();
    let schema = "
        CREATE TABLE docs (id integer PRIMARY KEY, owner_id integer NOT NULL, folder_id integer NOT NULL);
        INSERT INTO docs SELECT n, CASE WHEN n < 19000 THEN 1 ELSE n END, 1 FROM generate_series(1, 20000) n;
        CREATE INDEX ON docs (owner_id); ANALYZE;";
    let database = postgresql("explained_twice", schema);
    let facts = FACTS.split("  has_role").next().unwrap();
    let all = explained(folder.path(), &[facts, TYPES, TABLES].concat(), &database, &[]);
    let lists: Vec<&Json> = all["statements"].as_array().unwrap().iter().collect();
    let lists = lists.into_iter().filter(|each| each["question"] == "list" && each["action"] == "share");
    let of_users: Vec<_> = lists.filter(|list| list["actor_type"] == "User").collect();
    let ids: Vec<&Json> = of_users.iter().map(|list| &list["actor_id"]).collect();
    assert_eq!(ids, ["1", "20000"]);
    let [(what, help)] = slow(of_users[0]).try_into().unwrap();
    assert!(
        what.ends_with("PostgreSQL expects this to cost less than look-ups by the index on `owner_id`"),
        "{what}"
    );
    assert_eq!((help.as_str(), slow(of_users[1])), ("-", Vec::new()));
}

/// Nothing is run unless it is asked for, and what the database refuses does not stop the others.
#[test]
fn only_measuring_runs_a_statement() {
    let folder = tempfile::tempdir().unwrap();
    let fails = "CREATE FUNCTION fails(integer) RETURNS boolean LANGUAGE plpgsql STABLE
                   AS $$ BEGIN RAISE EXCEPTION 'it was run'; END $$;";
    let database = postgresql("explained_run", &[SCHEMA, fails].concat());
    let facts =
        FACTS.replace("SELECT id, owner_id FROM docs", "SELECT id, owner_id FROM docs WHERE fails(id)");
    let bindings = [&facts, TYPES, TABLES].concat();
    let all = explained(folder.path(), &bindings, &database, &[]);
    assert!(statement(&all, "list", "User", "share")["error"].is_null(), "{all}");
    let all = explained(folder.path(), &bindings, &database, &["--analyze"]);
    let failed = statement(&all, "list", "User", "share");
    assert_eq!((&failed["error"], &failed["plan"]), (&Json::from("it was run"), &Json::Null), "{failed}");
    assert_eq!(failed["code"], "database_error");
    let read = statement(&all, "list", "User", "read");
    assert!(read["plan"]["milliseconds"].as_f64().unwrap() > 0.0, "{read}");
    assert!(read["plan"]["steps"][0]["measured"]["runs"].as_f64().unwrap() >= 1.0, "{read}");
}

#[test]
fn a_statement_that_does_not_end_is_slow_and_has_a_plan() {
    let folder = tempfile::tempdir().unwrap();
    let sleeps = "CREATE FUNCTION sleeps(integer) RETURNS boolean LANGUAGE plpgsql STABLE
                    AS $$ BEGIN PERFORM pg_sleep(20); RETURN TRUE; END $$;";
    let database = postgresql("explained_stopped", &[SCHEMA, sleeps].concat());
    let facts =
        FACTS.replace("SELECT id, owner_id FROM docs", "SELECT id, owner_id FROM docs WHERE sleeps(id)");
    let bindings = [&facts, TYPES, TABLES].concat();
    let all = explained(folder.path(), &bindings, &database, &["--analyze"]);
    let stopped = statement(&all, "list", "User", "share");
    let (what, _) = &slow(stopped)[0];
    assert_eq!(what, "did not end within 10 seconds");
    assert!(stopped["error"].is_null() && stopped["plan"]["steps"][0]["text"].is_string(), "{stopped}");
}

#[test]
fn a_refused_question_is_printed_as_its_error() {
    let folder = tempfile::tempdir().unwrap();
    let database = postgresql("explained_refused", SCHEMA);
    let (bindings, _) = FACTS.split_once("  has_role").unwrap();
    let mut facts = String::new();
    for number in 0..=10_000 {
        writeln!(facts, "has_role(User:0, \"viewer\", Folder:{number})").unwrap();
    }
    fs::write(folder.path().join("facts.txt"), facts).unwrap();
    let bindings = [bindings, TYPES, TABLES].concat();
    let all = explained(folder.path(), &bindings, &database, &["--facts", "facts.txt"]);
    let refused = statement(&all, "list", "User", "read");
    assert!(refused["error"].as_str().unwrap().contains("10000"), "{refused}");
    assert_eq!(refused["code"], "too_many_values");
    assert!(statement(&all, "list", "User", "share")["plan"].is_object(), "{all}");
}

#[test]
fn sqlite_is_explained_too() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("policy.polar"), POLICY).unwrap();
    let database = sqlite(
        folder.path(),
        "CREATE TABLE docs (id INTEGER PRIMARY KEY, owner_id INTEGER, folder_id INTEGER NOT NULL);
         CREATE TABLE folder_roles (user_id INTEGER NOT NULL, role TEXT NOT NULL, folder_id INTEGER NOT NULL);
         INSERT INTO docs VALUES (4, 2, 1);",
    );
    let bindings = format!("dialect: sqlite\n{FACTS}{TYPES}{TABLES}");
    let all = explained(folder.path(), &bindings, &database, &[]);
    let found = slow(statement(&all, "list", "User", "share"));
    assert_eq!(found, [("reads all rows of `docs`".to_owned(), "-".to_owned())]);
    let found = slow(statement(&all, "check", "User", "read"));
    assert_eq!(found, [("reads all rows of `folder_roles`".to_owned(), "-".to_owned())]);
    let args = ["--policy", "policy.polar", "--explain", "--analyze"];
    let (code, _, err) = check(folder.path(), &bindings, &database, &args);
    assert_eq!((code, err.contains("leave out --analyze")), (1, true), "{err}");
    let (code, _, err) = check(folder.path(), &bindings, &database, &["--explain"]);
    assert_eq!((code, err.contains("--policy")), (2, true), "{err}");
}
