//! Questions over any predicate.

use super::super::{
    ArgPattern, Assignment, Change, Engine, EngineSettings, EvaluateQuery, EvaluateVar, FactPattern,
    PolicyOptions,
};
use super::{engine_with, fact, repositories, value};

/// Calls written `predicate var var`, and variables as name, type and ids.
fn query(calls: &[&str], vars: &[(&str, &str, Option<&[&str]>)]) -> EvaluateQuery {
    let call = |call: &&str| {
        let mut words = call.split(' ').map(str::to_owned);
        (words.next().unwrap_or_default(), words.collect())
    };
    let var = |(name, ty, ids): &(&str, &str, Option<&[&str]>)| {
        let ids = ids.map(|ids| ids.iter().map(|id| (*id).to_owned()).collect());
        ((*name).to_owned(), EvaluateVar { ty: (*ty).to_owned(), ids })
    };
    EvaluateQuery { atoms: calls.iter().map(call).collect(), vars: vars.iter().map(var).collect() }
}

async fn answers(calls: &[&str], vars: &[(&str, &str, Option<&[&str]>)]) -> String {
    let shown = |answer: Assignment| {
        let ids = answer.into_iter().map(|(var, id)| format!("{var}={}", id.unwrap_or_else(|| "any".into())));
        ids.collect::<Vec<_>>().join(" ")
    };
    match repositories().await.evaluate(query(calls, vars), vec![]).await {
        Ok(answers) => answers.into_iter().map(shown).collect::<Vec<_>>().join("; "),
        Err(error) => error.to_string(),
    }
}

const READ: (&str, &str, Option<&[&str]>) = ("read", "String", Some(&["read"]));

#[tokio::test]
async fn variables_are_asked_given_or_one_of_several() {
    let any_user = ("u", "User", None);
    let tools = ("r", "Repo", Some(&["tools"] as &[&str]));
    let two = ("r", "Repo", Some(&["tools", "anvils", "tools", "unknown"] as &[&str]));
    assert_eq!(
        answers(&["has_permission u read r"], &[any_user, READ, tools]).await,
        "r=tools read=read u=bob"
    );
    assert_eq!(
        answers(&["has_permission u read r"], &[any_user, READ, two]).await,
        "r=anvils read=read u=ada; r=tools read=read u=bob"
    );
    let ada = ("u", "User", Some(&["ada"] as &[&str]));
    assert_eq!(answers(&["has_permission u read r"], &[ada, READ, tools]).await, "");
    assert_eq!(
        answers(&["has_permission u read r"], &[ada, READ, ("r", "Repo", Some(&["anvils"]))]).await,
        "r=anvils read=read u=ada"
    );
    assert_eq!(answers(&["has_permission u read r"], &[any_user, READ, ("r", "Repo", Some(&[]))]).await, "");
}

#[tokio::test]
async fn what_nothing_bounds_is_any_value() {
    let (user, repo) = (("u", "User", None), ("r", "Repo", None));
    let site = ("r", "Repo", Some(&["site"] as &[&str]));
    assert_eq!(answers(&["has_permission u read r"], &[user, READ, site]).await, "r=site read=read u=any");
    let root = ("u", "User", Some(&["root"] as &[&str]));
    assert_eq!(
        answers(&["allow u read r"], &[root, READ, repo]).await,
        "r=any read=read u=root; r=site read=read u=root"
    );
    let unused = ("x", "Repo", Some(&["1", "2"] as &[&str]));
    assert_eq!(answers(&["is_public r"], &[site, unused]).await, "r=site x=1; r=site x=2");
}

#[tokio::test]
async fn calls_are_joined_by_their_variables() {
    let (user, org, repo) = (("u", "User", None), ("o", "Org", None), ("r", "Repo", None));
    let (admin, rel) =
        (("admin", "String", Some(&["admin"] as &[&str])), ("rel", "String", Some(&["org"] as &[&str])));
    assert_eq!(
        answers(&["has_role u admin o", "has_relation r rel o"], &[user, org, repo, admin, rel]).await,
        "admin=admin o=acme r=anvils rel=org u=ada; admin=admin o=acme r=rockets rel=org u=ada"
    );
}

