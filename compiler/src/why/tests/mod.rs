//! Explanations of small policies, as text.

mod bench;
mod excluded;
mod filled;
mod hostile;
mod merged;
mod near;

use super::{Budget, Verdict};
use bench::Bench;

const DOCUMENTS: &str = r#"actor User {}
actor Group {}
resource Folder {
  roles = ["reader", "editor"];
  relations = { parent: Folder };
  "reader" if "editor";
  role if role on "parent";
}
resource Document {
  permissions = ["read", "write"];
  relations = { folder: Folder };
  "read" if "reader" on "folder" and not is_blocked(actor, resource);
  "read" if is_public(resource);
  "write" if "editor" on "folder";
}
has_role(user: User, role: String, folder: Folder) if
  in_group(user, group) and group matches Group and has_role(group, role, folder);
declare is_blocked(User, Document);
"#;

const FACTS: &str = r#"
has_relation(Document:plan, "folder", Folder:a)
has_relation(Folder:a, "parent", Folder:b)
has_relation(Document:memo, "folder", Folder:b)
has_role(Group:staff, "editor", Folder:b)
in_group(User:ada, Group:staff)
in_group(User:eve, Group:staff)
is_blocked(User:eve, Document:plan)
is_public(Document:news)
"#;

#[track_caller]
fn says(bench: &Bench, question: &str, expected: &str) {
    let lines = |text: &str| text.trim().lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    assert_eq!(lines(&bench.why(question)), lines(expected), "{question}");
}

#[test]
fn a_proof_shows_rules_and_facts() {
    let bench = Bench::new(DOCUMENTS, FACTS);
    says(
        &bench,
        r#"allow(User:ada, "read", Document:plan)"#,
        r#"
allow(User:ada, "read", Document:plan) implied, height 5
  has_permission(User:ada, "read", Document:plan) line 12, height 4
    has_relation(Document:plan, "folder", Folder:a) fact
    has_role(User:ada, "reader", Folder:a) line 6, height 3
      has_role(User:ada, "editor", Folder:a) line 16, height 2
        in_group(User:ada, Group:staff) fact
        has_role(Group:staff, "editor", Folder:a) line 7, height 1
          has_relation(Folder:a, "parent", Folder:b) fact
          has_role(Group:staff, "editor", Folder:b) fact
    not is_blocked(User:ada, Document:plan)"#,
    );
}

#[test]
fn what_holds_of_everybody_is_one_step() {
    let bench = Bench::new(DOCUMENTS, FACTS);
    says(
        &bench,
        r#"allow(User:bob, "read", Document:news)"#,
        r#"
allow(User:_, "read", Document:news) implied, height 2
  has_permission(User:_, "read", Document:news) line 13, height 1
    is_public(Document:news) fact"#,
    );
}

#[test]
fn a_no_shows_what_each_rule_lacks_and_what_blocks_it() {
    let bench = Bench::new(DOCUMENTS, FACTS);
    says(
        &bench,
        r#"allow(User:eve, "read", Document:plan)"#,
        r#"
0: allow(User:eve, "read", Document:plan), no fact
   implied: has [], lacks goal 1
1: has_permission(User:eve, "read", Document:plan), no fact
   line 12: has [has_relation(Document:plan, "folder", Folder:a); has_role(User:eve, "reader", Folder:a)], lacks refuted by is_blocked(User:eve, Document:plan) fact
   line 13: has [], lacks is_public(Document:plan)
with is_public(Document:plan)"#,
    );
    says(
        &bench,
        r#"allow(User:bob, "write", Document:plan)"#,
        r#"
0: allow(User:bob, "write", Document:plan), no fact
   implied: has [], lacks goal 1
1: has_permission(User:bob, "write", Document:plan), no fact
   line 14: has [has_relation(Document:plan, "folder", Folder:a)], lacks goal 2
2: has_role(User:bob, "editor", Folder:a), no fact
   line 7: has [has_relation(Folder:a, "parent", Folder:b)], lacks goal 3
   line 16: has [has_role(Group:staff, "editor", Folder:a)], lacks in_group(User:bob, Group:staff)
3: has_role(User:bob, "editor", Folder:b), no fact
   line 7: has [], lacks has_relation(Folder:b, "parent", Folder:_)
   line 16: has [has_role(Group:staff, "editor", Folder:b)], lacks in_group(User:bob, Group:staff)
with has_role(User:bob, "editor", Folder:a)
with has_role(User:bob, "editor", Folder:b)
with in_group(User:bob, Group:staff)"#,
    );
    says(
        &bench,
        r#"allow(User:bob, "fly", Document:plan)"#,
        r#"
0: allow(User:bob, "fly", Document:plan), no fact
   implied: has [], lacks goal 1
1: has_permission(User:bob, "fly", Document:plan), no fact"#,
    );
}

