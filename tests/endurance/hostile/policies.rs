//! Policies that are small to write and large to answer with.

use super::probe::{OR_TOO_LARGE, complaints, on_a_small_stack};
use portcullis_testkit::policy;
use std::fmt::Write;

const USER_AND_DOC: &str = "actor User {}\nresource Doc { permissions = [\"read\"]; }\n";

fn answers(name: &str, policy: String, facts: &str, asked: &[(&str, &str)]) {
    let facts = facts.to_owned();
    let asked = asked.iter().map(|(text, answer)| ((*text).to_owned(), (*answer).to_owned())).collect();
    let complaints = on_a_small_stack(name, move || complaints(&policy, &facts, asked));
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// The same, but a statement may be refused as too large for its database.
fn answers_or_refusals(name: &str, policy: String, facts: &str, asked: &[(&str, &str)]) {
    let lenient: Vec<String> = asked.iter().map(|(_, answer)| format!("{answer}{OR_TOO_LARGE}")).collect();
    let asked = asked.iter().zip(&lenient).map(|((text, _), answer)| (*text, answer.as_str()));
    answers(name, policy, facts, &asked.collect::<Vec<_>>());
}

/// The same line for each number.
fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|n| line(n) + "\n").collect()
}

/// Parts joined by a word.
fn joined(count: usize, word: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(word)
}

#[test]
fn ten_thousand_rules() {
    let policy = format!(
        "{USER_AND_DOC}{}has_permission(u: User, \"read\", d: Doc) if p9999(u, d);",
        lines(10_000, |n| format!("p{n}(u: User, d: Doc) if a{n}(u, d);"))
    );
    answers(
        "ten_thousand_rules",
        policy,
        "a9999(User:ada, Doc:a)\na1(User:ada, Doc:b)",
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a"), ("p1(User:?, Doc:?)", "(User:ada, Doc:b)")],
    );
}

#[test]
fn ten_thousand_rules_for_one_permission() {
    let rules = lines(10_000, |n| format!("has_permission(u: User, \"read\", d: Doc) if a{n}(u, d);"));
    answers(
        "ten_thousand_rules_for_one_permission",
        format!("{USER_AND_DOC}{rules}"),
        "a9999(User:ada, Doc:a)",
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a"), ("allow(User:ada, \"read\", Doc:b)", "no")],
    );
}

#[test]
fn five_hundred_tables_of_one_permission() {
    let rules = lines(500, |n| format!("has_permission(u: User, \"read\", d: Doc) if a{n}(u, d);"));
    let facts = lines(500, |n| format!("a{n}(User:ada, Doc:d{n})"));
    answers_or_refusals(
        "five_hundred_tables_of_one_permission",
        format!("{USER_AND_DOC}{rules}"),
        &facts,
        &[("allow(User:ada, \"read\", Doc:?)", "500 rows"), ("allow(User:ada, \"read\", Doc:d499)", "yes")],
    );
}

#[test]
fn five_thousand_conjuncts() {
    let body = joined(5_000, " and ", |n| format!("a{n}(d)"));
    answers(
        "five_thousand_conjuncts",
        format!("{USER_AND_DOC}has_permission(_: User, \"read\", d: Doc) if {body};"),
        "a0(Doc:a)",
        &[("allow(User:ada, \"read\", Doc:?)", "nothing"), ("allow(User:ada, \"read\", Doc:a)", "no")],
    );
}

#[test]
fn one_condition_too_many() {
    let body = joined(5_001, " and ", |n| format!("a{n}(d)"));
    let text = format!("{USER_AND_DOC}has_permission(_: User, \"read\", d: Doc) if {body};");
    let refused = on_a_small_stack("one_condition_too_many", move || policy::program(&text).map(|_| ()));
    let message = refused.unwrap_err();
    assert!(message.contains("is too large"), "{message}");
}

#[test]
fn as_many_conjuncts_as_tables() {
    let body = joined(120, " and ", |n| format!("a{n}(d)"));
    let facts = lines(120, |n| format!("a{n}(Doc:a)"));
    answers_or_refusals(
        "as_many_conjuncts_as_tables",
        format!("{USER_AND_DOC}has_permission(_: User, \"read\", d: Doc) if {body};"),
        &facts,
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a"), ("allow(User:ada, \"read\", Doc:a)", "yes")],
    );
}

#[test]
fn a_join_of_a_hundred_variables() {
    let body = joined(100, " and ", |n| format!("next(x{n}, x{})", n + 1));
    let policy = format!(
        "{USER_AND_DOC}has_permission(_: User, \"read\", x0: Doc) if {body};\ndeclare next(Doc, Doc);"
    );
    answers_or_refusals(
        "a_join_of_a_hundred_variables",
        policy,
        "next(Doc:a, Doc:a)",
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a"), ("allow(User:ada, \"read\", Doc:a)", "yes")],
    );
}

