//! Lists of actors in small pages: everyone of a type comes first on both stores, and no page leaves an
//! entry out.

use portcullis_testkit::fixture::Answer;
use portcullis_testkit::hosted::Hosted;
use portcullis_testkit::notation::{Value, fact, rows};

const POLICY: &str = r#"
actor User {}
actor Bot {}
resource Doc { roles = ["reader"]; permissions = ["read"]; "read" if "reader"; }
has_permission(_: User, "read", doc: Doc) if is_public(doc);
"#;

#[test]
fn everyone_of_a_type_comes_first_in_every_page_size() {
    let facts = [
        r#"has_role(User:ada, "reader", Doc:a)"#,
        r#"has_role(User:7, "reader", Doc:a)"#,
        r#"has_role(Bot:b, "reader", Doc:a)"#,
        "is_public(Doc:a)",
    ];
    let facts = facts.map(|text| fact(text).unwrap());
    for hosted in [Hosted::new(POLICY).unwrap(), Hosted::on_postgres(POLICY).unwrap()] {
        hosted.store(&facts).unwrap();
        for (ty, expected) in
            [(None, "Bot:b, User:*, User:7, User:ada"), (Some("User"), "User:*, User:7, User:ada")]
        {
            let expected = Answer::Rows(rows(expected).unwrap().into_iter().collect());
            let list = (&ty.map(str::to_owned), "read", &Value::new("Doc", "a"));
            for size in 1..=5 {
                let (_, all) =
                    hosted.ask_subject_pages(list, size, &[]).unwrap_or_else(|told| panic!("{told}"));
                assert_eq!(all, expected, "{ty:?} in pages of {size}");
            }
        }
    }
}
