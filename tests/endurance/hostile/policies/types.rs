//! Policies of very many types or roles. Rules recurse through all of them, types extend each other, and a
//! role comes from other roles.

use super::{USER_AND_DOC, answers, answers_or_refusals, joined, lines};
use std::fmt::Write;

#[test]
fn recursion_through_fifty_types() {
    let blocks = lines(50, |n| {
        format!(
            "resource T{n} {{ roles = [\"reader\"]; permissions = [\"read\"]; relations = {{ parent: T{} }}; \"reader\" if \"reader\" on \"parent\"; \"read\" if \"reader\"; }}",
            (n + 1) % 50
        )
    });
    let facts = lines(49, |n| format!("has_relation(T{n}:a, \"parent\", T{}:a)", n + 1))
        + "has_role(User:ada, \"reader\", T49:a)";
    answers(
        "recursion_through_fifty_types",
        format!("actor User {{}}\n{blocks}"),
        &facts,
        &[
            ("allow(User:ada, \"read\", T0:?)", "T0:a"),
            ("allow(User:ada, \"read\", T0:a)", "yes"),
            ("allow(User:ada, String:?, T7:a)", "\"read\""),
            ("allow(User:ada, \"read\", T0:b)", "no"),
        ],
    );
}

#[test]
fn recursion_of_every_type_through_every_type() {
    let types = joined(20, ", ", |n| format!("r{n}: T{n}"));
    let rules = joined(20, " ", |n| format!("\"reader\" if \"reader\" on \"r{n}\";"));
    let blocks = lines(20, |n| {
        format!(
            "resource T{n} {{ roles = [\"reader\"]; permissions = [\"read\"]; relations = {{ {types} }}; {rules} \"read\" if \"reader\"; }}"
        )
    });
    let facts = lines(19, |n| format!("has_relation(T{n}:a, \"r{m}\", T{m}:a)", m = n + 1))
        + "has_role(User:ada, \"reader\", T19:a)";
    answers(
        "recursion_of_every_type_through_every_type",
        format!("actor User {{}}\n{blocks}"),
        &facts,
        &[
            ("allow(User:ada, \"read\", T0:?)", "T0:a"),
            ("allow(User:ada, \"read\", T0:a)", "yes"),
            ("allow(User:ada, \"read\", T0:b)", "no"),
        ],
    );
}

#[test]
fn a_recursion_that_refers_to_itself_twice_through_many_types() {
    let rules = lines(12, |n| {
        format!(
            "p{n}(x: Doc, y: Doc) if e{n}(x, y);\np{n}(x: Doc, z: Doc) if p{m}(x, y) and p{m}(y, z);",
            m = (n + 1) % 12
        )
    });
    answers(
        "a_recursion_that_refers_to_itself_twice_through_many_types",
        format!("{USER_AND_DOC}{rules}has_permission(_: User, \"read\", d: Doc) if p0(Doc{{\"a\"}}, d);"),
        "e1(Doc:a, Doc:b)\ne1(Doc:b, Doc:c)\ne0(Doc:a, Doc:d)",
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:c, Doc:d"), ("allow(User:ada, \"read\", Doc:b)", "no")],
    );
}

#[test]
fn a_deep_extends() {
    let mut blocks = String::from(
        "resource T0 { roles = [\"reader\"]; permissions = [\"read\"]; \"read\" if \"reader\"; }\n",
    );
    for n in 1..300 {
        writeln!(blocks, "resource T{n} extends T{} {{}}", n - 1).unwrap();
    }
    answers(
        "a_deep_extends",
        format!("actor User {{}}\n{blocks}"),
        "has_role(User:ada, \"reader\", T299:a)",
        &[
            ("allow(User:ada, \"read\", T299:?)", "T299:a"),
            ("allow(User:ada, \"read\", T0:a)", "no"),
            ("allow(User:?, \"read\", T299:a)", "User:ada"),
        ],
    );
}

/// Each block has both blocks above it: two to the power of sixty ways up.
#[test]
fn a_diamond_of_extends() {
    let blocks = lines(60, |n| {
        format!("resource A{m} extends A{n}, B{n} {{}}\nresource B{m} extends A{n}, B{n} {{}}", m = n + 1)
    });
    let first = "resource A0 { roles = [\"reader\"]; permissions = [\"read\"]; \"read\" if \"reader\"; }\n\
                 resource B0 {}\n";
    answers(
        "a_diamond_of_extends",
        format!("actor User {{}}\n{first}{blocks}"),
        "has_role(User:ada, \"reader\", A60:a)",
        &[("allow(User:ada, \"read\", A60:?)", "A60:a"), ("allow(User:ada, \"read\", B60:a)", "no")],
    );
}