#[tokio::test]
async fn calls_that_share_no_variable_are_multiplied() {
    let (user, org, repo) = (("u", "User", None), ("o", "Org", None), ("r", "Repo", None));
    let admin = ("admin", "String", Some(&["admin"] as &[&str]));
    let rel = ("rel", "String", Some(&["org"] as &[&str]));
    assert_eq!(
        answers(&["has_relation r rel o", "is_superuser u"], &[user, org, repo, rel]).await,
        "o=acme r=anvils rel=org u=root; o=acme r=rockets rel=org u=root"
    );
    let ada = ("v", "User", Some(&["ada", "bob"] as &[&str]));
    let acme = ("o", "Org", Some(&["acme"] as &[&str]));
    assert_eq!(
        answers(
            &["has_role v admin o", "has_relation r rel o", "is_public s"],
            &[ada, admin, acme, rel, repo, ("s", "Repo", None)]
        )
        .await,
        "admin=admin o=acme r=anvils rel=org s=site v=ada; admin=admin o=acme r=rockets rel=org s=site v=ada"
    );
    // A part without wanted variables restricts all others, and so does a part without an answer.
    let root = ("w", "User", Some(&["root"] as &[&str]));
    let nobody = ("w", "User", Some(&["nobody"] as &[&str]));
    let asked = ["is_superuser u", "is_superuser w", "is_public r"];
    assert_eq!(answers(&asked, &[user, root, repo]).await, "r=site u=root w=root");
    assert_eq!(answers(&asked, &[user, nobody, repo]).await, "");
    let none = ("x", "Repo", Some(&["no", "such"] as &[&str]));
    assert_eq!(answers(&["is_superuser u", "is_public x", "is_public r"], &[user, none, repo]).await, "");
    // A part may hold for any value.
    assert_eq!(
        answers(&["allow w read r", "is_public s"], &[root, READ, repo, ("s", "Repo", None)]).await,
        "r=any read=read s=site w=root; r=site read=read s=site w=root"
    );
}

/// As long as nothing is public there is no answer, regardless of what else is asked.
#[tokio::test]
async fn what_cannot_be_enumerated_is_refused_next_to_parts_that_have_answers() {
    let policy = r#"
        actor User {} resource Doc {}
        allow(u: User, "read", d: Doc) if is_admin(u) and not hidden(d);
        allow(u: User, "read", d: Doc) if owns(u, d);
        declare is_public(Doc);
    "#;
    let vars = [("u", "User", Some(&["ada"] as &[&str])), READ, ("d", "Doc", None), ("p", "Doc", None)];
    let asked = query(&["allow u read d", "is_public p"], &vars);
    let facts: [(&str, &[&str]); 3] =
        [("is_admin", &["User:ada"]), ("hidden", &["Doc:h"]), ("owns", &["User:bob", "Doc:b"])];
    let engine = engine_with(policy, &facts).await;
    assert_eq!(engine.evaluate(asked.clone(), vec![]).await.unwrap(), []);
    let public = vec![fact("is_public", &["Doc:p"])];
    let refused = engine.evaluate(asked.clone(), public.clone()).await.unwrap_err().to_string();
    assert!(refused.contains("`d` cannot be enumerated"), "{refused}");
    let vars = [("u", "User", Some(&["bob"] as &[&str])), vars[1], vars[2], vars[3]];
    let asked = query(&["allow u read d", "is_public p"], &vars);
    let answers = engine.evaluate(asked, public).await.unwrap();
    assert_eq!(answers.len(), 1, "{answers:?}");
}

