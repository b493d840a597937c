//! What `docs/local-checks/assumptions.md` assumes of the caller's database, where nothing else tests it.

use super::service::{Service, column, decision};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::local::ways::Way;

const POLICY: &str = r#"
actor User {}
resource Doc {
  permissions = ["read", "open", "shut"];
  roles = ["reader", "banned"];
  "read" if "reader" and not "banned";
}
has_permission(_: User, "open", doc: Doc) if flag(doc, true);
has_permission(_: User, "shut", doc: Doc) if flag(doc, false);
"#;

const READERS: &str = "
facts:
  has_role(User:_, reader, Doc:_):
    query: SELECT who, doc FROM readers
";

/// A database with this table of readers.
fn caller(dialect: Dialect, columns: &str, rows: &str) -> Caller {
    let caller = Caller::new(dialect).unwrap();
    caller.script(&format!("CREATE TEMPORARY TABLE readers ({columns})")).unwrap();
    caller.script(&format!("INSERT INTO readers VALUES {rows}")).unwrap();
    caller
}

/// Whether the check is answered yes.
fn holds(service: &Service, caller: &Caller, question: &str) -> Result<bool, String> {
    let sql = service.sql_for(caller.dialect(), question, Way::Authorize, "");
    decision(caller, &sql)
}

/// `é` is one character or two, and the sign for Ångström differs from the letter Å.
#[test]
fn two_unicode_forms_of_a_letter_are_two_ids() {
    let forms = ["\u{e9}", "e\u{301}", "\u{c5}", "\u{212b}", "A\u{30a}"];
    for dialect in DIALECTS {
        for told in ["", "sql_types:\n  Doc: text\n  User: text\n"] {
            let service = Service::new(POLICY, "", &format!("{READERS}{told}"));
            for held in forms {
                let caller = caller(dialect, "who TEXT, doc TEXT", &format!("('ada', '{held}')"));
                for asked in forms {
                    let question = format!("allow(User:ada, \"read\", Doc:\"{asked}\")");
                    let found = holds(&service, &caller, &question).unwrap();
                    assert_eq!(found, held == asked, "{dialect} {told} {held:?} {asked:?}");
                }
            }
        }
    }
}

/// PostgreSQL takes `20240101` for a date, and a number takes the column's type without `sql_types`.
#[test]
fn a_number_that_a_date_equals_is_another_id() {
    for told in ["", "sql_types:\n  Doc: date\n"] {
        let service = Service::new(POLICY, "", &format!("{READERS}{told}"));
        let caller = caller(Dialect::Postgresql, "who TEXT, doc DATE", "('ada', '2024-01-01')");
        for (id, answer) in [("2024-01-01", true), ("20240101", false), ("2024-1-1", false)] {
            let question = format!("allow(User:ada, \"read\", Doc:{id:?})");
            assert_eq!(holds(&service, &caller, &question), Ok(answer), "{told} {id}");
        }
    }
}

/// SQLite has no truth values: `TRUE` is 1, and 2 is neither.
#[test]
fn one_and_zero_are_truth_values_of_sqlite() {
    let document = "\nfacts:\n  flag(Doc:_, Boolean:_):\n    query: SELECT who, flag FROM readers\n";
    let service = Service::new(POLICY, "", document);
    let rows = "('a', 1), ('b', 0), ('c', 2), ('d', 'true'), ('e', 'false'), ('f', 'TRUE'), ('g', TRUE)";
    for ty in ["", "BOOLEAN", "INTEGER", "BLOB"] {
        let caller = caller(Dialect::Sqlite, &format!("who TEXT, flag {ty}"), rows);
        for (permission, answer) in [("open", "a d g"), ("shut", "b e")] {
            let question = format!("allow(User:ada, {permission:?}, Doc:?)");
            let filter = service.sql_for(Dialect::Sqlite, &question, Way::List, "who");
            let sql = format!("SELECT who FROM readers WHERE {filter} ORDER BY who");
            assert_eq!(column(&caller, &sql), answer, "{ty} {permission}\n{sql}");
        }
    }
}

