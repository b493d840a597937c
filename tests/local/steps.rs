//! Conditions in the step of a recursion.

use super::service::{Service, column};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::local::ways::Way;

/// Two predicates call each other, each twice. Where they start, ada must be a reader of anything, by a role
/// that is a recursion of its own.
const POLICY: &str = r#"
actor User {}
actor Group {}
resource Shelf {}
resource Book {}
resource Note { roles = ["reader", "writer"]; permissions = ["read", "write"]; "write" if "writer"; }
has_role(_: User, role: String, resource: Resource) if group matches Group and has_role(group, role, resource);
near(x: Note, x);
linked(_: Note, y: Note, _: Note, _: Note) if
  has_role(_, "reader", y) and (has_role(User{"ada"}, "reader", _) or has_role(_, "keeper"));
linked(x: Note, y: Note, z: Note, w: Note) if next(x, a) and next(x, b) and near(a, y) and linked(b, y, z, w);
near(x: Note, y: Note) if next(x, a) and next(x, b) and linked(a, y, x, x) and linked(b, y, x, x);
has_permission(_: User, "read", note: Note) if linked(note, Note{"start"}, _, _);
near(Note{"start"}, _: Note);
has_role(actor: Actor, role: String, book: Book) if has_relation(book, "parent", other) and has_role(actor, role, other);
"#;

const DOCUMENT: &str = "
facts:
  linked(Note:_, Note:_, Note:_, Note:_): { query: 'SELECT a, b, c, d FROM links' }
  next(Note:_, Note:_): { query: 'SELECT note, following FROM nexts' }
  has_relation(Book:_, String:_, Book:_): { query: 'SELECT book, relation, other FROM books' }
  has_role(Group:_, String:_, Group:_): { query: 'SELECT member, role, thing FROM group_groups' }
  has_role(Group:_, String:_, Shelf:_): { query: 'SELECT member, role, thing FROM group_shelves' }
  has_role(Integer:_, String:_, Note:_): { query: 'SELECT member, role, thing FROM number_notes' }
  has_role(User:_, String:_, Book:_): { query: 'SELECT member, role, thing FROM user_books' }
  has_role(User:_, String:_, Note:_): { query: 'SELECT member, role, thing FROM user_notes' }
";

const SCHEMA: &str = "
CREATE TEMPORARY TABLE links (a TEXT, b TEXT, c TEXT, d TEXT);
CREATE TEMPORARY TABLE nexts (note TEXT, following TEXT);
INSERT INTO nexts VALUES ('1', 'start'), ('1', '2');
CREATE TEMPORARY TABLE books (book TEXT, relation TEXT, other TEXT);
INSERT INTO books VALUES ('1', 'parent', '2');
CREATE TEMPORARY TABLE group_groups (member TEXT, role TEXT, thing TEXT);
CREATE TEMPORARY TABLE group_shelves (member TEXT, role TEXT, thing TEXT);
CREATE TEMPORARY TABLE number_notes (member BIGINT, role TEXT, thing TEXT);
INSERT INTO number_notes VALUES (7, 'reader', 'start');
CREATE TEMPORARY TABLE user_books (member TEXT, role TEXT, thing TEXT);
INSERT INTO user_books VALUES ('ada', 'reader', '2');
CREATE TEMPORARY TABLE user_notes (member TEXT, role TEXT, thing TEXT);
INSERT INTO user_notes VALUES ('ada', 'writer', 'start');
";

/// A table for the rows of the step would read what the recursion has found so far outside of a step.
#[test]
fn a_condition_in_a_step_is_not_asked_for_the_rows_of_the_step() {
    let service = Service::new(POLICY, "", DOCUMENT);
    let caller = Caller::new(Dialect::Postgresql).unwrap();
    caller.script(SCHEMA).unwrap();
    let actions = |user: &str, note: &str| {
        let question = format!("allow(User:{user}, String:?, Note:{note})");
        column(&caller, &service.sql_for(Dialect::Postgresql, &question, Way::Actions, ""))
    };
    assert_eq!(actions("ada", "start"), "read write");
    assert_eq!(actions("ada", "2"), "read");
    assert_eq!(actions("ben", "start"), "read");
    caller.script("DELETE FROM user_books").unwrap();
    assert_eq!((actions("ada", "start"), actions("ben", "start")), ("write".to_owned(), String::new()));
}
