//! Reviews of files: every kind of row, refusals, filters, formats.

use super::run;
use portcullis_testkit::server::POLICY;
use std::fs;
use tempfile::TempDir;

const FACTS: &str = r#"
has_role(User:ada, "member", Org:o)
has_role(User:ada, "auditor")
has_role(User:bob, "writer", Repo:a)
has_relation(Repo:a, "org", Org:o)
is_public(Repo:p)
"#;

fn folder(policy: &str, facts: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("policy.polar"), policy).unwrap();
    fs::write(folder.path().join("facts.txt"), facts).unwrap();
    folder
}

/// Exit code and standard output of a review of these files.
fn review(policy: &str, facts: &str, args: &[&str]) -> (i32, String) {
    let args = [&["policy.polar", "--facts", "facts.txt"], args].concat();
    let (code, out, err) = run(folder(policy, facts).path(), &args);
    assert_eq!(err, "");
    (code, out)
}

#[test]
fn an_actor_has_a_row_for_each_action_and_resource() {
    let (code, out) = review(POLICY, FACTS, &["--actor", "User:ada"]);
    let expected = "what User:ada may do, by policy 1

action        resource
audit         without a resource
invite        Org:o
visit         every Org
read          Repo:a
read          Repo:p

5 rows.
";
    assert_eq!((code, out.as_str()), (0, expected));
}

#[test]
fn a_resource_has_a_row_for_each_action_and_actor() {
    let (code, out) = review(POLICY, FACTS, &["--resource", "Repo:a"]);
    let expected = "who may act on Repo:a, by policy 1

action        actor
read          User:ada
read          User:bob
write         User:bob

3 rows.
";
    assert_eq!((code, out.as_str()), (0, expected));
    let (_, out) = review(POLICY, FACTS, &["--resource", "Repo:p"]);
    assert!(out.contains("\nread          every User\n\n1 row.\n"), "{out}");
}