#[tokio::test]
async fn a_product_over_the_limit_is_refused() {
    let n =
        |predicate: &str| (0..40).map(|n| fact(predicate, &[&format!("Integer:{n}")])).collect::<Vec<_>>();
    let settings = EngineSettings { answer_rows: 1_000, ..EngineSettings::default() };
    let engine = Engine::in_memory(settings).await.unwrap();
    let policy = "declare a(Integer); declare b(Integer); declare c(Integer);
        pair(x: Integer, y: Integer) if a(x) and b(y);";
    engine.set_policy(policy.into(), "test.polar".into(), PolicyOptions::default()).await.unwrap();
    engine.apply(vec![Change::Insert([n("a"), n("b")].concat())]).await.unwrap();
    let ask = async |calls: &[&str], vars: &[(&str, &str, Option<&[&str]>)]| {
        engine.evaluate(query(calls, vars), vec![]).await.map_err(|error| error.to_string())
    };
    let (x, y, z) = (("x", "Integer", None), ("y", "Integer", None), ("z", "Integer", None));
    let refused = Err("the answer has more than 1000 rows: ask for less at once".to_owned());
    assert_eq!(ask(&["a x", "b y"], &[x, y]).await, refused);
    assert_eq!(ask(&["pair x y"], &[x, y]).await, refused);
    assert_eq!(ask(&["a x", "b y", "c z"], &[x, y, z]).await.unwrap(), []);
    let few = ("y", "Integer", Some(&["1", "2", "99"] as &[&str]));
    assert_eq!(ask(&["a x", "b y"], &[x, few]).await.unwrap().len(), 80);
    let unused: Vec<String> = (0..26).map(|n| n.to_string()).collect();
    let unused: Vec<&str> = unused.iter().map(String::as_str).collect();
    assert_eq!(ask(&["a x"], &[x, ("y", "Integer", Some(&unused))]).await, refused);
    assert_eq!(ask(&["a x"], &[x, ("y", "Integer", Some(&unused[..25]))]).await.unwrap().len(), 1_000);
}

#[tokio::test]
async fn a_wrong_query_is_refused_with_the_reason() {
    let user = ("u", "User", None);
    assert_eq!(
        answers(&["is_superuser v"], &[user]).await,
        "variable `v` of `is_superuser` is not in the constraints: add `v` to `constraints`"
    );
    assert_eq!(
        answers(&["is_superuser u"], &[("u", "Actor", None)]).await,
        "variable `u` has type `Actor`: use a concrete type"
    );
    assert_eq!(
        answers(&["no_such u"], &[user]).await,
        "the policy has no predicate `no_such` with 1 argument: correct its name or the number of its arguments"
    );
    assert!(
        answers(&["is_superuser u"], &[("u", "Integer", Some(&["007"]))]).await.contains("not an Integer")
    );
    assert_eq!(answers(&["is_superuser u"], &[("u", "Lab", None)]).await, "");
}

/// A message names a rule's variable as the rule does, and the asker's variable as the asker does.
#[tokio::test]
async fn a_refusal_names_what_may_be_given() {
    let policy = "resource Node {}
calm(n: Node) if not loud(n);
near(a: Node, n: Node) if edge(a, n) and calm(n);
near(a: Node, n: Node) if near(a, m) and calm(n) and not edge(m, n);";
    let engine = engine_with(policy, &[("edge", &["Node:a", "Node:b"])]).await;
    let ask = async |calls: &[&str], vars: &[(&str, &str, Option<&[&str]>)]| {
        engine.evaluate(query(calls, vars), vec![]).await.unwrap_err().to_string()
    };
    let refused = ask(&["near from to"], &[("from", "Node", None), ("to", "Node", None)]).await;
    assert!(
        refused
            .contains("the rule at line 4 tests a value that nothing enumerates, by `not edge(…)`: bind it"),
        "{refused}"
    );
    // With either value and with both, the recursion calls `calm` for values that nothing enumerates.
    assert!(!refused.contains("a value for"), "{refused}");
    let refused = ask(&["calm what"], &[("what", "Node", None)]).await;
    assert!(refused.contains("`what` cannot be enumerated: the rule at line 2"), "{refused}");
}

