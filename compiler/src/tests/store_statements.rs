//! The statements for a store on PostgreSQL, as they are printed. `cargo test --test language` runs such
//! statements.

use crate::bindings;
use crate::catalog::{BindingId, Catalog, ContextId, Relation, RelationArg, RelationSource, SourceId};
use crate::deadline::Deadline;
use crate::local::{self, Fetched, PlanOptions, SqlDetail, SqlForm, SqlRequest};
use crate::question::{Domain, Question, QuestionVar, Shape, Slot, Statement};
use crate::source::SourceMap;
use crate::{StoreDialect, check, compile_for_store};

const POLICY: &str = r#"
actor User {}

resource Folder {
  roles = ["reader", "editor"];
  permissions = ["read"];
  relations = { parent: Folder };

  "reader" if "editor";
  "reader" if "reader" on "parent";
  "read" if "reader" and not banned(actor, resource);
  "read" if is_public(resource, true);
}

resource Node {
  roles = ["viewer", "keeper"];
  permissions = ["open"];

  "viewer" if "keeper";
  "open" if "keeper";
  "open" if "viewer" and opens(actor, resource);
}

declare banned(User, Folder);
declare is_public(Folder, Boolean);
declare lent(User, Folder, Integer);
declare has_parts(Node, Node, Node);
declare opens(User, Node);

has_role(user: User, "reader", folder: Folder) if
  until matches Integer and lent(user, folder, until) and until > @current_unix_time and until < 4102444800;

can_open(user: User, node: Node) if opens(user, node);
can_open(user: User, node: Node) if
  has_parts(node, left, right) and can_open(user, left) and can_open(user, right);
"#;

/// A relation of a store, in the schema of an environment, or of the request.
fn relation(number: usize, predicate: &str, types: &[&str], source: Option<RelationSource>) -> Relation {
    let arg = |(at, ty): (usize, &&str)| match ty.split_once(':') {
        Some((ty, text)) => RelationArg::Constant { ty: ty.into(), text: text.into() },
        None => RelationArg::Column { ty: (*ty).into(), column: format!("a{at}") },
    };
    let table = RelationSource::Table { schema: Some("portcullis_e1".into()), name: format!("f{number}") };
    Relation {
        predicate: predicate.into(),
        args: types.iter().enumerate().map(arg).collect(),
        source: source.unwrap_or(table),
    }
}

fn catalog() -> Catalog {
    let in_request = |slot| Some(RelationSource::Context { slot: ContextId(slot) });
    let relations = vec![
        relation(1, "has_role", &["User", "String", "Folder"], None),
        relation(2, "has_relation", &["Folder", "String:parent", "Folder"], None),
        relation(3, "banned", &["User", "Folder"], None),
        relation(4, "lent", &["User", "Folder", "Integer"], None),
        relation(5, "has_parts", &["Node", "Node", "Node"], None),
        relation(6, "opens", &["User", "Node"], None),
        relation(7, "has_role", &["User", "String", "Folder"], in_request(0)),
        relation(8, "is_public", &["Folder", "Boolean"], in_request(1)),
        relation(9, "has_role", &["User", "String", "Node"], None),
    ];
    Catalog { relations: relations.into() }
}

fn user() -> QuestionVar {
    QuestionVar::given("actor", "User", "ada")
}

fn read(folder: QuestionVar) -> Question {
    Question::atom("allow", vec![user(), QuestionVar::given("action", "String", "read"), folder])
}

fn folders() -> Question {
    read(QuestionVar::wanted("folder", Some("Folder")))
}

/// The text, and the parameters below it.
fn shown(statement: &Statement) -> String {
    let slots: Vec<String> = statement.slots.iter().map(Slot::to_string).collect();
    format!("{}\n-- {}", statement.sql, slots.join(", "))
}

/// What a store is asked for a role in a caller's hierarchy of folders.
fn parts() -> String {
    let program = &check(&SourceMap::new("policy.polar", POLICY)).program.expect("a policy");
    let document = "dialect: postgresql\nfacts:\n  has_relation(Folder:_, parent, Folder:_):\n    query: SELECT id, parent FROM folders\n";
    let bindings = &bindings::parse(document).expect("bindings");
    let mut relations = catalog().relations;
    relations[SourceId(1)].source = RelationSource::Bound { binding: BindingId(0), has_typed_texts: false };
    let catalog = &Catalog { relations };
    let folder = QuestionVar::given("folder", "Folder", "7");
    let role = QuestionVar::given("role", "String", "reader");
    let question = &Question::atom("has_role", vec![user(), role, folder]);
    let form = &SqlForm::Decision { name: "allowed".into() };
    let shape = Shape::of(program, question);
    let (store, most_values, deadline) = (StoreDialect::Postgresql, 100, Deadline::NEVER);
    let options = PlanOptions { store, most_rows: most_values, deadline };
    let plan = local::plan(program, catalog, &shape, form.filter_var(), bindings, options);
    let mut parts = Vec::new();
    let detail = SqlDetail::Sql;
    let request =
        SqlRequest { program, catalog, bindings, question, form, now: 0, most_values, deadline, detail };
    let sql = plan.expect("a plan").sql(&request, &mut |statement, _| {
        parts.push(shown(statement));
        Ok::<_, ()>(Fetched::Rows(Vec::new()))
    });
    sql.expect("a text");
    parts.join("\n\n")
}

fn printed(question: &Question) -> String {
    let program = check(&SourceMap::new("policy.polar", POLICY)).program.expect("a policy");
    let shape = Shape::of(&program, question);
    let statement =
        compile_for_store(&program, &catalog(), &shape, StoreDialect::Postgresql, Deadline::NEVER);
    shown(&statement.expect("a statement"))
}

fn compared(name: &str, sql: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshots/store"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, sql));
}

#[test]
fn statements_hold_values_as_bytes() {
    compared("check", &printed(&read(QuestionVar::given("folder", "Folder", "7"))));
    compared("list", &printed(&folders()));
    compared("page", &printed(&Question { paged: true, ..folders() }));
    let one_of = Domain::GivenOneOf(vec!["7".into(), "8".into()]);
    let of_several = QuestionVar { domain: one_of, ..QuestionVar::wanted("folder", Some("Folder")) };
    compared("filter", &printed(&read(of_several)));
    let open = QuestionVar::given("action", "String", "open");
    let opened = Question::atom("allow", vec![user(), open, QuestionVar::given("node", "Node", "7")]);
    compared("wider", &printed(&opened));
    let opened = QuestionVar::wanted("node", Some("Node"));
    compared("parts", &parts());
    compared("whole-state", &printed(&Question::atom("can_open", vec![user(), opened])));
}
