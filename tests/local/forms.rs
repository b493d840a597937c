//! The four answers: their rows, the names of their columns, and the types.

use super::service::{Service, caller, column, postgres, returned, rows, shape};
use portcullis::engine::{EvaluateQuery, LocalMode, LocalQuestion};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::ways::{self, Way};
use portcullis_testkit::notation;

const CHECK: &str = "allow(User:ada, \"read\", Repository:1)";

/// The columns' names and types on PostgreSQL.
fn columns(sql: &str) -> Vec<(String, String)> {
    returned(&postgres(), sql).columns
}

fn named(name: &str, ty: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), ty.to_owned())]
}

#[test]
fn a_check_is_one_row_with_one_truth_value() {
    let service = Service::usual();
    let sql = service.sql(CHECK, Way::Authorize, "");
    assert_eq!(columns(&sql), named("allowed", "bool"));
    for (question, answer) in [
        (CHECK, "true"),
        ("allow(User:ada, \"read\", Repository:2)", "false"),
        ("allow(User:bob, \"read\", Repository:3)", "true"),
        ("allow(User:ada, \"write\", Repository:4)", "true"),
        ("allow(User:ada, \"watch\", Repository:6)", "true"),
        ("allow(User:nobody, \"read\", Repository:5)", "true"),
        ("allow(User:nobody, \"read\", Repository:1)", "false"),
    ] {
        let sql = service.sql(question, Way::Authorize, "");
        assert_eq!(rows(&postgres(), &sql), [[answer]], "{question}\n{sql}");
    }
    shape("authorize", &sql);
}

#[test]
fn a_check_has_the_same_answer_on_sqlite() {
    let service = Service::usual();
    let sqlite = caller(Dialect::Sqlite);
    for (question, answer) in [(CHECK, "1"), ("allow(User:ada, \"read\", Repository:2)", "0")] {
        let sql = service.sql_for(Dialect::Sqlite, question, Way::Authorize, "");
        let found = returned(&sqlite, &sql);
        assert_eq!(found.columns, named("allowed", "integer"), "{sql}");
        assert_eq!(found.rows, [[Some(answer.to_owned())]], "{sql}");
    }
    shape("authorize-sqlite", &service.sql_for(Dialect::Sqlite, CHECK, Way::Authorize, ""));
}

#[test]
fn a_universal_grant_holds_of_an_id_that_the_database_lacks() {
    let service = Service::usual();
    for id in ["1", "999", "not-a-number"] {
        let question = format!("allow(User:root, \"delete\", Repository:{id})");
        assert_eq!(column(&postgres(), &service.sql(&question, Way::Authorize, "")), "true", "{id}");
    }
}

#[test]
fn an_unknown_action_is_denied() {
    let service = Service::usual();
    let question = "allow(User:root, \"no such action\", Repository:1)";
    assert_eq!(column(&postgres(), &service.sql(question, Way::Authorize, "")), "false");
    assert_eq!(column(&postgres(), &service.sql(CHECK, Way::Authorize, "")), "true");
}

#[test]
fn what_stored_facts_decide_alone_reads_no_table() {
    let service = Service::usual();
    let nothing = portcullis_testkit::local::caller::Caller::new(Dialect::Postgresql).unwrap();
    for (question, answer) in [
        ("allow(User:root, \"delete\", Repository:1)", "true"),
        ("allow(User:ada, \"delete\", Repository:1)", "false"),
        ("allow(User:ada, \"see\", Organization:1)", "true"),
        ("allow(User:ada, \"see\", Organization:2)", "false"),
    ] {
        let sql = service.sql(question, Way::Authorize, "");
        assert_eq!(column(&nothing, &sql), answer, "{question}\n{sql}");
    }
}

#[test]
fn actions_are_sorted_text_in_a_column_of_that_name() {
    let service = Service::usual();
    let sql = service.sql("allow(User:ada, String:?, Repository:4)", Way::Actions, "");
    assert_eq!(columns(&sql), named("actions", "text"));
    assert_eq!(column(&postgres(), &sql), "read write");
    let array = format!("SELECT array_to_string(array_agg(actions), ' ') FROM ({sql}) AS actions");
    assert_eq!(column(&postgres(), &array), "read write");
    let none = service.sql("allow(User:nobody, String:?, Repository:4)", Way::Actions, "");
    assert_eq!(columns(&none), named("actions", "text"));
    assert_eq!(column(&postgres(), &none), "");
    shape("actions", &sql);
}

