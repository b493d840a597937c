//! What the text of no statement may hold.

use super::service::{DOCUMENT, FACTS, POLICY, Service};
use portcullis_compiler::Dialect;
use portcullis_compiler::question::QuestionVarId;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::ways::Way;

/// Questions of every form.
pub(super) const QUESTIONS: [(&str, Way); 16] = [
    ("allow(User:ada, \"read\", Repository:1)", Way::Authorize),
    ("allow(User:bob, \"read\", Repository:3)", Way::Authorize),
    ("allow(User:root, \"delete\", Repository:3)", Way::Authorize),
    ("allow(User:ada, \"read\", Repository:?)", Way::List),
    ("allow(User:bob, \"read\", Repository:?)", Way::List),
    ("allow(User:ada, \"write\", Repository:?)", Way::List),
    ("allow(User:root, \"delete\", Repository:?)", Way::List),
    ("allow(User:nobody, \"delete\", Repository:?)", Way::List),
    ("allow(User:bob, \"read\", Issue:?)", Way::List),
    ("allow(User:ada, \"close\", Issue:?)", Way::List),
    ("allow(User:bob, String:?, Repository:3)", Way::Actions),
    ("allow(User:nobody, String:?, Repository:3)", Way::Actions),
    ("allow(User:?, \"read\", Repository:3)", Way::Select),
    ("allow(User:?, \"read\", Repository:3)", Way::Filter(QuestionVarId(0))),
    ("has_role(User:bob, \"reader\", Folder:?)", Way::Select),
    ("allow(User:ada, \"read\", Repository:1)", Way::Select),
];

/// The text without what is in quotes; a quote that is not closed stays at the end.
pub(super) fn outside_quotes(sql: &str) -> String {
    let mut out = String::new();
    let mut quote = None;
    for c in sql.chars() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (None, c) => out.push(c),
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
        }
    }
    out.extend(quote);
    out
}

/// Says what a text has that a driver or an ORM would take for more.
pub(super) fn faults(sql: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let bare = outside_quotes(sql);
    for part in ["?", "$", "--", "/*", ";", "\\", "%s", "@", "{"] {
        if bare.contains(part) {
            faults.push(format!("`{part}` outside of quotes"));
        }
    }
    for part in ["?", "$", ":", "%s"] {
        let all = sql.replace("::", "");
        if all.contains(part) && !bare.contains(part) {
            faults.push(format!("`{part}` in quotes"));
        }
    }
    let colons = bare.replace("::", "");
    if colons.contains(':') {
        faults.push("a single colon".into());
    }
    if bare.contains(['\'', '"']) {
        faults.push("a quote that does not end".into());
    }
    let mut depth = 0_i32;
    for c in bare.chars() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth < 0 {
            faults.push("a parenthesis that is closed before it is opened".into());
            break;
        }
    }
    if depth > 0 {
        faults.push("a parenthesis that is not closed".into());
    }
    if sql.trim() != sql || sql.contains('\0') {
        faults.push("white space around it, or a NUL".into());
    }
    faults
}

/// The literals of a bound query are the caller's, and the statement is printed by the compiler: running it
/// must not depend on what is in them.
#[test]
fn the_texts_of_a_bound_query_are_spelled_as_ours() {
    let document = DOCUMENT
        .replace(
            "SELECT id FROM repositories WHERE public = 1",
            "SELECT id FROM repositories WHERE public = 1 AND COALESCE(note, 'a:b 5%') = 'a:b 5%' -- 100% :x",
        )
        .replace(
            "SELECT who, repository_id FROM watchers",
            "SELECT who, repository_id FROM watchers WHERE who LIKE '%d%' OR who || ':x' IN ('$1', '?:x', '{')",
        );
    let (usual, service) = (Service::usual(), Service::new(POLICY, FACTS, &document));
    for dialect in DIALECTS {
        let caller = super::service::caller(dialect);
        for (question, way) in QUESTIONS.into_iter().chain([
            ("allow(User:ada, \"watch\", Repository:?)", Way::List),
            ("allow(User:?, \"watch\", Repository:1)", Way::Select),
        ]) {
            let sql = service.sql_for(dialect, question, way, "id");
            assert_eq!(faults(&sql), Vec::<String>::new(), "{question}\n{sql}");
            assert!(!sql.contains('%') && !sql.replace("::", "").contains(':'), "{question}\n{sql}");
            if matches!(way, Way::List) && question.contains("Repository:?") {
                let rows = |filter: &str| {
                    let sql =
                        format!("SELECT id FROM repositories WHERE {filter} AND id IS NOT NULL ORDER BY id");
                    super::service::column(&caller, &sql)
                };
                assert_eq!(rows(&sql), rows(&usual.sql_for(dialect, question, way, "id")), "{sql}");
            }
        }
    }
}

