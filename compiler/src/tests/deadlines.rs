//! Questions whose time is over.

use crate::bindings::{self, Bindings};
use crate::catalog::{BindingId, Catalog, Relation, RelationArg, RelationSource};
use crate::deadline::{Deadline, OutOfTime};
use crate::ir::Program;
use crate::local::{self, Fetched, LocalError, PlanOptions, SqlDetail, SqlForm, SqlRequest};
use crate::question::{CompileError, Question, QuestionVar, QuestionVarId, Shape};
use crate::source::SourceMap;
use crate::why::Rules;
use crate::{Dialect, StoreDialect, check, compile_for_store, explain};
use std::fmt::Write;
use std::time::{Duration, Instant};

const POLICY: &str = r#"
    actor User {}
    resource Doc {
      roles = ["reader", "owner"];
      permissions = ["read", "edit"];
      relations = { parent: Doc };
      "reader" if "owner";
      role if role on "parent";
      "read" if "reader";
      "edit" if "owner";
    }
"#;

/// The time that is over.
const OVER: Duration = Duration::ZERO;

fn program(policy: &str) -> Program {
    check(&SourceMap::new("policy.polar", policy)).program.expect("a policy")
}

fn catalog(source: impl Fn(&str) -> RelationSource) -> Catalog {
    let column = |ty: &str| RelationArg::Column { ty: ty.into(), column: ty.to_lowercase() };
    let relation = |predicate: &str, types: [&str; 3]| Relation {
        predicate: predicate.into(),
        args: types.map(column).into(),
        source: source(predicate),
    };
    let relations = vec![
        relation("has_role", ["User", "String", "Doc"]),
        relation("has_relation", ["Doc", "String", "Doc"]),
    ];
    Catalog { relations: relations.into() }
}

fn stored(name: &str) -> RelationSource {
    RelationSource::Table { schema: None, name: name.into() }
}

/// A check, the actions, the documents, and the users.
fn questions() -> [Question; 4] {
    let given = || {
        ["User:ada", "String:read", "Doc:7"].map(|value| value.split_once(':').expect("a type and a text"))
    };
    let question = |wanted: Option<usize>| {
        let var = |(at, (ty, text))| match wanted {
            Some(wanted) if wanted == at => QuestionVar::wanted(ty, Some(ty)),
            Some(_) | None => QuestionVar::given(ty, ty, text),
        };
        Question::atom("allow", given().into_iter().enumerate().map(var).collect())
    };
    [None, Some(0), Some(1), Some(2)].map(question)
}

fn out_of_time() -> CompileError {
    CompileError::OutOfTime(OutOfTime { limit: OVER })
}

#[test]
fn a_deadline_in_the_past_refuses_every_kind_of_question() {
    let (program, catalog) = (&program(POLICY), &catalog(stored));
    for question in questions() {
        let shape = &Shape::of(program, &question);
        for store in [StoreDialect::Sqlite, StoreDialect::Postgresql] {
            let compile = |deadline| compile_for_store(program, catalog, shape, store, deadline);
            assert_eq!(compile(Deadline::after(OVER)), Err(out_of_time()));
            assert!(compile(Deadline::after(Duration::MAX)).is_ok());
        }
        for dialect in [Dialect::Sqlite, Dialect::Postgresql] {
            let explained = explain(program, catalog, &question, dialect, Deadline::after(OVER));
            assert_eq!(explained, Err(out_of_time()));
        }
        let rules = Rules::new(program, catalog, shape, Deadline::after(OVER));
        assert_eq!(rules.map(|_| ()), Err(out_of_time()));
    }
}

/// Each form of SQL: a check, actions, rows and a filter.
#[test]
fn a_deadline_in_the_past_refuses_every_question_about_a_callers_database() {
    let document = "dialect: postgresql\nfacts:\n  has_role(User:_, String:_, Doc:_):\n    query: SELECT a, b, c FROM grants\n";
    let (program, bindings) = (&program(POLICY), &bindings::parse(document).expect("bindings"));
    let catalog = &catalog(|name| match name {
        "has_role" => RelationSource::Bound { binding: BindingId(0), has_typed_texts: false },
        name => stored(name),
    });
    let column = bindings::column("doc.id", bindings.dialect).expect("a column");
    let name = || "answer".to_owned();
    let [check, users, actions, docs] = questions();
    let [user, doc] = [QuestionVarId(0), QuestionVarId(2)];
    let asked = [
        (check, SqlForm::Decision { name: name() }),
        (actions, SqlForm::List { name: name() }),
        (users, SqlForm::Rows { columns: vec![(user, name())] }),
        (docs, SqlForm::Filter { var: doc, column }),
    ];
    for (question, form) in &asked {
        let shape = Shape::of(program, question);
        let plan = |deadline| {
            let options = PlanOptions { store: StoreDialect::Sqlite, most_rows: 100, deadline };
            local::plan(program, catalog, &shape, form.filter_var(), bindings, options)
        };
        assert_eq!(plan(Deadline::after(OVER)).map(|_| ()), Err(out_of_time()), "{form:?}");
        let plan = plan(Deadline::NEVER).expect("a plan");
        let sql = |deadline| {
            plan.sql(&sql_request(program, catalog, bindings, question, form, deadline), &mut fetch)
        };
        assert_eq!(
            sql(Deadline::after(OVER)).map(|_| ()),
            Err(LocalError::Compile(out_of_time())),
            "{form:?}"
        );
        assert!(sql(Deadline::NEVER).is_ok(), "{form:?}");
        let explained = &sql_request(program, catalog, bindings, question, form, Deadline::after(OVER));
        let stages = plan.stages(explained, &mut fetch);
        assert_eq!(stages, Err(LocalError::Compile(out_of_time())), "{form:?}");
    }
}

fn sql_request<'a>(
    program: &'a Program,
    catalog: &'a Catalog,
    bindings: &'a Bindings,
    question: &'a Question,
    form: &'a SqlForm,
    deadline: Deadline,
) -> SqlRequest<'a> {
    let detail = SqlDetail::Sql;
    SqlRequest { program, catalog, bindings, question, form, now: 0, most_values: 100, deadline, detail }
}

#[expect(clippy::unnecessary_wraps, reason = "the store may fail")]
fn fetch(_: &crate::question::Statement, _: usize) -> Result<Fetched, ()> {
    Ok(Fetched::Rows(Vec::new()))
}

/// Each rule calls the next one twice, so that planning takes seconds before it is refused.
#[test]
fn a_large_question_ends_at_its_deadline() {
    let mut policy = "actor User {}\nresource Doc {}\n".to_owned();
    for level in 0..40 {
        let next = level + 1;
        writeln!(policy, "p{level}(x: Doc, y: Doc) if p{next}(x, z) and p{next}(z, y);")
            .expect("a text grows");
    }
    policy.push_str(
        "p40(x: Doc, y: Doc) if next(x, y);\nnext(x: Doc, y: Doc) if has_relation(x, \"next\", y);\n",
    );
    let program = &program(&policy);
    let vars = ["a", "b"].map(|id| QuestionVar::given(id, "Doc", id));
    let shape = Shape::of(program, &Question::atom("p0", vars.into()));
    let limit = Duration::from_millis(50);
    let begun = Instant::now();
    let deadline = Deadline::after(limit);
    let compiled = compile_for_store(program, &catalog(stored), &shape, StoreDialect::Sqlite, deadline);
    assert_eq!(compiled.map(|_| ()), Err(CompileError::OutOfTime(OutOfTime { limit })));
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}
