//! Policies made to exhaust the compiler, given to the program with little memory and little time: it prints
//! SQL within the limits of its database, or one message that names the bound.
//!
//! `policies` asks such policies for answers; here it is the process that counts, memory and all.

use portcullis_compiler::{Dialect, limits};
use portcullis_testkit::program::portcullis;
use portcullis_testkit::sql_limits;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Kibibytes of memory that the process may ask for. It needs 90,000 for the worst of these, without
/// optimisation.
const MEMORY: usize = 400_000;

/// Seconds of a processor; the worst of these takes three without optimisation, a third of one with.
const SECONDS: usize = 30;

/// What is compiled, and the bounds of which a refusal must name one.
struct Extreme {
    name: &'static str,
    policy: String,
    question: &'static str,
    bounds: &'static [usize],
}

fn joined(count: usize, between: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(between)
}

const USER_AND_DOC: &str = "actor User {}\nresource Doc { permissions = [\"read\"]; }\n";

const LIST: &str = "allow(User:ada, \"read\", Doc:?)";

/// Roles of a document that come along relations of it: one rule a role and a relation.
fn shorthand(roles: usize, relations: usize) -> String {
    let roles = joined(roles, ", ", |n| format!("\"r{n}\""));
    let declared = joined(relations, ", ", |n| format!("l{n}: Doc"));
    let rules = joined(relations, "\n", |n| format!("role if role on \"l{n}\";"));
    format!(
        "actor User {{}}\nresource Doc {{ roles = [{roles}]; permissions = [\"read\"]; relations = {{ {declared} }};\n{rules}\n\"read\" if \"r0\"; }}"
    )
}

/// Each type has two ways to each of two roles of the next type.
fn tower(height: usize) -> String {
    let block = |n: usize| {
        format!(
            "resource T{n} {{ roles = [\"a\", \"b\"]; permissions = [\"read\"]; relations = {{ x: T{m}, y: T{m} }}; \
             \"a\" if \"a\" on \"x\"; \"a\" if \"b\" on \"y\"; \"b\" if \"a\" on \"y\"; \"b\" if \"b\" on \"x\"; \"read\" if \"a\" or \"b\"; }}",
            m = n + 1
        )
    };
    format!(
        "actor User {{}}\n{}\nresource T{height} {{ roles = [\"a\", \"b\"]; }}",
        joined(height, "\n", block)
    )
}

/// Fifty types, each with relations to ten others along which three roles come, and a negation in the way.
fn fifty_types() -> String {
    let block = |n: usize| {
        let relations = joined(10, ", ", |m| format!("l{m}: T{}", (n + m) % 50));
        let rules = joined(10, " ", |m| format!("role if role on \"l{m}\";"));
        format!(
            "resource T{n} {{ roles = [\"a\", \"b\", \"c\"]; permissions = [\"read\"]; relations = {{ {relations} }}; \
             {rules} \"a\" if \"b\"; \"b\" if \"c\"; \"read\" if \"a\" and not closed(resource); }}"
        )
    };
    format!("actor User {{}}\n{}", joined(50, "\n", block))
}

/// A ring of fifty types, each closed by itself.
fn ring() -> String {
    let block = |n: usize| {
        format!(
            "resource T{n} {{ roles = [\"reader\"]; permissions = [\"read\"]; relations = {{ next: T{} }}; \
             \"reader\" if \"reader\" on \"next\" and not closed(resource); \"read\" if \"reader\"; }}",
            (n + 1) % 50
        )
    };
    format!("actor User {{}}\n{}", joined(50, "\n", block))
}

fn extends(levels: usize, body: impl Fn(usize) -> String) -> String {
    let first = "resource T0 { roles = [\"reader\"]; permissions = [\"read\"]; \"read\" if \"reader\"; }";
    let blocks = joined(levels, "\n", |n| format!("resource T{} extends T{n} {{ {} }}", n + 1, body(n)));
    format!("actor User {{}}\n{first}\n{blocks}")
}