#[test]
fn a_thousand_subtypes() {
    let blocks = lines(1_000, |n| format!("resource T{n} extends Doc {{}}"));
    answers(
        "a_thousand_subtypes",
        format!(
            "{USER_AND_DOC}{blocks}has_permission(u: User, \"read\", d: Doc) if next(d, e) and owner(e, u);"
        ),
        "next(T1:a, T2:b)\nowner(T2:b, User:ada)",
        &[
            ("allow(User:ada, \"read\", T1:?)", "T1:a"),
            ("allow(User:ada, \"read\", T1:a)", "yes"),
            ("allow(User:ada, \"read\", ?)", "T1:a"),
        ],
    );
}

#[test]
fn recursion_over_a_thousand_subtypes() {
    let blocks = lines(1_000, |n| format!("resource T{n} extends Folder {{}}"));
    answers(
        "recursion_over_a_thousand_subtypes",
        format!(
            "actor User {{}}\nresource Folder {{ roles = [\"reader\"]; permissions = [\"read\"]; relations = {{ parent: Folder }}; \"reader\" if \"reader\" on \"parent\"; \"read\" if \"reader\"; }}\n{blocks}"
        ),
        "has_relation(T1:a, \"parent\", T2:b)\nhas_relation(T2:b, \"parent\", T3:c)\nhas_role(User:ada, \"reader\", T3:c)",
        &[
            ("allow(User:ada, \"read\", T1:?)", "T1:a"),
            ("allow(User:ada, \"read\", T1:a)", "yes"),
            ("allow(User:ada, \"read\", T1:b)", "no"),
        ],
    );
}

#[test]
fn a_tower_of_roles() {
    let roles = joined(100, ", ", |n| format!("\"r{n}\""));
    let rules = lines(99, |n| format!("\"r{n}\" if \"r{}\";", n + 1));
    answers(
        "a_tower_of_roles",
        format!(
            "actor User {{}}\nresource Doc {{ roles = [{roles}]; permissions = [\"read\"];\n{rules}\"read\" if \"r0\"; }}"
        ),
        "has_role(User:ada, \"r99\", Doc:a)",
        &[
            ("allow(User:ada, \"read\", Doc:?)", "Doc:a"),
            ("allow(User:ada, \"read\", Doc:a)", "yes"),
            ("has_role(User:ada, String:?, Doc:a)", "100 rows"),
        ],
    );
}

#[test]
fn every_role_if_every_role() {
    let roles = joined(30, ", ", |n| format!("\"r{n}\""));
    let rules = lines(900, |n| format!("\"r{}\" if \"r{}\";", n / 30, n % 30));
    answers(
        "every_role_if_every_role",
        format!(
            "actor User {{}}\nresource Doc {{ roles = [{roles}]; permissions = [\"read\"];\n{rules}\"read\" if \"r0\"; }}"
        ),
        "has_role(User:ada, \"r29\", Doc:a)",
        &[
            ("allow(User:ada, \"read\", Doc:?)", "Doc:a"),
            ("allow(User:ada, \"read\", Doc:a)", "yes"),
            ("has_role(User:ada, String:?, Doc:a)", "30 rows"),
        ],
    );
}

#[test]
fn every_role_comes_down() {
    let roles = joined(200, ", ", |n| format!("\"r{n}\""));
    answers_or_refusals(
        "every_role_comes_down",
        format!(
            "actor User {{}}\nresource Doc {{ roles = [{roles}]; permissions = [\"read\"]; relations = {{ parent: Doc }};\n role if role on \"parent\"; \"read\" if \"r0\"; }}"
        ),
        "has_role(User:ada, \"r0\", Doc:a)\nhas_relation(Doc:b, \"parent\", Doc:a)",
        &[
            ("allow(User:ada, \"read\", Doc:?)", "Doc:a, Doc:b"),
            ("has_role(User:ada, String:?, Doc:b)", "\"r0\""),
        ],
    );
}

#[test]
fn untyped_variables_over_many_types() {
    let blocks = lines(100, |n| format!("resource T{n} {{}}"));
    let facts = lines(100, |n| format!("linked(T{n}:a, T{}:b)", (n * 7) % 100));
    answers(
        "untyped_variables_over_many_types",
        format!(
            "{USER_AND_DOC}{blocks}same(x, y) if linked(x, z) and linked(y, z);\nhas_permission(_: User, \"read\", _: Doc) if same(x, y) and x != y;"
        ),
        &facts,
        &[("allow(User:ada, \"read\", Doc:a)", "no"), ("same(T1:a, ?)", "T1:a")],
    );
}