/// Whether a filter is one operand: in parentheses from end to end, or a constant.
fn is_one_operand(filter: &str) -> bool {
    if matches!(filter, "true" | "false") {
        return true;
    }
    let bare = outside_quotes(filter);
    let mut depth = 0_i32;
    let closes: Vec<usize> = bare
        .char_indices()
        .filter_map(|(at, c)| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            (c == ')' && depth == 0).then_some(at)
        })
        .collect();
    bare.starts_with('(') && closes == [bare.len() - 1]
}

#[test]
fn no_text_has_parameters_comments_or_an_end() {
    let service = Service::usual();
    for dialect in DIALECTS {
        for (question, way) in QUESTIONS {
            let sql = service.sql_for(dialect, question, way, "t.id");
            assert_eq!(faults(&sql), Vec::<String>::new(), "{question}\n{sql}");
            if matches!(way, Way::List | Way::Filter(_)) {
                assert!(is_one_operand(&sql), "{sql}");
            }
        }
    }
}

#[test]
fn the_same_question_has_the_same_text() {
    let texts = || -> Vec<String> {
        let service = Service::usual();
        let sql = |(question, way)| service.sql(question, way, "t.id");
        QUESTIONS.into_iter().map(sql).collect()
    };
    let first = texts();
    assert_eq!(first, texts());
    // Facts stored in a different order, and some of them twice.
    let lines: Vec<&str> = FACTS.lines().rev().chain(FACTS.lines()).collect();
    let service = Service::new(POLICY, &lines.join("\n"), DOCUMENT);
    let again: Vec<String> =
        QUESTIONS.into_iter().map(|(question, way)| service.sql(question, way, "t.id")).collect();
    assert_eq!(first, again);
}

#[test]
fn a_filter_that_depends_on_no_row_is_a_constant() {
    let service = Service::usual();
    assert_eq!(service.filter("allow(User:nobody, \"delete\", Repository:?)", "id"), "false");
    assert_eq!(service.filter("allow(User:root, \"no such action\", Repository:?)", "id"), "false");
    assert_eq!(service.filter("allow(User:root, \"read\", Planet:?)", "id"), "false");
    assert_eq!(service.filter("allow(User:root, \"delete\", Repository:?)", "r.id"), "true");
}

#[test]
fn what_the_store_knows_of_others_is_not_in_the_text() {
    let service = Service::usual();
    for (question, way) in QUESTIONS.into_iter().filter(|(question, _)| question.contains("User:ada")) {
        let sql = service.sql(question, way, "t.id");
        for secret in ["'bob'", "'cyd'", "404", "'root'", "'top'"] {
            assert!(!sql.contains(secret), "{question} reveals {secret}\n{sql}");
        }
    }
    // What a role reaches is looked up in the tables, not in those of another organization.
    let sql = service.filter("allow(User:ada, \"read\", Repository:?)", "id");
    assert!(sql.contains('4') && !sql.contains('2'), "{sql}");
}

#[test]
fn sqlite_and_postgresql_both_read_constants() {
    let service = Service::usual();
    for dialect in DIALECTS {
        let caller = super::service::caller(dialect);
        for question in
            ["allow(User:nobody, \"delete\", Repository:?)", "allow(User:root, \"delete\", Repository:?)"]
        {
            let filter = service.sql_for(dialect, question, Way::List, "id");
            let n =
                super::service::column(&caller, &format!("SELECT COUNT(*) FROM repositories WHERE {filter}"));
            assert!(["0", "7"].contains(&n.as_str()), "{dialect}: {filter}");
        }
    }
    assert_eq!(DIALECTS, [Dialect::Postgresql, Dialect::Sqlite]);
}
