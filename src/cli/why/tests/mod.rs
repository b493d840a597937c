//! Questions as they are asked, and explanations as trees.

mod tree;

use super::*;

fn question(text: &str) -> Result<WhyQuestion, CliError> {
    why_question(&parsed(None, text)?, text)
}

fn asked(text: &str, context: &[&str]) -> AskedWhy {
    let context = context.iter().map(|fact| facts_file::fact(fact).unwrap());
    AskedWhy { question: question(text).unwrap(), context: context.collect() }
}

#[test]
fn a_check_and_a_conjunction_are_asked_as_their_endpoints_ask() {
    let check = body(&asked(r#"allow(User:ada, "read", Repo:x)"#, &[]));
    assert_eq!((&check["resource_id"], check.get("context_facts")), (&json!("x"), None));
    let open = body(&asked(r#"allow(User:ada, "read", Repo:_) and is_public(Repo:y)"#, &[]));
    assert_eq!((&open["predicate"][0], &open["calls"][0][0]), (&json!("allow"), &json!("is_public")));
    assert!(question("p(_)").unwrap_err().to_string().contains("needs a type"));
}

#[test]
fn context_facts_are_sent_with_the_question() {
    let sent = body(&asked(r#"allow(User:ada, "read", Repo:x)"#, &["is_public(Repo:x)", "is_new(Repo:x)"]));
    let repo = json!([{ "type": "Repo", "id": "x" }]);
    let facts = json!([{ "predicate": "is_public", "args": repo }, { "predicate": "is_new", "args": repo }]);
    assert_eq!(sent["context_facts"], facts);
}
