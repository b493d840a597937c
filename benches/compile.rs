//! What compiling costs: a large policy, and a question of a policy that is known.
//!
//! ```text
//! cargo bench --bench compile
//! ```
//!
//! The policy has 200 resource blocks of three roles, six permissions and three relations each, in chains of
//! ten. The questions are checks at the end and at the start of a chain, with a table for everything that may
//! be stored, compiled for the service's own store.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement prints, and ends at the first error"
)]

use portcullis_compiler::catalog::{Catalog, Relation, RelationArg, RelationSource};
use portcullis_compiler::deadline::Deadline;
use portcullis_compiler::question::{Question, QuestionVar, Shape};
use portcullis_compiler::source::SourceMap;
use portcullis_compiler::{StoreDialect, check, compile_for_store};
use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// That of the service.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BLOCKS: usize = 200;
const CHAIN: usize = 10;

fn main() {
    let text = policy();
    let source = SourceMap::new("policy.polar", text.as_str());
    println!("policy of {BLOCKS} blocks, {} kB", text.len() / 1_000);
    println!("check                    {}", median(15, || drop(black_box(check(&source)))));
    let program = check(&source).program.unwrap();
    let catalog = catalog();
    for (what, last) in [("end of a chain", CHAIN - 1), ("start of a chain", 0)] {
        let question = Question::atom(
            "allow",
            vec![
                QuestionVar::given("actor", "User", "alice"),
                QuestionVar::given("action", "String", "read"),
                QuestionVar::given("resource", &format!("R{last}"), "1"),
            ],
        );
        let shape = Shape::of(&program, &question);
        let cold = || {
            let compiled =
                compile_for_store(&program, &catalog, &shape, StoreDialect::Sqlite, Deadline::NEVER);
            drop(black_box(compiled.unwrap()));
        };
        println!("question, {what:<16} {} cold", median(200, cold));
        println!(
            "its shape                {} warm",
            median(2_000, || drop(black_box(Shape::of(&program, &question))))
        );
    }
}

fn policy() -> String {
    let mut text = String::from("actor User {}\nactor Group { relations = { member: User }; }\n");
    for block in 0..BLOCKS {
        let parent = if block.is_multiple_of(CHAIN) { block } else { block - 1 };
        write!(
            text,
            r#"resource R{block} {{
  roles = ["reader", "writer", "admin"];
  permissions = ["read", "comment", "write", "share", "delete", "invite"];
  relations = {{ parent: R{parent}, owner: User, team: Group }};
  "reader" if "writer";
  "writer" if "admin";
  role if role on "parent";
  "read" if "reader" or is_public(resource);
  "comment" if "read" and not "blocked" on "team";
  "write" if "writer";
  "share" if "owner";
  "delete" if "admin" or "owner";
  "invite" if "admin";
}}
"#
        )
        .unwrap();
    }
    text.replace(
        "actor Group { relations = { member: User }; }",
        "actor Group { roles = [\"blocked\"]; relations = { member: User }; }",
    )
}

/// A table for each kind of fact of one chain.
fn catalog() -> Catalog {
    let mut relations = Vec::new();
    let mut table = |predicate: &str, types: &[&str]| {
        let column =
            |(at, ty): (usize, &&str)| RelationArg::Column { ty: (*ty).into(), column: format!("a{at}") };
        let name = format!("f{}", relations.len());
        relations.push(Relation {
            predicate: predicate.into(),
            args: types.iter().enumerate().map(column).collect(),
            source: RelationSource::Table { schema: None, name },
        });
    };
    for block in 0..CHAIN {
        let own = format!("R{block}");
        let parent = format!("R{}", block.saturating_sub(1));
        table("has_role", &["User", "String", &own]);
        table("has_relation", &[&own, "String", &parent]);
        table("has_relation", &[&own, "String", "User"]);
        table("has_relation", &[&own, "String", "Group"]);
        table("is_public", &[&own]);
    }
    table("has_role", &["User", "String", "Group"]);
    Catalog { relations: relations.into() }
}

fn median(n: usize, run: impl Fn()) -> String {
    let mut times: Vec<Duration> = (0..n)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    format!("p50 {:>9.1?}", times.get(n / 2).copied().unwrap_or_default())
}
