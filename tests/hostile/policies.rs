//! Policies that are small to write and large to compile: each is compiled or refused, in bounded time, on
//! the stack of a worker thread.

use portcullis_compiler::catalog::{Catalog, Relation, RelationArg, RelationSource};
use portcullis_compiler::question::{CompileError, Question, QuestionVar, Shape};
use portcullis_compiler::source::SourceMap;
use portcullis_compiler::{Dialect, check, compile};
use std::sync::mpsc;
use std::time::Duration;

const USER_AND_DOC: &str = "actor User {}\nresource Doc { permissions = [\"read\"]; }\n";

/// No policy may take as long, in a debug build on a busy machine.
const HANGS: Duration = Duration::from_mins(1);

/// The stack of an async worker.
const STACK: usize = 2 * 1024 * 1024;

/// Compiles a check and a list over tables of these facts; `Err` names what was refused.
fn compiled(policy: String, predicates: &[&str]) -> Result<usize, String> {
    let relations = predicates.iter().map(|predicate| Relation {
        predicate: (*predicate).to_owned(),
        args: ["User", "Doc"]
            .map(|ty| RelationArg::Column { ty: ty.into(), column: ty.to_lowercase() })
            .into(),
        source: RelationSource::Table { name: format!("{predicate}_table") },
    });
    let catalog = Catalog { relations: relations.collect() };
    let (send, receive) = mpsc::channel();
    std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || {
            let checked = check(&SourceMap::new("policy.polar", policy));
            let Some(program) = checked.program else {
                let first = checked.diagnostics.first().map(|found| found.title.clone());
                return send.send(Err(first.unwrap_or_default()));
            };
            let mut size = 0;
            for resource in
                [QuestionVar::given("resource", "Doc", "a"), QuestionVar::wanted("resource", Some("Doc"))]
            {
                let actor = QuestionVar::given("actor", "User", "ada");
                let action = QuestionVar::given("action", "String", "read");
                let question = Question::atom("allow", vec![actor, action, resource]);
                for dialect in Dialect::ALL {
                    match compile(&program, &catalog, &Shape::of(&program, &question), dialect) {
                        Ok(statement) => size += statement.sql.len(),
                        Err(CompileError::Refused(message)) => return send.send(Err(message)),
                        Err(CompileError::Bug(message)) => panic!("{message}"),
                    }
                }
            }
            send.send(Ok(size))
        })
        .unwrap();
    receive.recv_timeout(HANGS).unwrap()
}

/// The same part for each number, joined by a word.
fn joined(count: usize, word: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(word)
}

#[test]
fn ten_thousand_rules_cost_what_the_question_reads() {
    let rules = joined(10_000, "\n", |n| format!("p{n}(u: User, d: Doc) if a{n}(u, d);"));
    let policy = format!("{USER_AND_DOC}{rules}\nhas_permission(u: User, \"read\", d: Doc) if p9999(u, d);");
    assert!(compiled(policy, &["a1", "a9999"]).unwrap() < 4_000);
}

#[test]
fn a_chain_whose_links_branch_does_not_double_at_each() {
    let link = |n: usize| {
        let next = n + 1;
        format!(
            "p{n}(u: User, d: Doc) if a(u, d) and p{next}(u, d);\np{n}(u: User, d: Doc) if b(u, d) and p{next}(u, d);"
        )
    };
    for length in [20, 300] {
        let chain = joined(length, "\n", link);
        let policy = format!(
            "{USER_AND_DOC}{chain}\np{length}(u: User, d: Doc) if c(u, d);\nhas_permission(u: User, \"read\", d: Doc) if p0(u, d);"
        );
        match compiled(policy, &["a", "b", "c"]) {
            Ok(size) => assert!(size < 2_000_000, "{size}"),
            Err(message) => assert!(message.contains("split the rule"), "{message}"),
        }
    }
}

#[test]
fn a_rule_with_five_thousand_conditions_is_bounded() {
    let conditions = joined(5_000, " and ", |n| format!("a{n}(u, d)"));
    let policy = format!("{USER_AND_DOC}has_permission(u: User, \"read\", d: Doc) if {conditions};");
    // No table has such facts: it never holds, and that takes no time to see.
    assert!(compiled(policy.clone(), &["a0"]).is_ok());
    let longer = policy.replace("if a0", "if b(u, d) and a0");
    assert!(compiled(longer, &[]).is_err(), "over the bound it is a diagnostic");
}

#[test]
fn a_thousand_alternatives_are_bounded() {
    let names: Vec<String> = (0..1_000).map(|n| format!("a{n}")).collect();
    let alternatives = joined(1_000, " or ", |n| format!("a{n}(u, d)"));
    let policy = format!("{USER_AND_DOC}has_permission(u: User, \"read\", d: Doc) if {alternatives};");
    let tables: Vec<&str> = names.iter().map(String::as_str).collect();
    match compiled(policy, &tables) {
        Ok(size) => assert!(size < 1_000_000, "{size}"),
        Err(message) => assert!(message.contains("alternatives"), "{message}"),
    }
}

#[test]
fn recursion_through_fifty_types_ends() {
    let block = |n: usize| {
        format!(
            "resource T{n} {{ roles = [\"r\"]; relations = {{ next: T{} }}; \"r\" if \"r\" on \"next\"; }}",
            (n + 1) % 50
        )
    };
    let blocks = joined(50, "\n", block);
    let policy = format!(
        "{USER_AND_DOC}{blocks}\nhas_permission(u: User, \"read\", _: Doc) if has_role(u, \"r\", x) and x matches T0;"
    );
    assert!(compiled(policy, &[]).is_ok());
}

#[test]
fn a_tower_of_supertypes_ends() {
    let tower = joined(400, "\n", |n| {
        let above = if n == 0 { String::new() } else { format!(" extends D{}", n - 1) };
        format!(
            "resource D{n}{above} {{ roles = [\"r{n}\"]; permissions = [\"p{n}\"]; \"p{n}\" if \"r{n}\"; }}"
        )
    });
    match compiled(format!("{USER_AND_DOC}{tower}"), &[]) {
        Ok(_) => {}
        Err(message) => assert!(message.contains("more than"), "{message}"),
    }
}