#[test]
fn a_long_chain() {
    let links = lines(1_000, |n| format!("p{n}(d: Doc) if p{}(d);", n + 1));
    answers(
        "a_long_chain",
        format!(
            "{USER_AND_DOC}{links}p1000(d: Doc) if end(d);\nhas_permission(_: User, \"read\", d: Doc) if p0(d);"
        ),
        "end(Doc:a)",
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a")],
    );
}

/// The walk over what reads what must not need a stack as deep as the chain.
#[test]
fn a_chain_as_long_as_a_policy() {
    let links = lines(25_000, |n| format!("p{n}(d: Doc) if p{}(d);", n + 1));
    let policy = format!("{USER_AND_DOC}{links}p25000(d: Doc) if end(d);");
    let checked =
        on_a_small_stack("a_chain_as_long_as_a_policy", move || policy::program(&policy).map(|_| ()));
    assert_eq!(checked, Ok(()));
}

#[test]
fn a_chain_where_each_link_has_two_clauses() {
    let links = lines(300, |n| {
        format!("p{n}(d: Doc) if a{n}(d) and p{m}(d);\np{n}(d: Doc) if b{n}(d) and p{m}(d);", m = n + 1)
    });
    let policy = format!(
        "{USER_AND_DOC}{links}p300(d: Doc) if end(d);\nhas_permission(_: User, \"read\", d: Doc) if p0(d);"
    );
    let facts = lines(300, |n| format!("{}{n}(Doc:a)", if n % 2 == 0 { "a" } else { "b" }))
        + "end(Doc:a)\nend(Doc:b)";
    answers_or_refusals(
        "a_chain_where_each_link_has_two_clauses",
        policy,
        &facts,
        &[
            ("allow(User:ada, \"read\", Doc:?)", "Doc:a"),
            ("allow(User:ada, \"read\", Doc:a)", "yes"),
            ("p250(Doc:b)", "no"),
        ],
    );
}

#[test]
fn a_chain_where_each_link_branches() {
    let links = lines(300, |n| {
        format!("p{n}(x: Doc) if a{n}(x, y) and p{m}(y);\np{n}(x: Doc) if b{n}(x, y) and p{m}(y);", m = n + 1)
    });
    let policy = format!(
        "{USER_AND_DOC}{links}p300(d: Doc) if end(d);\nhas_permission(_: User, \"read\", d: Doc) if p0(d);"
    );
    let facts = lines(300, |n| format!("{}{n}(Doc:a, Doc:a)\n", if n % 2 == 0 { "a" } else { "b" }))
        .replace("\n\n", "\n")
        + "end(Doc:a)\nend(Doc:b)";
    answers_or_refusals(
        "a_chain_where_each_link_branches",
        policy,
        &facts,
        &[
            ("allow(User:ada, \"read\", Doc:?)", "Doc:a"),
            ("allow(User:ada, \"read\", Doc:a)", "yes"),
            ("p250(Doc:b)", "no"),
        ],
    );
}

#[test]
fn a_chain_full_of_facts() {
    let links = lines(60, |n| {
        format!("p{n}(x: Doc) if a{n}(x, y) and p{m}(y);\np{n}(x: Doc) if b{n}(x, y) and p{m}(y);", m = n + 1)
    });
    let policy = format!(
        "{USER_AND_DOC}{links}p60(d: Doc) if end(d);\nhas_permission(_: User, \"read\", d: Doc) if p0(d);"
    );
    let facts = lines(60, |n| format!("a{n}(Doc:a, Doc:a)\nb{n}(Doc:a, Doc:a)")) + "end(Doc:a)";
    answers_or_refusals(
        "a_chain_full_of_facts",
        policy,
        &facts,
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a"), ("allow(User:ada, \"read\", Doc:a)", "yes")],
    );
}

#[test]
fn five_hundred_alternatives() {
    let body = joined(500, " or ", |n| format!("a{n}(u, d)"));
    let facts = lines(500, |n| format!("a{n}(User:ada, Doc:d{n})"));
    answers_or_refusals(
        "five_hundred_alternatives",
        format!("{USER_AND_DOC}has_permission(u: User, \"read\", d: Doc) if {body};"),
        &facts,
        &[("allow(User:ada, \"read\", Doc:?)", "500 rows"), ("allow(User:ada, \"read\", Doc:d499)", "yes")],
    );
}

#[test]
fn a_thousand_alternatives() {
    let body = joined(1_000, " or ", |n| format!("a{n}(u, d)"));
    answers_or_refusals(
        "a_thousand_alternatives",
        format!("{USER_AND_DOC}has_permission(u: User, \"read\", d: Doc) if {body};"),
        "a7(User:ada, Doc:a)\na999(User:ada, Doc:b)",
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a, Doc:b"), ("allow(User:ada, \"read\", Doc:c)", "no")],
    );
}