/// What the role may not read is an error, and what a row-level policy hides is not a fact.
#[test]
fn rows_that_are_hidden_are_no_facts() {
    let service = Service::new(POLICY, "", READERS);
    let caller = caller(Dialect::Postgresql, "who TEXT, doc TEXT", "('ada', 'shown'), ('ada', 'hidden')");
    caller.script("CREATE ROLE assumed_reader; SET ROLE assumed_reader").unwrap();
    let shown = r#"allow(User:ada, "read", Doc:shown)"#;
    let error = holds(&service, &caller, shown).unwrap_err();
    assert!(error.contains("permission denied for table readers"), "{error}");
    caller
        .script(
            "RESET ROLE; GRANT SELECT ON readers TO assumed_reader; ALTER TABLE readers ENABLE ROW LEVEL SECURITY;
             CREATE POLICY shown ON readers USING (doc <> 'hidden'); SET ROLE assumed_reader",
        )
        .unwrap();
    let found =
        [shown, r#"allow(User:ada, "read", Doc:hidden)"#].map(|asked| holds(&service, &caller, asked));
    caller.script("RESET ROLE; DROP OWNED BY assumed_reader; DROP ROLE assumed_reader").unwrap();
    assert_eq!(found, [Ok(true), Ok(false)]);
}

/// A backslash is a character like any other, in an id and in a bound query, regardless of the session's
/// settings.
#[test]
fn a_backslash_means_the_same_in_every_session() {
    let document = READERS.replace("FROM readers", r"FROM readers WHERE doc <> 'a\b'");
    let service = Service::new(POLICY, r#"has_role(User:ada, "banned", Doc:"c\\d")"#, &document);
    let rows = r"('ada', E'a\\b'), ('ada', E'c\\d'), ('ada', E'e\\f')";
    let caller = caller(Dialect::Postgresql, "who TEXT, doc TEXT", rows);
    for setting in ["on", "off"] {
        caller
            .script(&format!("SET standard_conforming_strings = {setting}; SET escape_string_warning = off"))
            .unwrap();
        for (id, answer) in [(r"a\\b", false), (r"c\\d", false), (r"e\\f", true), (r"e\\\\f", false)] {
            let question = format!("allow(User:ada, \"read\", Doc:\"{id}\")");
            assert_eq!(holds(&service, &caller, &question), Ok(answer), "{setting} {id}");
        }
        let filter = service.filter(r#"allow(User:ada, "read", Doc:?)"#, "doc");
        assert_eq!(column(&caller, &format!("SELECT doc FROM readers WHERE {filter}")), r"e\f", "{filter}");
    }
}

/// A check compares with the value of a row that its promised key finds. A folder without an organization, or
/// a document without a folder, denies nothing; two folders with one id are an error.
#[test]
fn a_promised_key_finds_one_row_or_the_statement_fails() {
    let policy = r#"
actor User {}
resource Org { roles = ["banned"]; }
resource Folder { relations = { org: Org }; }
resource Doc { relations = { folder: Folder }; }
banned(user: User, doc: Doc) if
  has_relation(doc, "folder", folder) and has_relation(folder, "org", org) and has_role(user, "banned", org);
allow(user: User, "read", doc: Doc) if not banned(user, doc);
allow(user: User, "appeal", doc: Doc) if banned(user, doc);
"#;
    let document = "
facts:
  has_relation(Doc:_, folder, Folder:_):
    query: SELECT id, folder_id FROM docs
  has_relation(Folder:_, org, Org:_):
    query: SELECT id, org_id FROM folders
  has_role(User:_, String:_, Org:_):
    query: SELECT who, role, org_id FROM roles
sql_types: { Doc: integer, Folder: integer, Org: integer }
";
    let promised = format!("{document}tables: {{ Doc: docs.id, Folder: folders.id }}\n");
    let caller = Caller::new(Dialect::Postgresql).unwrap();
    caller
        .script(
            "CREATE TEMPORARY TABLE docs (id INTEGER, folder_id INTEGER);
             INSERT INTO docs VALUES (1, 10), (2, 20), (3, NULL), (4, 30), (5, 40);
             CREATE TEMPORARY TABLE folders (id INTEGER, org_id INTEGER);
             INSERT INTO folders VALUES (10, 100), (20, NULL), (40, 100), (40, 200);
             CREATE TEMPORARY TABLE roles (who TEXT, role TEXT, org_id INTEGER);
             INSERT INTO roles VALUES ('ada', 'banned', 100)",
        )
        .unwrap();
    for document in [document, &promised] {
        let service = Service::new(policy, "", document);
        for (doc, is_banned) in [(1, true), (2, false), (3, false), (4, false), (6, false)] {
            for (action, answer) in [("read", !is_banned), ("appeal", is_banned)] {
                let question = format!("allow(User:ada, {action:?}, Doc:{doc})");
                assert_eq!(holds(&service, &caller, &question), Ok(answer), "{question}\n{document}");
            }
        }
        let twice = holds(&service, &caller, "allow(User:ada, \"read\", Doc:5)");
        if document == promised {
            let error = twice.unwrap_err();
            assert!(error.contains("more than one row returned by a subquery"), "{error}");
        } else {
            assert_eq!(twice, Ok(false));
        }
    }
}

/// The value of a row that is not there is NULL, and a filter is not.
#[test]
fn a_filter_about_a_row_that_is_not_there_is_false() {
    let policy = r#"
actor User {}
resource Org {}
resource Folder { relations = { org: Org }; }
resource Doc { relations = { org: Org }; }
same(org: Org) if has_relation(Folder{"5"}, "org", org);
allow(_: User, "find", doc: Doc) if has_relation(doc, "org", org) and same(org);
allow(_: User, "hide", doc: Doc) if has_relation(doc, "org", org) and not same(org);
"#;
    let document = "
facts:
  has_relation(Folder:_, org, Org:_):
    query: SELECT id, org_id FROM folders
  has_relation(Doc:_, org, Org:_):
    query: SELECT id, org_id FROM docs
sql_types: { Doc: integer, Folder: integer, Org: integer }
tables: { Doc: docs.id, Folder: folders.id }
";
    let service = Service::new(policy, "", document);
    let caller = Caller::new(Dialect::Postgresql).unwrap();
    caller
        .script(
            "CREATE TEMPORARY TABLE docs (id INTEGER, org_id INTEGER);
             INSERT INTO docs VALUES (1, 100), (2, 200), (3, NULL);
             CREATE TEMPORARY TABLE folders (id INTEGER, org_id INTEGER)",
        )
        .unwrap();
    for (folders, found) in [
        ("DELETE FROM folders", ""),
        ("INSERT INTO folders VALUES (5, NULL)", ""),
        ("UPDATE folders SET org_id = 100", "1"),
    ] {
        caller.script(folders).unwrap();
        let others = if found.is_empty() { ["1 2 3", "1 2", "3"] } else { ["2 3", "2", "1 3"] };
        for (action, answers) in [("find", [found, others[0]]), ("hide", [others[1], others[2]])] {
            let filter = service.filter(&format!("allow(User:ada, {action:?}, Doc:?)"), "docs.id");
            let passing = |condition: &str| {
                column(&caller, &format!("SELECT id FROM docs WHERE {condition} ORDER BY id"))
            };
            let [passed, kept] = answers;
            assert_eq!(passing(&filter), passed, "{folders}\n{filter}");
            assert_eq!(passing(&format!("NOT {filter}")), kept, "{folders}\n{filter}");
        }
    }
}

/// A statement has the stored facts and the time of the moment it was generated.
#[test]
fn a_statement_keeps_the_facts_that_it_was_generated_with() {
    let service = Service::new(POLICY, "", READERS);
    let caller = caller(Dialect::Postgresql, "who TEXT, doc TEXT", "('ada', 'a')");
    let question = r#"allow(User:ada, "read", Doc:a)"#;
    let old = service.sql(question, Way::Authorize, "");
    assert_eq!(column(&caller, &old), "true");
    service.store(&super::service::facts(r#"has_role(User:ada, "banned", Doc:a)"#));
    assert_eq!(column(&caller, &old), "true", "a statement changed after it was generated");
    assert_eq!(holds(&service, &caller, question), Ok(false));
}
