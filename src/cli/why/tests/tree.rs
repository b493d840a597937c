//! Explanations as text for people.

use crate::cli::why::tree::text;
use crate::http::WhyOut;
use serde_json::{Value as Json, json};

fn value(text: &str) -> Json {
    let (ty, id) = text.split_once(':').unwrap();
    json!({ "type": ty, "id": (id != "_").then_some(id) })
}

fn atom(predicate: &str, args: &[&str]) -> Json {
    json!({ "predicate": predicate, "args": args.iter().map(|arg| value(arg)).collect::<Vec<_>>() })
}

/// A fact of this source.
fn fact(atom: &Json, source: &str) -> Json {
    json!({
        "fact": atom, "height": 0, "source": source, "binding": null, "rule": null, "conditions": [],
    })
}

/// A step by a rule on a line, with steps as its conditions.
fn derived(atom: &Json, line: usize, steps: &[usize]) -> Json {
    let conditions: Vec<Json> = steps.iter().map(|step| json!({ "step": step })).collect();
    json!({
        "fact": atom, "height": 1, "source": null, "binding": null,
        "rule": { "line": line, "text": "a rule" }, "conditions": conditions,
    })
}

fn why(fields: &Json) -> WhyOut {
    let mut whole = json!({
        "allowed": false, "truncated": false, "policy": null, "policy_version": null, "offset": 0, "proof": [],
        "steps": [], "failures": [], "suggestions": [], "suggestions_truncated": false,
    });
    whole.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    serde_json::from_value(whole).unwrap()
}

#[track_caller]
fn draws(fields: &Json, expected: &str) {
    assert_eq!(text("p()", &why(fields), false), expected.trim_start());
}

#[test]
fn a_terminal_shows_colours() {
    let no = why(&json!({ "truncated": true, "suggestions_truncated": true }));
    assert!(text("p()", &no, true).starts_with("\x1b[31mno\x1b[0m: p()\n"));
    let plain = text("p()", &no, false);
    assert!(plain.contains("The search for facts that would change the answer ended"), "{plain}");
    let plain = text("p()", &WhyOut { allowed: true, ..no }, false);
    assert!(plain.starts_with("yes: p()\n") && plain.contains("ended at its limit"), "{plain}");
}

#[test]
fn the_policy_is_named_once() {
    let fields = json!({ "allowed": true, "policy": "policy.polar", "proof": [0], "steps": [
        derived(&atom("p", &["User:a"]), 7, &[1]), fact(&atom("q", &["User:a"]), "stored"),
    ] });
    draws(
        &fields,
        "
yes: p()
line numbers refer to policy.polar

p(User:a)  line 7: a rule
└─ q(User:a)  stored
",
    );
}

#[test]
fn a_name_of_a_policy_cannot_change_what_a_terminal_shows() {
    let no = why(&json!({ "policy": "\u{1b}[31ma\nb" }));
    let plain = text("p()", &no, false);
    assert!(plain.starts_with("no: p()\nline numbers refer to \u{fffd}[31ma\u{fffd}b\n"), "{plain:?}");
}

#[test]
fn a_step_that_is_used_twice_is_drawn_once() {
    let (p, q, r) = (atom("p", &["User:a"]), atom("q", &["User:a"]), atom("r", &["User:a"]));
    let steps = [derived(&p, 1, &[1, 1]), derived(&q, 2, &[2]), fact(&r, "context")];
    draws(
        &json!({ "allowed": true, "proof": [0], "steps": steps }),
        "
yes: p()

p(User:a)  line 1: a rule
├─ q(User:a)  line 2: a rule
│  └─ r(User:a)  of the request
└─ q(User:a)  line 2: a rule  (as above)
",
    );
}

#[test]
fn a_circle_of_goals_ends() {
    let goal = |id: &str, lacks: usize| {
        let attempts =
            json!([{ "rule": { "line": 3, "text": "a rule" }, "met": [], "lacks": { "goal": lacks } }]);
        json!({ "goal": atom("p", &[id]), "may_be_fact": false, "attempts": attempts, "n_others": 0 })
    };
    draws(
        &json!({ "failures": [goal("Folder:a", 1), goal("Folder:b", 0)] }),
        "
no: p()

p(Folder:a)
└─ line 3: a rule
   └─ ✗ p(Folder:b)
      └─ line 3: a rule
         └─ ✗ p(Folder:a)  (as above)
",
    );
}

#[test]
fn a_wildcard_is_said_in_words() {
    let both = atom("p", &["User:_", "Folder:_", "Folder:_"]);
    let any = json!({ "predicate": "q", "args": [{ "type": null, "id": null }] });
    let steps = [derived(&both, 1, &[1]), fact(&any, "stored")];
    draws(
        &json!({ "allowed": true, "proof": [0], "steps": steps }),
        "
yes: p()

p(User:_, Folder:_, Folder:_) (every User, every Folder)  line 1: a rule
└─ q(_) (every value)  stored
",
    );
}

#[test]
fn other_attempts_are_counted_and_suggestions_may_be_incomplete() {
    let met = json!([{ "holds": atom("q", &["User:a"]) }, { "absent": atom("r", &["User:a"]) }]);
    let attempts =
        json!([{ "rule": { "line": 3, "text": "a rule" }, "met": met, "lacks": { "test": "1 > 2" } }]);
    let goal = json!({ "goal": atom("p", &[]), "may_be_fact": true, "attempts": attempts, "n_others": 4 });
    let sets = json!([[atom("q", &["User:a"]), atom("r", &["User:b"])]]);
    draws(
        &json!({ "failures": [goal], "suggestions": sets, "suggestions_truncated": true }),
        "
no: p()

p()
├─ no such fact
├─ line 3: a rule
│  ├─ ✓ q(User:a)
│  ├─ ✓ not r(User:a)
│  └─ ✗ 1 > 2
└─ and 4 more like these

The answer would be yes with any of
  q(User:a) and r(User:b)
  There may be more: the search ended at its limit.
",
    );
}

#[test]
fn a_long_tree_is_cut() {
    let facts = (1..=600).map(|n| fact(&atom("q", &[&format!("User:{n}")]), "stored"));
    let all: Vec<usize> = (1..=600).collect();
    let steps: Vec<Json> = [derived(&atom("p", &[]), 1, &all)].into_iter().chain(facts).collect();
    let drawn = text("p()", &why(&json!({ "allowed": true, "proof": [0], "steps": steps })), false);
    assert!(drawn.ends_with("├─ q(User:499)  stored\n… and more: --json shows everything\n"), "{drawn}");
    assert_eq!(drawn.lines().count(), 503);
}

#[test]
fn a_suggestion_is_followed_by_what_else_it_changes() {
    let many: Vec<String> = (10..30).map(|n| format!("do{n}")).collect();
    let set = |id: &str| json!([atom("q", &[id])]);
    let fields = json!({
        "suggestions": [set("User:a"), set("User:b"), set("User:c")],
        "suggestion_effects": [{ "allows": ["*"], "denies": ["ask"] }, null, { "allows": many, "denies": [] }],
    });
    draws(
        &fields,
        "
no: p()


The answer would be yes with any of
  q(User:a)
    which would also allow every action
    which would also deny \"ask\"
  q(User:b)
  q(User:c)
    which would also allow \"do10\", \"do11\", \"do12\", \"do13\", \"do14\", \"do15\", \"do16\", \"do17\", \"do18\", \"do19\", \"do20\", \"do21\" and 8 others
",
    );
}
