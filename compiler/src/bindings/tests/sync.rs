//! Sync configurations of Oso Cloud, posted as data bindings.

use super::*;
use insta::assert_snapshot;

const SYNC: &str = "version: 1
source: postgres
facts:
  has_role(User:_, String:_, Organization:_):
    db: app
    query: |-
      select user_id, role, org_id
      from memberships
  has_relation(Repository:_, String:parent, Organization:_):
    db: app
    query: select id, org_id from repositories
dbs:
  app:
    connection_string: postgresql://app@db:5432/app
    ssl:
      ssl_mode: require
";

#[test]
fn one_with_sql_is_read_and_says_what_is_ignored() {
    let bindings = good(SYNC);
    assert_eq!(bindings.facts.len(), 2);
    assert_snapshot!(bindings.sync_note().unwrap(), @"this is a sync configuration: its queries are read as data bindings of one postgresql database, and these keys are ignored: `version` (line 1), `source` (line 2), `db` of 2 facts (from line 5), `dbs` (line 12)");
    let small = good("facts:\n  p(A:_):\n    db: main\n    query: SELECT a FROM t\n");
    assert_snapshot!(small.sync_note().unwrap(), @"this is a sync configuration: its queries are read as data bindings of one postgresql database, and these keys are ignored: `db` of a fact (line 3)");
    let other = good("dialect: sqlite\ndb: main\nfacts:\n  p(A:_):\n    query: SELECT a FROM t\n");
    assert_snapshot!(other.sync_note().unwrap(), @"this is a sync configuration: its queries are read as data bindings of one sqlite database, and these keys are ignored: `db` (line 2)");
}

#[test]
fn other_documents_are_none() {
    for text in [
        "",
        "facts:\n  p(A:_):\n    query: SELECT a FROM t\n",
        "version: 1\nfacts:\n  p(A:_):\n    query: SELECT a FROM t\n    owner: somebody\n",
        "source: app.yaml\nfacts:\n",
    ] {
        assert_eq!(good(text).sync_note(), None, "{text}");
    }
}

#[test]
fn a_source_without_our_sql_is_refused() {
    for source in ["mysql", "MongoDB", "csv"] {
        let text = SYNC.replace("postgres\n", &format!("{source}\n"));
        let said = wrong(&text).join("\n");
        assert!(said.starts_with("data bindings, line 2: this is a sync configuration"), "{said}");
        assert!(said.contains(&source.to_lowercase()) && said.contains("`postgresql`"), "{said}");
    }
    for database in ["{kind: MongoDB, uri: x}", "{name: a, source: mysql}"] {
        let said =
            wrong(&format!("dbs:\n  main: {database}\nfacts:\n  p(A:_):\n    query: '{{}}'\n")).join("\n");
        assert!(said.starts_with("data bindings, line 2: this is a sync configuration"), "{said}");
    }
    for text in [
        "source:\n  kind: mysql\nfacts:\n  p(A:_):\n    query: SELECT 1\n",
        "dialect: mysql\nsource: mysql\nfacts:\n  p(A:_):\n    query: SELECT 1\n",
        "dbs:\n  main: {connection_string: 'mongodb+srv://u:secret@h/db'}\nfacts:\n  p(A:_):\n    query: SELECT 1\n",
        "facts:\n  p(A:_):\n    query: SELECT 1\n    kind: MongoDB\n",
    ] {
        let said = wrong(text).join("\n");
        assert!(said.contains("this is a sync configuration") && !said.contains("secret"), "{said}");
    }
    assert_snapshot!(wrong("source: mysql\nfacts:\n").join("\n"), @"data bindings, line 1: this is a sync configuration, `source: mysql` (unknown dialect `mysql`: write `postgresql` or `sqlite`): bind queries of the database that runs the SQL and remove `source`, or import the facts");
}

#[test]
fn a_fact_of_something_else_than_sql_is_refused() {
    assert_snapshot!(wrong("facts:
  has_role(User:_, String:_, Organization:_):
    db: app
    collection: memberships
    fields: [{name: user}, {name: role}, {name: org}]
    query: {find: {active: true}}
  is_public(Repository:_):
    file: public.csv
  is_open(Repository:_):
    query:
      aggregate: []
  is_old(Repository:_):
    db: app
").join("\n"), @"
    data bindings, line 4: `has_role(User:_, String:_, Organization:_)` has `collection`, as in a sync configuration, and no SQL: write `query: SELECT …` for the database that runs the SQL, or import the facts
    data bindings, line 8: `is_public(Repository:_)` has `file`, as in a sync configuration, and no SQL: write `query: SELECT …` for the database that runs the SQL, or import the facts
    data bindings, line 10: `is_open(Repository:_)` has a `query` that is not a text, as in a sync configuration, and no SQL: write `query: SELECT …` for the database that runs the SQL, or import the facts
    data bindings, line 12: `is_old(Repository:_)` has no `query`: write `query: SELECT …` below it
    ");
}
