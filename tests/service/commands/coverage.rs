//! `portcullis test --coverage`: which rules the tests use, as text, as JSON and as `JUnit` XML.

#![expect(clippy::unwrap_used, reason = "a test that cannot start its program has failed")]

use portcullis_testkit::program::run;
use serde_json::{Value as Json, json};
use std::fs;
use tempfile::TempDir;

const POLICY: &str = r#"actor User {}
resource Repo {
  roles = ["reader", "writer"];
  permissions = ["read", "write"];
  "reader" if "writer";
  "read" if "reader" and not is_secret(resource);
  "write" if "writer";
}
is_secret(repo: Repo) if has_label(repo, "secret");
test "writers read" {
  setup { has_role(User{"a"}, "writer", Repo{"r"}); has_label(Repo{"s"}, "secret"); }
  assert allow(User{"a"}, "read", Repo{"r"});
  assert_not allow(User{"b"}, "write", Repo{"r"});
}
"#;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("p.polar"), POLICY).unwrap();
    fs::write(folder.path().join("none.polar"), "actor User {}\n").unwrap();
    folder
}

#[test]
fn each_rule_has_its_line_and_its_uses() {
    let folder = folder();
    let (code, out, err) = run(folder.path(), &["test", "p.polar", "--coverage"]);
    let expected = "p.polar
  ok  writers read  2/2
1 test, 0 failed
2 of 4 rules used (50 %)
     1 use  p.polar:5  \"reader\" if \"writer\";
     1 use  p.polar:6  \"read\" if \"reader\" and not is_secret(resource);
  not used  p.polar:7  \"write\" if \"writer\";
  not used  p.polar:9  is_secret(repo: Repo) if has_label(repo, \"secret\");
";
    assert_eq!((code, out.replace("ok      ", "ok  "), err.as_str()), (Some(0), expected.to_owned(), ""));
    assert!(!run(folder.path(), &["test", "p.polar"]).1.contains("used"));
}

#[test]
fn too_little_coverage_fails() {
    let folder = folder();
    let least = |percent: &str, files: &[&str]| {
        let (code, _, err) = run(folder.path(), &[&["test", "--coverage-min", percent], files].concat());
        (code.unwrap(), err)
    };
    assert_eq!(least("50", &["p.polar", "none.polar"]), (0, String::new()));
    let message = "2 of 4 rules used (50 %), fewer than the 50.5 % of `--coverage-min`\n";
    assert_eq!(least("50.5", &["p.polar", "none.polar"]), (1, message.to_owned()));
    assert_eq!(least("100", &["none.polar"]).0, 0);
    assert_eq!(least("101", &["p.polar"]).0, 2);
}

#[test]
fn programs_get_the_same() {
    let folder = folder();
    let args = ["test", "p.polar", "--coverage", "--json", "--junit", "results.xml"];
    let (code, out, _) = run(folder.path(), &args);
    let files: Json = serde_json::from_str(&out).unwrap();
    let coverage = &files[0]["coverage"];
    let counts = ["covered", "percent", "unexplained"].map(|name| coverage[name].clone());
    assert_eq!((code, counts), (Some(0), [json!(2), json!(50.0), json!(0)]));
    let last = json!({ "line": 7, "text": "\"write\" if \"writer\";", "assertions": 0 });
    assert_eq!((coverage["rules"].as_array().unwrap().len(), &coverage["rules"][2]), (4, &last));

    let xml = fs::read_to_string(folder.path().join("results.xml")).unwrap();
    for property in [
        r#"<property name="rules" value="4"/>"#,
        r#"<property name="covered_rules" value="2"/>"#,
        r#"<property name="uncovered_line_7" value="&quot;write&quot; if &quot;writer&quot;;"/>"#,
    ] {
        assert!(xml.contains(property), "{xml}");
    }
    assert!(xml.find("<properties>") < xml.find("<testcase"), "{xml}");
    let (_, out, _) = run(folder.path(), &["test", "p.polar", "--json"]);
    assert!(!out.contains("coverage"), "{out}");
}