#[test]
fn none_of_a_thousand_alternatives() {
    let body = joined(1_000, " or ", |n| format!("a{n}(u, d)"));
    answers_or_refusals(
        "none_of_a_thousand_alternatives",
        format!("{USER_AND_DOC}has_permission(u: User, \"read\", d: Doc) if all(u, d) and not ({body});"),
        "all(User:ada, Doc:a)\nall(User:ada, Doc:b)\na999(User:ada, Doc:b)",
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a"), ("allow(User:ada, \"read\", Doc:b)", "no")],
    );
}

#[test]
fn many_ways_that_each_split_in_many() {
    let rules = lines(100, |n| {
        format!(
            "has_permission(u: User, \"read\", d: Doc) if a{n}(u, d) and q(u, d);\nq(u: User, d: Doc) if b{n}(u, d);"
        )
    });
    let facts = lines(100, |n| format!("a{n}(User:ada, Doc:d{n})\nb{n}(User:ada, Doc:d{})", n / 2));
    answers_or_refusals(
        "many_ways_that_each_split_in_many",
        format!("{USER_AND_DOC}{rules}"),
        &facts,
        &[
            ("allow(User:ada, \"read\", Doc:?)", "50 rows"),
            ("allow(User:ada, \"read\", Doc:d49)", "yes"),
            ("allow(User:ada, \"read\", Doc:d50)", "no"),
        ],
    );
}

#[test]
fn many_negated_alternatives() {
    let body = joined(300, " or ", |n| format!("a{n}(d)"));
    let facts = lines(300, |n| format!("a{n}(Doc:d{n})"));
    answers(
        "many_negated_alternatives",
        format!("{USER_AND_DOC}has_permission(u: User, \"read\", d: Doc) if all(u, d) and not ({body});"),
        &(facts + "all(User:ada, Doc:d1)\nall(User:ada, Doc:x)"),
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:x"), ("allow(User:ada, \"read\", Doc:d1)", "no")],
    );
}

#[test]
fn a_thousand_literals() {
    let body = joined(1_000, " or ", |n| format!("level(d, {n})"));
    answers(
        "a_thousand_literals",
        format!("{USER_AND_DOC}has_permission(_: User, \"read\", d: Doc) if {body};"),
        "level(Doc:a, 5)\nlevel(Doc:b, 1000)",
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a"), ("allow(User:ada, \"read\", Doc:b)", "no")],
    );
}

#[test]
fn a_product_of_alternatives() {
    let body = joined(60, " and ", |n| format!("(a{n}(d) or b{n}(d))"));
    let facts = lines(60, |n| format!("{}{n}(Doc:a)", if n % 3 == 0 { "a" } else { "b" }));
    answers(
        "a_product_of_alternatives",
        format!("{USER_AND_DOC}has_permission(_: User, \"read\", d: Doc) if {body};"),
        &facts,
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a"), ("allow(User:ada, \"read\", Doc:b)", "no")],
    );
}

#[test]
fn a_product_of_alternatives_with_all_facts() {
    let body = joined(14, " and ", |n| format!("(a{n}(d) or b{n}(d))"));
    let facts = lines(14, |n| format!("a{n}(Doc:a)\nb{n}(Doc:b)"));
    answers_or_refusals(
        "a_product_of_alternatives_with_all_facts",
        format!("{USER_AND_DOC}has_permission(_: User, \"read\", d: Doc) if {body};"),
        &facts,
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a, Doc:b"), ("allow(User:ada, \"read\", Doc:c)", "no")],
    );
}

#[test]
fn negation_of_negation() {
    let links = lines(300, |n| format!("p{n}(d: Doc) if doc(d) and not p{}(d);", n + 1));
    answers_or_refusals(
        "negation_of_negation",
        format!(
            "{USER_AND_DOC}{links}p300(d: Doc) if end(d);\nhas_permission(_: User, \"read\", d: Doc) if p0(d);"
        ),
        "doc(Doc:a)\ndoc(Doc:b)\nend(Doc:a)",
        &[("allow(User:ada, \"read\", Doc:?)", "Doc:a"), ("allow(User:ada, \"read\", Doc:b)", "no")],
    );
}

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

#[test]
fn a_wide_predicate() {
    let params = joined(32, ", ", |n| format!("x{n}: Doc"));
    let body = joined(31, " and ", |n| format!("next(x{n}, x{})", n + 1));
    let rotated = joined(32, ", ", |n| format!("x{}", (n + 1) % 32));
    let given = joined(32, ", ", |_| "Doc:a".to_owned());
    let wanted = joined(32, ", ", |_| "Doc:?".to_owned());
    answers(
        "a_wide_predicate",
        format!(
            "{USER_AND_DOC}wide({params}) if {body};\nwide({params}) if wide({rotated});\ndeclare next(Doc, Doc);"
        ),
        "next(Doc:a, Doc:a)",
        &[(&format!("wide({given})"), "yes"), (&format!("wide({wanted})"), "1 rows")],
    );
}