/// A rule that only says that a value is under itself tests nothing: the rule that calls it does.
#[tokio::test]
async fn a_refusal_names_the_rule_that_tests() {
    let policy = "actor User {}
resource Folder {}
under(f: Folder, f);
under(f: Folder, g: Folder) if parent(f, h) and under(h, g);
lapsed(u: User, f: Folder) if under(f, f) and denied(u) and not lasts(f, _);
closed(u: User) if known(u) and lapsed(u, _);
declare lasts(Folder, Integer);";
    let facts: [(&str, &[&str]); 4] = [
        ("parent", &["Folder:a", "Folder:b"]),
        ("denied", &["User:u"]),
        ("lasts", &["Folder:a", "Integer:1"]),
        ("known", &["User:u"]),
    ];
    let engine = engine_with(policy, &facts).await;
    let asked = query(&["closed who"], &[("who", "User", Some(&["u"]))]);
    let refused = engine.evaluate(asked, vec![]).await.unwrap_err().to_string();
    let expected = "the rule at line 5 tests `f`, which nothing enumerates, by `not lasts(…)`: bind it";
    assert!(refused.contains(expected), "{refused}");
}

/// A refusal for size says at which rule, and one for a missing type which variable of the question lacks it.
#[tokio::test]
async fn a_refusal_names_the_rule_and_what_it_lacks() {
    let either = (0..300).map(|n| format!("a{n}(doc)")).collect::<Vec<_>>().join(" or ");
    let one_of = |var: char| format!("{var} in [\"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\"]");
    let each = ['a', 'b', 'c', 'd', 'e', 'f'].map(one_of).join(" and ");
    let policy = format!(
        "resource Doc {{}}
resource Folder {{}}
open(doc: Doc) if {either};
code(a: String, b: String, c: String, d: String, e: String, f: String) if
  {each};
differs(x, y) if x != y;"
    );
    let facts: Vec<String> = (0..300).map(|n| format!("a{n}")).collect();
    let facts: Vec<(&str, &[&str])> =
        facts.iter().map(|name| (name.as_str(), &["Doc:a"] as &[&str])).collect();
    let engine = engine_with(&policy, &facts).await;
    let ask = async |calls: &[&str], vars: &[(&str, &str, Option<&[&str]>)]| {
        engine.evaluate(query(calls, vars), vec![]).await.unwrap_err().to_string()
    };
    assert_eq!(
        ask(&["open what"], &[("what", "Doc", None)]).await,
        "the question needs too many alternatives: one statement takes at most 256 per condition, 4000 in all, and 400 tables (reached in the rule at line 3): give `what` a value, or move some of the rules to a predicate that another question asks about"
    );
    let vars = ["a", "b", "c", "d", "e", "f"].map(|name| (name, "String", None));
    assert_eq!(
        ask(&["code a b c d e f"], &vars).await,
        "the question needs more than 200000 copies of rules (reached in the rule at line 4): give `a` or `b` or `c` or `d` or `e` or `f` a value, or give the rules' variables narrower types"
    );
    let pattern = FactPattern {
        predicate: Some("differs".into()),
        args: vec![ArgPattern::Exact(value("Doc", "a")), ArgPattern::Any],
        open_arity: false,
    };
    let refused = engine.query(pattern, vec![]).await.unwrap_err().to_string();
    assert_eq!(
        refused,
        "the rule at line 6 tests `y`, which may be of any type: give argument 2 a type, or give `y` a type in the rule"
    );
}

/// Three recursions that read each other, and a question that reads them in so many places that SQLite would
/// refuse the statement if each place had its own.
#[tokio::test]
async fn many_reads_of_three_recursions_share_their_tables() {
    let page = include_str!("../../../fixtures/conformance/recursion/three-that-read-each-other.md");
    let policy = page.split("```policy").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let facts: [(&str, &[&str]); 3] = [
        ("has_role", &["User:dan", "String:owner", "Organization:corp"]),
        ("has_relation", &["Folder:top", "String:organization", "Organization:lab"]),
        ("has_relation", &["Organization:lab", "String:parent", "Organization:corp"]),
    ];
    let engine = engine_with(policy, &facts).await;
    let vars =
        [("u", "User", None), ("r", "String", None), ("f", "Folder", None), ("o", "Organization", None)];
    let answers = engine.evaluate(query(&["has_role u r f", "has_role u r o"], &vars), vec![]).await.unwrap();
    assert_eq!(answers.len(), 2, "{answers:?}");
}