#[test]
fn rows_are_distinct_text_in_columns_of_the_callers_names() {
    let service = Service::usual();
    let question = notation::question("allow(User:ada, \"watch\", Repository:?repo)").unwrap();
    let LocalQuestion::Evaluate { query, .. } = ways::local(&question, Way::Select, "") else {
        panic!("no conjunction")
    };
    for name in ["repo", "Repo Id", "select", "a\"b", "größe", "id"] {
        let mode = LocalMode::Select(vec![("repo".to_owned(), name.to_owned())]);
        let asked = LocalQuestion::Evaluate { query: query.clone(), mode };
        for dialect in DIALECTS {
            let sql = service.ask(dialect, asked.clone(), &[]).unwrap();
            let found = returned(&caller(dialect), &sql);
            assert_eq!(found.columns, named(name, "text"), "{sql}");
            let mut ids: Vec<_> = found.rows.concat().into_iter().flatten().collect();
            ids.sort();
            assert_eq!(ids, ["1", "6"], "{sql}");
        }
    }
    let mode = LocalMode::Select(vec![("repo".to_owned(), "repository_id".to_owned())]);
    shape("select", &service.ask(Dialect::Postgresql, LocalQuestion::Evaluate { query, mode }, &[]).unwrap());
}

#[test]
fn several_variables_are_several_columns() {
    let service = Service::usual();
    let question = "allow(User:?, \"close\", Issue:?)";
    let sql = service.sql(question, Way::Select, "");
    let found = returned(&postgres(), &sql);
    let names: Vec<&str> = found.columns.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["v0_id", "select"]);
    assert!(found.columns.iter().all(|(_, ty)| ty == "text"));
    let mut pairs = rows(&postgres(), &sql);
    pairs.sort();
    let issue = |n: usize| format!("00000000-0000-4000-8000-00000000000{n}");
    let expected = [("ada", 1), ("ada", 2), ("bob", 3)].map(|(who, n)| vec![who.to_owned(), issue(n)]);
    assert_eq!(pairs, expected);
}

#[test]
fn without_variables_one_row_says_whether_it_holds() {
    let service = Service::usual();
    for (question, answer) in [(CHECK, "true"), ("allow(User:ada, \"read\", Repository:2)", "false")] {
        let sql = service.sql(question, Way::Select, "");
        assert_eq!(columns(&sql), named("result", "bool"));
        assert_eq!(rows(&postgres(), &sql), [[answer]], "{sql}");
    }
    // Any repository.
    let some = notation::question("allow(User:ada, \"watch\", Repository:_r)").unwrap();
    let LocalQuestion::Evaluate { query, .. } = ways::local(&some, Way::Select, "") else {
        panic!("no conjunction")
    };
    let asked = LocalQuestion::Evaluate { query, mode: LocalMode::Select(Vec::new()) };
    let sql = service.ask(Dialect::Postgresql, asked, &[]).unwrap();
    assert_eq!(rows(&postgres(), &sql), [["true"]]);
    shape("select-nothing", &sql);
}

#[test]
fn a_variable_without_local_table_enumerates_what_is_stored() {
    let service = Service::usual();
    let sql = service.sql("has_role(User:ada, \"member\", Organization:?)", Way::Select, "");
    assert_eq!(column(&postgres(), &sql), "1");
    let sql = service.sql("has_role(User:?, \"reader\", Repository:3)", Way::Select, "");
    assert_eq!(column(&postgres(), &sql), "bob");
}

#[test]
fn an_unconstrained_variable_is_null() {
    let service = Service::usual();
    let sql = service.sql("allow(User:root, \"delete\", Repository:?)", Way::Select, "");
    assert_eq!(columns(&sql)[0].1, "text");
    assert_eq!(rows(&postgres(), &sql), [["-"]], "{sql}");
}

#[test]
fn context_facts_take_part() {
    let service = Service::usual();
    let context = super::service::facts("has_role(User:zoe, \"member\", Organization:1)");
    let question = notation::question("allow(User:zoe, \"read\", Repository:1)").unwrap();
    let asked = ways::local(&question, Way::Authorize, "");
    let with = service.ask(Dialect::Postgresql, asked.clone(), &context).unwrap();
    let without = service.ask(Dialect::Postgresql, asked, &[]).unwrap();
    assert_eq!(column(&postgres(), &with), "true");
    assert_eq!(column(&postgres(), &without), "false");
}

#[test]
fn an_unknown_variable_is_refused() {
    let service = Service::usual();
    let query = EvaluateQuery::default();
    for mode in [
        LocalMode::Select(vec![("nobody".to_owned(), "id".to_owned())]),
        LocalMode::Filter { var: "nobody".to_owned(), column: "id".to_owned() },
    ] {
        let asked = LocalQuestion::Evaluate { query: query.clone(), mode };
        let message = service.ask(Dialect::Postgresql, asked, &[]).unwrap_err();
        assert!(message.contains("nobody"), "{message}");
    }
}
