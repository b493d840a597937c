//! Statements of the compiler, answered from a store: a check, a list and its pages.

use super::{Place, insert, relation};
use portcullis::store::postgres::{AskedRead, PostgresStore};
use portcullis::store::{Fact, Param, Reader, RowQuery, StoredArg, StoredRelation, Value};
use portcullis_compiler::catalog::{Catalog, Relation, RelationArg, RelationSource};
use portcullis_compiler::deadline::Deadline;
use portcullis_compiler::ir::Program;
use portcullis_compiler::question::{Domain, Question, Shape, Slot, Statement};
use portcullis_compiler::{StoreDialect, compile_for_store};
use portcullis_testkit::{notation, policy};

const POLICY: &str = r#"
actor User {}
resource Repository { roles = ["reader"]; permissions = ["read"]; "read" if "reader"; }
resource Issue {
  permissions = ["read"];
  relations = { repository: Repository, parent: Issue };
  "read" if "read" on "repository";
  "read" if "read" on "parent";
}
"#;

fn role(user: &str, repository: &str) -> Fact {
    let args =
        vec![Value::new("User", user), Value::new("String", "reader"), Value::new("Repository", repository)];
    Fact::new("has_role", args)
}

fn parent(child: &str, parent: &str) -> Fact {
    let args = vec![Value::new("Issue", child), Value::new("String", "parent"), Value::new("Issue", parent)];
    Fact::new("has_relation", args)
}

/// The published relations as the compiler takes them.
fn catalog(store: &PostgresStore) -> Catalog {
    let schema = store.schema();
    let arg = |(at, arg): (usize, &StoredArg)| match arg {
        StoredArg::Column(ty) => RelationArg::Column { ty: ty.clone(), column: StoredRelation::column(at) },
        StoredArg::Fixed(ty, id) => RelationArg::Constant { ty: ty.clone(), text: id.clone() },
    };
    let relation = |relation: &StoredRelation| Relation {
        predicate: relation.predicate.clone(),
        args: relation.args.iter().enumerate().map(arg).collect(),
        source: RelationSource::Table { schema: Some(schema.clone()), name: relation.table.clone() },
    };
    Catalog { relations: store.relations().relations.iter().map(relation).collect() }
}

/// The statement of a question, and its parameters. With the last answer of the page before, it is one for
/// the next page of two.
fn compiled(
    program: &Program,
    store: &PostgresStore,
    text: &str,
    after: Option<&Param>,
) -> (Statement, Vec<Param>) {
    let question = Question { paged: after.is_some(), ..notation::question(text).unwrap() };
    let shape = Shape::of(program, &question);
    let statement =
        compile_for_store(program, &catalog(store), &shape, StoreDialect::Postgresql, Deadline::NEVER);
    let statement = statement.unwrap();
    let param = |slot: &Slot| match slot {
        Slot::Given(var) => match &question.vars[*var].domain {
            Domain::Given(id) => Param::Value(id.clone()),
            other => panic!("{other:?}"),
        },
        Slot::OneOf(var) => match &question.vars[*var].domain {
            Domain::GivenOneOf(ids) => Param::Values(ids.iter().cloned().collect()),
            other => panic!("{other:?}"),
        },
        Slot::PageAfter => after.unwrap().clone(),
        Slot::PageLimit => Param::Limit(2),
        other => panic!("{other:?}"),
    };
    let params = statement.slots.iter().map(param).collect();
    (statement, params)
}

async fn is_allowed(program: &Program, store: &PostgresStore, question: &str) -> bool {
    let (statement, params) = compiled(program, store, question, None);
    let read = store.read_brief(AskedRead::default(), move |reader| reader.decision(&statement.sql, &params));
    read.await.unwrap().0
}

async fn page(program: &Program, store: &PostgresStore, question: &str, after: Param) -> Vec<String> {
    let (statement, params) = compiled(program, store, question, Some(&after));
    let read = move |reader: &portcullis::store::postgres::PgReader| {
        let mut found = Vec::new();
        let query = RowQuery { sql: &statement.sql, n_columns: 1 };
        Reader::Postgres(reader)
            .rows(query, &params, |row| found.extend(row[0].take().map(std::borrow::Cow::into_owned)))?;
        Ok(found)
    };
    store.read(AskedRead::default(), read).await.unwrap().0
}

#[tokio::test]
async fn compiled_statements_are_answered_with_the_clock() {
    let store = Place::new("compiled").await.open().await;
    let facts = [role("ada", "anvils"), relation("10", "repository", "anvils"), parent("9", "10")];
    let more = [parent("x", "9"), relation("11", "repository", "bolts"), parent("9", "x")];
    store.apply_within(insert(facts.into_iter().chain(more)), None).await.unwrap();
    let program = policy::program(POLICY).unwrap();
    for (question, expected) in [
        (r#"allow(User:ada, "read", Issue:x)"#, true),
        (r#"allow(User:ada, "read", Issue:11)"#, false),
        (r#"allow(User:bob, "read", Issue:x)"#, false),
        (r#"allow(User:ada, "read", Repository:anvils)"#, true),
    ] {
        assert_eq!(is_allowed(&program, &store, question).await, expected, "{question}");
    }
    let list = r#"allow(User:ada, "read", Issue:?)"#;
    assert_eq!(page(&program, &store, list, Param::Least).await, ["9", "10"]);
    assert_eq!(page(&program, &store, list, Param::Value("10".to_owned())).await, ["x"]);
    assert_eq!(page(&program, &store, list, Param::Value("x".to_owned())).await, [""; 0]);
}