fn extremes() -> Vec<Extreme> {
    let rule = |body: String| format!("{USER_AND_DOC}has_permission(u: User, \"read\", d: Doc) if {body};");
    let rules = joined(10_000, "\n", |n| format!("has_permission(u: User, \"read\", d: Doc) if a{n}(u, d);"));
    let either = |count: usize, name: &str| joined(count, " or ", |n| format!("{name}{n}(u, d)"));
    let roles = |between: &str| joined(1_000, between, |n| format!("\"r{n}\""));
    let any_role = format!(
        "actor User {{}}\nresource Doc {{ roles = [{}]; permissions = [\"read\"]; \"read\" if {}; }}",
        roles(", "),
        roles(" or ")
    );
    let products = joined(40, " and ", |m| format!("({})", either(25, &format!("a{m}_"))));
    // Each variable may be of three types.
    let untyped = joined(4_000, " and ", |n| format!("a{}(x{n}, x{})", n % 3, n + 1));
    let no_value = joined(25_000, ", ", |n| format!("\"v{n}\""));
    let extreme = |name, policy, question, bounds| Extreme { name, policy, question, bounds };
    let first = "allow(User:ada, \"read\", T0:?)";
    vec![
        extreme("10,000 rules", format!("{USER_AND_DOC}{rules}"), LIST, &[limits::SELECTS]),
        extreme("1,000-way or", rule(either(1_000, "a")), LIST, &[limits::SELECTS]),
        extreme("not a 1,000-way or", rule(format!("all(u, d) and not ({})", either(1_000, "a"))), LIST, &[]),
        extreme("any of 1,000 roles", any_role, LIST, &[]),
        extreme("a product of ors", rule(products), LIST, &[sql_limits::SQLITE.cursors]),
        extreme(
            "4,000 conditions without types",
            rule(format!("{untyped} and a0(d, x0)")),
            LIST,
            &[limits::SPECIALISATION_STEPS],
        ),
        extreme(
            "none of 25,000 values",
            rule(format!("named(d, name) and not name in [{no_value}]")),
            LIST,
            &[],
        ),
        extreme("40,000 rules of shorthand", shorthand(800, 50), LIST, &[]),
        extreme("60,000 rules of shorthand", shorthand(1_000, 60), LIST, &[limits::RULES]),
        extreme("a tower of shorthand", tower(60), first, &[sql_limits::SQLITE.cursors]),
        extreme(
            "900 levels of extends",
            extends(900, |_| String::new()),
            "allow(User:ada, \"read\", T900:a)",
            // Not of the compiler: the tables that the command assumes.
            &[100_000],
        ),
        extreme("5,000 levels of extends", extends(5_000, |_| String::new()), first, &[limits::INHERITED]),
        extreme(
            "a role a level",
            extends(800, |n| format!("roles = [\"r{n}\"];")),
            first,
            &[limits::INHERITED],
        ),
        extreme("a ring of 50 types", ring(), first, &[]),
        extreme(
            "50 types through each other",
            fifty_types(),
            first,
            &[sql_limits::SQLITE.cursors, sql_limits::SQLITE.union_arms],
        ),
    ]
}

/// Runs the program with little memory and time: whether it ended well, what it printed, what it said.
fn run(folder: &Path, args: &[&str]) -> Result<String, String> {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {MEMORY}; ulimit -t {SECONDS}; exec \"$@\""), "sh"]);
    command.arg(portcullis(folder).get_program()).args(args).current_dir(folder);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (printed, said) = (text(output.stdout), text(output.stderr));
    match output.status.code() {
        Some(0) => Ok(printed),
        Some(1) => Err(said + &printed),
        _ => panic!("{args:?}: {} {said}", output.status),
    }
}

#[test]
fn little_memory_and_time_are_enough() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut complaints = String::new();
    for Extreme { name, policy, question, bounds } in extremes() {
        fs::write(folder.join("p.polar"), &policy).unwrap();
        let mut n_refused = 0;
        // What a larger policy costs is spent before there is a dialect.
        let dialects = if policy.len() > 20_000 { &[Dialect::Sqlite][..] } else { &Dialect::ALL[..] };
        for &dialect in dialects {
            let args = ["compile", "p.polar", question, "--dialect", &dialect.to_string()];
            match run(folder, &args) {
                Ok(sql) => {
                    if let Err(over) = sql_limits::check(&sql, dialect) {
                        writeln!(complaints, "{name}, {dialect}: {over}").unwrap();
                    }
                }
                Err(said) => {
                    n_refused += 1;
                    let is_named = bounds.iter().any(|bound| said.contains(&format!(" {bound}")));
                    if !is_named || said.len() > 20_000 {
                        let said: String = said.chars().take(500).collect();
                        writeln!(complaints, "{name}, {dialect}: {said}").unwrap();
                    }
                }
            }
        }
        if !bounds.is_empty() && n_refused == 0 {
            writeln!(complaints, "{name} is over no bound").unwrap();
        }
    }
    assert!(complaints.is_empty(), "{complaints}");
}

#[test]
fn the_measures_of_a_statement_are_those_counted_by_hand() {
    sql_limits::counts_what_is_there();
}

/// The bounds of the compiler stay below those of the databases.
#[test]
fn our_bounds_are_within_theirs() {
    for dialect in Dialect::ALL {
        let most = sql_limits::limits(dialect);
        assert!(limits::SELECTS <= most.union_arms, "{dialect}");
        assert!(limits::TABLES <= most.tables, "{dialect}");
        assert!(limits::PARAMETERS <= most.columns, "{dialect}");
    }
}