#[test]
fn a_fact_is_suggested_whose_values_only_an_open_condition_gives() {
    let policy = "actor User {}\nresource Folder {}\nresource Doc {}\n\
        allow(_: User, \"read\", d: Doc) if in_folder(d, f) and is_public(f);\n\
        declare in_folder(Doc, Folder); declare is_public(Folder);";
    let why = Bench::new(policy, "is_public(Folder:pub)").why(r#"allow(User:z, "read", Doc:9)"#);
    assert!(why.trim_end().ends_with("with in_folder(Doc:9, Folder:pub)"), "{why}");
}

/// `y` may be any folder that no fact names, though others are locked.
#[test]
fn a_negation_of_a_new_value_says_so() {
    let policy = "actor User {}\nresource Fold {}\nopen(_: Fold) if flag(\"on\");\n\
        allow(_: User, \"read\", _: Fold) if open(y) and not locked(y, _);\n\
        declare locked(Fold, User); declare flag(String);";
    says(
        &Bench::new(policy, "flag(\"on\")\nlocked(Fold:1, User:2)"),
        r#"allow(User:1, "read", Fold:9)"#,
        r#"
allow(User:_, "read", Fold:_) line 4, height 2
  open(Fold:_) line 3, height 1
    flag("on") fact
  not locked(y, _), for any Fold y that no fact names"#,
    );
}

#[test]
fn the_fewest_facts_are_suggested() {
    let policy = "actor User {}\nresource Doc {}\n\
        allow(u: User, \"read\", d: Doc) if is_member(u) and is_open(d) and not is_banned(u);\n\
        declare is_member(User); declare is_open(Doc); declare is_banned(User);";
    says(
        &Bench::new(policy, "is_member(User:ada)"),
        r#"allow(User:ada, "read", Doc:x)"#,
        r#"
0: allow(User:ada, "read", Doc:x), no fact
   line 3: has [is_member(User:ada)], lacks is_open(Doc:x)
with is_open(Doc:x)"#,
    );
    let both = Bench::new(policy, "").why(r#"allow(User:ada, "read", Doc:x)"#);
    assert!(both.ends_with("with is_member(User:ada) and is_open(Doc:x)\n"), "{both}");
    let banned = Bench::new(policy, "is_banned(User:ada)").why(r#"allow(User:ada, "read", Doc:x)"#);
    assert!(!banned.contains("with "), "{banned}");
}

#[test]
fn facts_that_nobody_stores_are_suggested_last() {
    let policy = "actor User {}\nresource Doc {}\n\
        allow(u: User, \"read\", d: Doc) if trusts(u, d) and not is_banned(u);\n\
        trusts(u: User, d: Doc) if knows(u, d);\n\
        knows(u: User, d: Doc) if is_member(u) and is_open(d);\n\
        declare is_member(User); declare is_open(Doc); declare is_banned(User);";
    let asked = r#"allow(User:ada, "read", Doc:x)"#;
    let with = |policy: &str, facts: &str| -> Vec<String> {
        let why = Bench::new(policy, facts).why(asked);
        why.lines().filter(|line| line.starts_with("with ")).map(str::to_owned).collect()
    };
    assert_eq!(with(policy, ""), ["with is_member(User:ada) and is_open(Doc:x)"]);
    // A fact of the same predicate shows that some are stored, and so does a declaration.
    let knows = "with knows(User:ada, Doc:x)";
    assert_eq!(with(policy, "knows(User:eve, Doc:y)"), [knows]);
    assert_eq!(with(&format!("{policy} declare knows(User, Doc);"), ""), [knows]);
    let derived = "actor User {}\nresource Doc {}\n\
        allow(u: User, \"read\", d: Doc) if trusts(u, d);\n\
        trusts(u: User, d: Doc) if is_known(x) and u matches User and d matches Doc;\n\
        declare is_known(User);";
    assert_eq!(with(derived, ""), ["with trusts(User:ada, Doc:x)"], "there is no other");
}

#[test]
fn negations_are_finished_first() {
    let policy = "actor User {}\nresource Doc {}\n\
        a(u: User) if base(u) and not b(u);\n\
        b(u: User) if base(u) and not c(u);\n\
        c(u: User) if c(v) and next(v, u) and v matches User;\n\
        c(u: User) if start(u);\n\
        declare base(User); declare next(User, User); declare start(User);";
    let bench = Bench::new(policy, "base(User:x)\nnext(User:x, User:x)\nnext(User:y, User:x)\nstart(User:y)");
    says(
        &bench,
        "a(User:x)",
        r"
a(User:x) line 3, height 1
  base(User:x) fact
  not b(User:x)",
    );
    says(
        &bench,
        "b(User:x)",
        r"
0: b(User:x), no fact
   line 4: has [base(User:x)], lacks refuted by c(User:x) line 5, height 2;  c(User:y) line 6, height 1;    start(User:y) fact;  next(User:y, User:x) fact
with b(User:x)",
    );
}

#[test]
fn comparisons_are_shown_with_their_values() {
    let policy = "actor User {}\n\
        p(u: User) if level(u, n) and n > 5 and n in [6, 7] and until(u, t) and t > @current_unix_time;\n\
        declare level(User, Integer); declare until(User, Integer);";
    let bench = Bench::new(
        policy,
        "level(User:a, 7)\nuntil(User:a, 2000)\nlevel(User:b, 6)\nuntil(User:b, 900)\nlevel(User:c, 4)",
    );
    says(
        &bench,
        "p(User:a)",
        r"
p(User:a) line 2, height 1
  level(User:a, 7) fact
  n > 5: 7 > 5
  7 in [6, 7]
  until(User:a, 2000) fact
  t > @current_unix_time: 2000 > 1000",
    );
    let late = bench.why("p(User:b)");
    assert!(late.contains("lacks t > @current_unix_time: 900 > 1000"), "{late}");
}

#[test]
fn any_answer_explains_an_open_question() {
    let bench = Bench::new(DOCUMENTS, FACTS);
    let some = bench.why(r#"allow(User:ada, "write", Document:?)"#);
    assert!(some.starts_with(r#"allow(User:ada, "write", Document:memo)"#), "{some}");
    let none = bench.why(r#"allow(User:bob, "write", Document:?)"#);
    assert!(none.starts_with(r#"0: allow(User:bob, "write", Document:_)"#), "{none}");
}

#[test]
fn a_budget_cuts_and_says_so() {
    let mut bench = Bench::new(DOCUMENTS, FACTS);
    bench.budget = Budget { goals: 3, work: 1_000 };
    let explanation = bench.reasons(r#"allow(User:ada, "read", Document:plan)"#).explanation;
    assert_eq!((explanation.verdict, explanation.truncated), (Verdict::Unknown, true));
}

#[test]
fn a_short_proof_needs_no_look_at_everything() {
    let groups: Vec<String> = (0..500).map(|at| format!("in_group(User:ada, Group:g{at})")).collect();
    let groups = groups.join("\n");
    let facts = format!("{FACTS}{groups}\nhas_role(User:ada, \"reader\", Folder:a)\n");
    let (reasons, n_reads) = Bench::new(DOCUMENTS, &facts).read(r#"allow(User:ada, "read", Document:plan)"#);
    assert_eq!(reasons.explanation.verdict, Verdict::Holds);
    assert!(n_reads < 60, "{n_reads} reads");
}

#[test]
fn a_condition_that_another_relation_answers_has_not_failed() {
    // A permission on `Doc:a` alone is in another relation than one on any document.
    let policy = "actor User {}\nresource Doc { roles = [\"reader\"]; permissions = [\"read\"]; }\n\
        has_permission(u: User, \"read\", d: Doc) if has_role(u, \"reader\", d);\n\
        has_permission(_: User, \"read\", Doc{\"a\"}) if is_open(Doc{\"a\"});\n\
        allow(u: User, action: String, d: Doc) if has_permission(u, action, d) and not is_banned(u);\n\
        declare is_open(Doc); declare is_banned(User);";
    let bench = Bench::new(policy, "has_role(User:ada, \"reader\", Doc:a)\nis_banned(User:ada)");
    let blocked =
        "has [has_permission(User:ada, \"read\", Doc:a)], lacks refuted by is_banned(User:ada) fact";
    for action in ["\"read\"", "String:?"] {
        let why = bench.why(&format!("allow(User:ada, {action}, Doc:a)"));
        assert!(why.contains(blocked) && !why.contains(": has_permission"), "{why}");
    }
}

#[test]
fn every_form_of_a_predicate_that_fails_is_explained() {
    let policy = "actor User {}\nresource Doc {}\n\
        p(u: User, d: Doc) if is_member(u) and q(u, d);\n\
        q(u: User, d: Doc) if owns(u, d);\n\
        q(_: User, Doc{\"a\"}) if is_open(Doc{\"a\"});\n\
        declare is_member(User); declare owns(User, Doc); declare is_open(Doc);";
    says(
        &Bench::new(policy, "is_member(User:ada)"),
        "p(User:ada, Doc:a)",
        r"
0: p(User:ada, Doc:a), no fact
   line 3: has [is_member(User:ada)], lacks goal 1
1: q(User:ada, Doc:a), no fact
   line 4: has [], lacks owns(User:ada, Doc:a)
   line 5: has [], lacks is_open(Doc:a)
with is_open(Doc:a)
with owns(User:ada, Doc:a)",
    );
}

#[test]
fn values_that_must_be_equal_are_no_missing_fact() {
    let policy = "actor User {}\np(u: User) if likes(x, x) and x matches User and is_member(u);\n\
        declare likes(User, User); declare is_member(User);";
    says(
        &Bench::new(policy, "likes(User:a, User:b)\nis_member(User:ada)"),
        "p(User:ada)",
        r"
0: p(User:ada), no fact
   line 2: has [is_member(User:ada)], lacks likes(User:_, User:_) with values that are equal
with p(User:ada)",
    );
}

#[test]
fn types_that_the_policy_does_not_mention_are_named_and_differ() {
    let policy = "actor User {}\nsame(x, y) if x = y;\npair(x, y) if x != y;";
    let bench = Bench::new(policy, "");
    says(&bench, "same(Foo:1, Foo:1)", "same(Foo:1, Foo:1) line 2, height 1\n  x = y: Foo:1 = Foo:1");
    says(
        &bench,
        "same(Foo:1, Bar:1)",
        "0: same(Foo:1, Bar:1)\n   line 2: has [], lacks x = y: Foo:1 = Bar:1",
    );
    says(&bench, "pair(Foo:1, Bar:1)", "pair(Foo:1, Bar:1) line 3, height 1\n  x != y: Foo:1 != Bar:1");
}

#[test]
fn no_goal_fails_that_tests_a_value_of_its_own() {
    // Whether ann is a member of Org:a depends on a Folder that nothing gives. Only the missing relation is a
    // reason.
    let policy = r#"actor User {}
resource Folder {}
resource Org { roles = ["member"]; }
resource Document {
  permissions = ["read"];
  relations = { org: Org };
  "read" if "member" on "org";
}
same(folder: Folder, folder: Folder);
has_role(_: User, "member", Org{"a"}) if same(folder, folder);
"#;
    let bench = Bench::new(policy, "");
    says(
        &bench,
        r#"allow(User:ann, "read", Document:?)"#,
        r#"
0: allow(User:ann, "read", Document:_), no fact
   implied: has [], lacks goal 1
1: has_permission(User:ann, "read", Document:_), no fact
   line 7: has [], lacks has_relation(Document:_, "org", Org:a)
"#,
    );
}