#[tokio::test]
async fn what_only_a_comparison_bounds_cannot_be_listed() {
    let engine = engine_with("big(n: Integer) if n > 3;", &[]).await;
    let ask = async |ids| engine.evaluate(query(&["big size"], &[("size", "Integer", ids)]), vec![]).await;
    assert_eq!(ask(Some(&["2", "4", "10"])).await.unwrap().len(), 2);
    let refused = ask(None).await.unwrap_err().to_string();
    assert!(refused.contains("`size` cannot be enumerated") && refused.contains("line 1"), "{refused}");
    // What was refused once is not compiled again.
    let before = engine.counters().stored_plans;
    assert_eq!(ask(None).await.unwrap_err().to_string(), refused);
    let after = engine.counters().stored_plans;
    assert_eq!((after.misses, after.hits), (before.misses, before.hits + 1));
}

#[tokio::test]
async fn a_refusal_names_the_rule_by_its_own_variables() {
    let engine =
        engine_with("big(n: Integer) if n > 3;\nodd(x: Integer) if x > 3 and big(v0) and v0 > x;", &[]).await;
    let asked = query(&["odd size"], &[("size", "Integer", Some(&["7"]))]);
    let refused = engine.evaluate(asked, vec![]).await.unwrap_err().to_string();
    assert!(refused.contains("`v0`") && !refused.contains("`size`"), "{refused}");
    // The test is in the first rule, the variable in the second.
    let policy = "actor User {} resource Doc {}\nopen(doc: Doc) if not closed(doc);\ndeclare closed(Doc);\n\
                  busy(user: User) if known(user) and open(place) and place != Doc{\"x\"};\ndeclare known(User);";
    let engine = engine_with(policy, &[("known", &["User:ada"])]).await;
    let asked = query(&["busy who"], &[("who", "User", Some(&["ada"]))]);
    let refused = engine.evaluate(asked, vec![]).await.unwrap_err().to_string();
    assert!(refused.contains("the rule at line 4 tests `place`"), "{refused}");
}

#[tokio::test]
async fn names_of_variables_do_not_matter() {
    let engine = repositories().await;
    for name in ["a", "b", "_", "'", "v0\u{0}"] {
        let answers =
            engine.evaluate(query(&[&format!("is_superuser {name}")], &[(name, "User", None)]), vec![]);
        assert_eq!(answers.await.unwrap().len(), 1, "{name}");
    }
}

#[tokio::test]
async fn a_pattern_finds_facts_stored_and_derived() {
    let engine = repositories().await;
    let find = async |predicate: &str, args: Vec<ArgPattern>| {
        let answers = engine.query(FactPattern::new(predicate, args), vec![]).await.unwrap();
        let shown = answers.into_iter().map(|fact| {
            let args = fact.args.into_iter().map(|arg| match arg {
                ArgPattern::Exact(value) => format!("{}:{}", value.ty, value.id),
                ArgPattern::Typed(ty) => format!("any {ty}"),
                ArgPattern::Any => "any".into(),
            });
            args.collect::<Vec<_>>().join(" ")
        });
        shown.collect::<Vec<String>>()
    };
    let exact = |ty: &str, id: &str| ArgPattern::Exact(value(ty, id));
    assert_eq!(
        find("has_role", vec![exact("User", "ada"), ArgPattern::Any, ArgPattern::Any]).await,
        [
            "User:ada String:admin Org:acme",
            "User:ada String:member Org:acme",
            "User:ada String:reader Repo:anvils",
            "User:ada String:reader Repo:rockets",
            "User:ada String:writer Repo:anvils",
            "User:ada String:writer Repo:rockets",
        ]
    );
    assert_eq!(find("is_public", vec![ArgPattern::Typed("Repo".into())]).await, ["Repo:site"]);
    assert_eq!(find("is_public", vec![exact("Repo", "site")]).await, ["Repo:site"]);
    assert!(find("is_public", vec![exact("Repo", "tools")]).await.is_empty());
    let public = find(
        "has_permission",
        vec![ArgPattern::Typed("User".into()), exact("String", "read"), exact("Repo", "site")],
    );
    assert_eq!(public.await, ["any User String:read Repo:site"]);
    let context = vec![fact("is_public", &["Repo:tools"])];
    let pattern = FactPattern::new("is_public", vec![ArgPattern::Any]);
    assert_eq!(engine.query(pattern, context).await.unwrap().len(), 2);
}