#[test]
fn types_and_actions_narrow_a_review() {
    let rows = |args: &[&str]| {
        let (code, out) =
            review(POLICY, FACTS, &[&["--actor", "User:bob", "--format", "csv"], args].concat());
        (code, out.lines().skip(1).map(str::to_owned).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(rows(&[]), (0, "visit,Org,*, read,Repo,a, read,Repo,p, write,Repo,a,".to_owned()));
    assert_eq!(rows(&["--type", "Org"]), (0, "visit,Org,*,".to_owned()));
    assert_eq!(rows(&["--action", "write", "--action", "visit"]).1, "visit,Org,*, write,Repo,a,");
    assert_eq!(rows(&["--type", "Repo", "--action", "visit"]), (0, String::new()));
    assert_eq!(rows(&["--action", "fly"]), (0, String::new()));
}

const OPEN: &str = r#"
actor User {}
actor Bot {}
resource Repo {
  roles = ["reader"];
  permissions = ["read", "see"];
  "read" if "reader";
}
allow(user: User, "push", repo: Repo) if not is_banned(user) and is_public(repo);
allow(user: User, action, repo: Repo) if action != "delete" and is_root(user, repo);
allow(actor, action, repo: Repo) if has_permission(actor, action, repo);
declare is_banned(User);
"#;

#[test]
fn what_cannot_be_listed_is_a_row_and_the_rest_is_there() {
    let facts = "is_public(Repo:p)\nhas_role(Bot:b, \"reader\", Repo:p)\n";
    let (code, out) = review(OPEN, facts, &["--resource", "Repo:p"]);
    assert!(out.contains("\nread          Bot:b\n"), "{out}");
    assert!(
        out.contains("\npush          refused, User: `actor` cannot be enumerated: the rule at line 9"),
        "{out}"
    );
    assert!(out.ends_with("\n1 row.\nThe review is not complete: 1 refusal.\n"), "{out}");
    assert_eq!(code, 1);

    // The actions cannot be listed either; those that the policy declares are.
    let facts = "is_root(User:eve, Repo:r)\nhas_permission(User:eve, \"fly\", Repo:s)\n";
    let (code, out) = review(OPEN, facts, &["--actor", "User:eve", "--format", "json"]);
    let lines: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let refused = &lines[0];
    assert_eq!(
        (&refused["action"], &refused["type"]),
        (&serde_json::Value::Null, &serde_json::json!("Repo"))
    );
    assert_eq!(refused["refused"]["code"], "not_enumerable");
    let row = |action: &str| serde_json::json!({ "action": action, "type": "Repo", "id": "r" });
    assert_eq!((&lines[1], &lines[2]), (&row("read"), &row("see")));
    let end = &lines[3]["end"];
    assert_eq!((&end["rows"], &end["refusals"]), (&serde_json::json!(2), &serde_json::json!(1)));
    assert_eq!((code, lines.len()), (1, 4));
    // An action that is asked for does not need the others.
    let (code, out) = review(OPEN, facts, &["--actor", "User:eve", "--action", "fly", "--format", "csv"]);
    assert_eq!((code, out.as_str()), (0, "action,type,id,refused\nfly,Repo,r,\nfly,Repo,s,\n"));
}

/// The second rule is covered by the first if any resource will do.
const ROOT: &str = r#"
actor User {}
resource Repo {}
allow(user: User, _, repo: Repo) if is_root(user, repo);
allow(user: User, "read", repo: Repo) if is_root(user, other) and is_copy(repo, other);
allow(user: User, "rest", _) if is_resting(user);
declare is_root(User, Repo);
declare is_copy(Repo, Repo);
"#;

#[test]
fn a_wildcard_hides_no_action_and_is_not_expanded() {
    let facts = "is_root(User:ada, Repo:a)\nis_copy(Repo:b, Repo:a)\n";
    let (code, out) = review(ROOT, facts, &["--actor", "User:ada", "--format", "csv"]);
    assert_eq!((code, out.as_str()), (0, "action,type,id,refused\n*,Repo,a,\nread,Repo,a,\nread,Repo,b,\n"));
    let (_, out) = review(ROOT, facts, &["--resource", "Repo:a"]);
    assert!(out.contains("\nevery action  User:ada\n\n1 row.\n"), "{out}");

    let (code, out) = review(ROOT, "is_resting(User:eve)\n", &["--actor", "User:eve"]);
    assert!(out.contains("\nrest          every value of any other type\n"), "{out}");
    assert!(out.contains("\nrest          every Repo\nrest          every String\n"), "{out}");
    assert_eq!(code, 0);
}

#[test]
fn a_type_that_the_policy_does_not_name_is_said() {
    let (code, out) = review(POLICY, FACTS, &["--actor", "user:ada"]);
    assert!(out.ends_with("\n0 rows.\nThe policy names no type `user`.\n"), "{out}");
    assert_eq!(code, 1);
    let args = ["policy.polar", "--actor", "User:ada", "--type", "Martian", "--format", "csv"];
    let (code, out, err) = run(folder(POLICY, FACTS).path(), &args);
    assert_eq!((code, out.as_str()), (1, "action,type,id,refused\n"));
    assert_eq!(err, "The policy names no type `Martian`.\n");
}

#[test]
fn an_id_cannot_look_like_a_row() {
    let facts = "{\"predicate\":\"has_role\",\"args\":[{\"type\":\"User\",\"id\":\"a\\nwrite  User:b\"},\
                 {\"type\":\"String\",\"id\":\"reader\"},{\"type\":\"Repo\",\"id\":\"r\"}]}\n";
    let (_, out) = review(POLICY, facts, &["--resource", "Repo:r"]);
    assert!(out.contains("\nread          User:\"a\\nwrite  User:b\"\n"), "{out}");
}

#[test]
fn wrong_arguments_are_refused() {
    let folder = folder(POLICY, FACTS);
    let run = |args: &[&str]| run(folder.path(), args);
    assert_eq!(run(&["policy.polar"]).0, 2);
    assert_eq!(run(&["--actor", "User:ada", "--facts", "facts.txt"]).0, 2);
    assert_eq!(run(&["policy.polar", "--actor", "User:ada", "--resource", "Repo:a"]).0, 2);
    assert_eq!(run(&["policy.polar", "--actor", "User:ada", "--url", "http://x"]).0, 2);
    for (value, part) in [
        ("User", "after the type"),
        ("User:?", "one value"),
        ("Actor:a", "a concrete type"),
        ("User:a b", "the end of the value"),
    ] {
        let (code, _, err) = run(&["policy.polar", "--actor", value]);
        assert!(code == 2 && err.contains(part), "{err}");
    }
    let (code, _, err) = run(&["policy.polar", "--actor", "User:a", "--type", "Resource"]);
    assert!(code == 1 && err.contains("no resource has the type `Resource`"), "{err}");
    let (code, out, _) = run(&["policy.polar", "--actor", "User:a", "--type", "Resource", "--json"]);
    assert!(code == 1 && out.contains("\"code\": \"invalid_request\""), "{out}");
}
