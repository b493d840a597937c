//! The policy's own tests: facts, fixtures, assertions.

use super::*;
use insta::assert_snapshot;
use std::fmt::Write as _;

/// The rules generated for the tests, and each test with its facts and assertions.
fn shown(text: &str) -> String {
    let program = program(text);
    let name = |pred: crate::ir::PredId| program.predicates[pred.index()].name.clone();
    let generated = print::rules(&program);
    let mut shown = String::new();
    for line in generated.lines().filter(|line| line.starts_with("'goal") || line.starts_with("'iff")) {
        let _ = writeln!(shown, "{line}");
    }
    for test in &program.tests {
        let _ = writeln!(shown, "test {:?}", test.name);
        for fact in &test.facts {
            let args: Vec<_> = fact.args.iter().map(|&arg| print::constant(&program, arg)).collect();
            let _ = writeln!(shown, "  {}({})", fact.predicate, args.join(", "));
        }
        for assertion in &test.assertions {
            let word = if assertion.positive { "assert" } else { "assert_not" };
            let types = assertion
                .var_types
                .as_ref()
                .map(|types| types.iter().map(|ty| program.types[*ty].name.as_str()).collect::<Vec<_>>());
            let _ = writeln!(
                shown,
                "  {word} {} {types:?} iff {:?}",
                name(assertion.goal),
                assertion.iff.map(name)
            );
        }
    }
    shown
}

const POLICY: &str = r#"
    actor User {} actor Bot {}
    resource Doc { roles = ["reader"]; permissions = ["read", "write"]; "read" if "reader"; "write" if age(resource, 3); }
"#;

#[test]
fn setup_and_fixture_facts_are_the_data() {
    let tests = r#"
        test "one" { setup { has_role(User{"a"}, "reader", Doc{"d"}); fixture more; } assert allow(User{"a"}, "read", Doc{"d"}); }
        test fixture more { age(Doc{"d"}, 3); age(Doc{"e"}, Integer{-4}); }
        test "two" { setup { fixture more; } assert_not allow(User{"a"}, "read", Doc{"d"}); }"#;
    assert_snapshot!(shown(&format!("{POLICY}{tests}")), @r#"
    'goal.1() :- allow(User{"a"}, "read", Doc{"d"})
    'goal.2() :- allow(User{"a"}, "read", Doc{"d"})
    test "one"
      has_role(User{"a"}, "reader", Doc{"d"})
      age(Doc{"d"}, 3)
      age(Doc{"e"}, -4)
      assert 'goal.1 None iff None
    test "two"
      age(Doc{"d"}, 3)
      age(Doc{"e"}, -4)
      assert_not 'goal.2 None iff None
    "#);
}

#[test]
fn one_variable_may_be_asked_for() {
    let tests = r#"test "t" {
        assert allow(User{"a"}, action: String, Doc{"d"}) iff action in ["read"] and action != "write";
        assert_not allow(who: Actor, "read", Doc{"d"});
        assert related(x: Doc, x);
        assert allow(_: User, "read", Doc{"d"});
        assert has_role(User{"a"}, "reader", d: Doc) iff not d in [Doc{"x"}] or age(d, _);
    }"#;
    assert_snapshot!(shown(&format!("{POLICY}{tests}")), @r#"
    'goal.1(action: String) :- allow(User{"a"}, action, Doc{"d"})
    'iff.2(action: String) :- action in ["read"], action != "write"
    'goal.3(who: {User, Bot}) :- allow(who, "read", Doc{"d"})
    'goal.4(x: Doc) :- related(x, x)
    'goal.5(_0: User) :- allow(_0, "read", Doc{"d"})
    'goal.6(d: Doc) :- has_role(User{"a"}, "reader", d)
    'iff.7(d: Doc) :- not d in [Doc{"x"}]
    'iff.7(d: Doc) :- age(d, _1)
    test "t"
      assert 'goal.1 Some(["String"]) iff Some("'iff.2")
      assert_not 'goal.3 Some(["User", "Bot"]) iff None
      assert 'goal.4 Some(["Doc"]) iff None
      assert 'goal.5 Some(["User"]) iff None
      assert 'goal.6 Some(["Doc"]) iff Some("'iff.7")
    "#);
}

#[test]
fn mistakes_of_tests_are_found() {
    let tests = r#"
        test "t" { setup { has_role(User{"a"}, "raeder", Doc{"d"}); age(d, @current_unix_time); fixture ghost; age(Actor{"x"}, 3); }
            assert allow(a: User, b: String, Doc{"d"});
            assert allow(User{"a"}, action, Doc{"d"});
            assert allow(User{"a"}, "read", Dok{"d"});
            assert allow(User{"a"}, "read", d: Dok);
            assert allow(User{"a"}, "read", Doc{"d"}) iff true;
            assert allow(User{"a"}, x: String, Doc{"d"}) iff x = y;
            assert p(_: User, _: User);
        }
        test "t" { setup { fixture f; } assert q(); }
        test fixture g {} test fixture g {}"#;
    assert_snapshot!(findings(&format!("{POLICY}{tests}")), @r#"
    P0304 5:28 [has_role(User{"a"}, "raeder", Doc{"d"})] has_role(User, "raeder", Doc) is not used in policy
    P0305 5:73 [d] a test fact cannot contain the variable `d`
    P0305 5:76 [@current_unix_time] a test fact cannot contain the current time
    P0212 5:105 [ghost] there is no test fixture named `ghost`
    P0307 5:116 [Actor] no value has the type `Actor` itself
    P0303 6:35 [b] an assertion can have only one variable, but this one has `a` and `b`
    P0309 7:37 [action] the variable `action` of an assertion needs a type
    P0215 8:45 [Dok] nothing in the policy has the type `Dok` -> Doc
    P0215 9:48 [Dok] nothing in the policy has the type `Dok` -> Doc
    P0311 10:59 [true] `iff` needs a variable in the assertion
    P0310 11:66 [y] `iff` uses `y`, which is not the assertion's variable
    P0303 12:31 [_] an assertion can have only one variable, but this one has `_` and `_`
    P0213 14:14 ["t"] there are two tests named `t`
    P0212 14:36 [f] there is no test fixture named `f`
    P0214 15:40 [g] there are two test fixtures named `g`
    "#);
}

/// `User:ann` is how facts are written outside of a policy.
#[test]
fn an_object_in_the_notation_of_facts_is_written_out() {
    let text = format!(
        "{POLICY}test \"t\" {{ setup {{ has_role(User:ann, \"reader\", Doc{{\"d\"}}); }} assert p(); }}"
    );
    let source = SourceMap::new("policy.polar", &text);
    let (policy, mut found) = syntax::parse(&source);
    found.extend(crate::resolve::resolve(&source, &policy).1);
    let helps: Vec<String> = found.into_iter().filter_map(|found| found.help).collect();
    for help in ["write an object as `User{\"ann\"}`", "write a value: `\"User\"` or `User{\"id\"}`"] {
        assert!(helps.iter().any(|found| found == help), "{helps:?}");
    }
}
