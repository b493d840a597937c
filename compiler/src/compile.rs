//! One question from policy to statement: specialise, rewrite, plan, optimise, print.
//!
//! `specialise` and `rewrite` run once. A question has several plans: [`first_fit`] takes the first candidate
//! that is planned, optimised and printed without a refusal, and plans the next one after each that is
//! refused. Only if all are refused do the stages up to the plan run again, as if more values were given: see
//! [`advice`](crate::advice).

use crate::algebra::Plan;
use crate::algebra::verify::Verifier;
use crate::dialect::{Dialect, Features, StoreDialect};
use crate::id_vec::IdVec;
use crate::optimise::{self, Draft, Purpose, Setting};
use crate::pass::Pass;
use crate::plan::candidates::{Candidates, Order, first_fit};
use crate::plan::{Approach, Ends, Planned, Request};
use crate::question::{CompileError, Domain, Question, QuestionVarId, Slot, Statement};
use crate::rewrite::{self, RoleForm, RoleFormId};
use crate::specialise;
use crate::sql;
use crate::sql::hosted::{LiteralValue, Values};

/// Where a statement runs, and how its values get there.
pub(crate) struct Target<'t> {
    purpose: Purpose,
    features: &'static Features,
    values: Values<'t>,
}

impl Target<'static> {
    /// A store.
    pub(crate) fn store(store: StoreDialect) -> Self {
        Self { purpose: Purpose::Store, features: store.features(), values: Values::Parameters }
    }

    /// A store, for a part of a question over a caller's database.
    pub(crate) fn part(store: StoreDialect) -> Self {
        Self { purpose: Purpose::Part, ..Self::store(store) }
    }
}

impl<'t> Target<'t> {
    /// One table for each kind of fact.
    pub(crate) fn tables(dialect: Dialect, values: Values<'t>) -> Self {
        Self { purpose: Purpose::Tables, features: dialect.features(), values }
    }
}

/// A step that finishes a statement.
#[derive(Clone, Copy)]
pub(crate) enum Finishing<'p> {
    /// This pass made the plan.
    Optimised(&'p Pass<Draft>),
    /// The plan is printed.
    Printed,
}

/// Compiles a question to one statement.
///
/// # Errors
/// [`CompileError::Refused`] if the answer cannot be enumerated or expressed.
pub(crate) fn statement(request: &Request<'_>, target: &Target<'_>) -> Result<Statement, CompileError> {
    planned_statement(request, target).map(|(_, statement)| statement)
}

/// The statement of a question, and how it was planned.
///
/// # Errors
/// As [`statement`].
pub(crate) fn planned_statement(
    request: &Request<'_>,
    target: &Target<'_>,
) -> Result<(Approach, Statement), CompileError> {
    let forms = forms(request)?;
    let order = if target.features.bounds_readings() { Order::Closest } else { Order::Smaller };
    first_fit(Candidates::new(*request, &forms, Ends::Demanded, None, order), |planned| {
        let (approach, largest_rule) = (planned.approach, planned.largest_rule);
        let statement = finish(request, target, planned, &mut |_, _| {});
        Ok((approach, statement.map_err(|error| error.at_rule(largest_rule))?))
    })
}

/// The forms of a question's program, best first.
///
/// # Errors
/// [`CompileError::Refused`] if the policy would be copied too often, or a type is missing.
pub(crate) fn forms(request: &Request<'_>) -> Result<IdVec<RoleFormId, RoleForm>, CompileError> {
    let Request { program, catalog, shape, deadline, .. } = *request;
    let specialised = specialise::specialise(program, catalog, shape, deadline)?;
    rewrite::forms(specialised, &request.context(), &mut |_, _| {})
}

/// Optimises and prints a plan; `observe` sees it after each step.
///
/// # Errors
/// [`CompileError::Refused`] if the statement is too large.
pub(crate) fn finish(
    request: &Request<'_>,
    target: &Target<'_>,
    mut planned: Planned,
    observe: &mut dyn FnMut(Finishing<'_>, &Plan),
) -> Result<Statement, CompileError> {
    let Target { purpose, features, ref values } = *target;
    let Request { catalog, deadline, .. } = *request;
    let setting = Setting { purpose, catalog, features, bindings: None, row: None, prefix: "", deadline };
    let verifier =
        Verifier::of(request.program, request.catalog, &planned.extra_constants, &request.shape.vars);
    let mut draft = Draft { plan: planned.plan, embedded: Vec::new() };
    optimise::optimise(&mut draft, &verifier, &setting, &mut |pass, plan| {
        observe(Finishing::Optimised(pass), plan);
    })?;
    planned.plan = draft.plan;
    let printed = &mut |plan: &Plan| observe(Finishing::Printed, plan);
    sql::to_sql(request, &planned, features, values, printed)
}

/// The value of a question for a slot of its statement; `None` if it has none. Everything is on one page.
pub(crate) fn literal(question: &Question, now: i64, slot: Slot) -> Option<LiteralValue> {
    let var = |var: QuestionVarId| question.vars.find(var);
    match slot {
        Slot::Given(given) => match &var(given)?.domain {
            Domain::Given(text) => Some(LiteralValue::Text(text.clone())),
            Domain::GivenOneOf(_) | Domain::Wanted | Domain::Ignored => None,
        },
        Slot::OneOf(given) => match &var(given)?.domain {
            Domain::GivenOneOf(texts) => Some(LiteralValue::Texts(texts.clone())),
            Domain::Given(_) | Domain::Wanted | Domain::Ignored => None,
        },
        Slot::Context(_) | Slot::ContextColumn(..) => None,
        Slot::TypeOf(typed) => Some(LiteralValue::Text(var(typed)?.ty.clone()?)),
        Slot::Now => Some(LiteralValue::Integer(now)),
        Slot::PageAfter => Some(LiteralValue::Text(String::new())),
        Slot::PageLimit => Some(LiteralValue::Integer(i64::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::{CompileError, LiteralValue, Pass, RoleForm, literal, optimise, rewrite, specialise};
    use crate::catalog::{Catalog, ContextId, Relation, RelationArg, RelationSource};
    use crate::check;
    use crate::deadline::Deadline;
    use crate::pass::Rewritable;
    use crate::question::{Question, QuestionVar, QuestionVarId, Shape, Slot};
    use crate::rewrite::Context;
    use crate::source::SourceMap;

    #[test]
    fn a_value_that_a_question_lacks_is_not_an_empty_text() {
        let vars = vec![QuestionVar::given("who", "User", "ada"), QuestionVar::wanted("what", None)];
        let question = Question::atom("p", vars);
        let value = |slot| literal(&question, 7, slot);
        let [who, what, other] = [0, 1, 2].map(QuestionVarId);
        assert_eq!(value(Slot::Given(who)), Some(LiteralValue::Text("ada".into())));
        assert_eq!(value(Slot::TypeOf(who)), Some(LiteralValue::Text("User".into())));
        assert_eq!(value(Slot::Now), Some(LiteralValue::Integer(7)));
        for slot in [
            Slot::Given(what),
            Slot::Given(other),
            Slot::OneOf(who),
            Slot::TypeOf(what),
            Slot::Context(ContextId(0)),
        ] {
            assert_eq!(value(slot), None, "{slot:?}");
        }
    }

    /// `ARCHITECTURE.md` has a table of each list of passes, in their order, below the sentence that says
    /// when they run.
    #[test]
    fn the_architecture_lists_the_passes() {
        let tables = [
            table("The program of every question goes through these:", rewrite::SHRINK),
            table(
                "Each of these programs goes through the following passes, those three only in the first:",
                rewrite::FACTOR,
            ),
            table("The form with roles as data goes through these:", rewrite::ROLES),
            table("Each form goes through these at the end:", rewrite::CLOSE),
            table("each for certain kinds of statement:", optimise::PASSES),
        ];
        let mut rest = include_str!("../ARCHITECTURE.md");
        for table in tables {
            let below = rest.split_once(&table).map(|(_, below)| below);
            rest = below.unwrap_or_else(|| panic!("the page lacks, or has in another order,\n{table}"));
        }
    }

    fn table<R: Rewritable>(caption: &str, passes: &[Pass<R>]) -> String {
        let rows = passes.iter().map(|pass| format!("| `{}` | {} |\n", pass.name, pass.does));
        format!("{caption}\n\n| pass | what it does |\n| --- | --- |\n{}\n", rows.collect::<String>())
    }

    /// A question about one action has one form, and one about several has two, as the captions of these
    /// tables say.
    #[test]
    fn each_form_goes_through_its_passes() {
        let policy = r#"
            actor User {}
            resource Doc {
              roles = ["reader", "editor"];
              permissions = ["read", "edit"];
              "read" if "reader";
              "edit" if "editor";
            }
        "#;
        let program = &check(&SourceMap::new("policy.polar", policy)).program.expect("a policy");
        let arg = |ty: &str| RelationArg::Column { ty: ty.into(), column: "c".into() };
        let granted = Relation {
            predicate: "has_role".into(),
            args: ["User", "String", "Doc"].map(arg).into(),
            source: RelationSource::Table { schema: None, name: "granted".into() },
        };
        let catalog = &Catalog { relations: vec![granted].into() };
        let context = Context { program, catalog, factors: false, deadline: Deadline::NEVER };
        let passes = |action: QuestionVar| {
            let doc = QuestionVar::given("what", "Doc", "7");
            let question =
                Question::atom("allow", vec![QuestionVar::given("who", "User", "ada"), action, doc]);
            let shape = Shape::of(program, &question);
            let specialised =
                specialise::specialise(program, catalog, &shape, Deadline::NEVER).expect("a program");
            let mut passes = Vec::new();
            let observe = &mut |pass: &'static Pass<RoleForm>, _: &RoleForm| passes.push(pass.name);
            rewrite::forms(specialised, &context, observe).expect("a sound program");
            passes
        };
        let names = |lists: &[&[Pass<RoleForm>]]| -> Vec<&str> {
            let applies = |pass: &&Pass<RoleForm>| (pass.applies)(&context);
            lists.iter().copied().flatten().filter(applies).map(|pass| pass.name).collect()
        };
        let (shrink, roles, close) = (rewrite::SHRINK, rewrite::ROLES, rewrite::CLOSE);
        let factor = rewrite::FACTOR;
        assert_eq!(passes(QuestionVar::given("action", "String", "read")), names(&[shrink, factor, close]));
        let all = passes(QuestionVar::wanted("action", Some("String")));
        assert_eq!(all, names(&[shrink, factor, roles, close, close]));
    }

    fn relation(predicate: &str, types: &[&str]) -> Relation {
        Relation {
            predicate: predicate.into(),
            args: types
                .iter()
                .map(|ty| RelationArg::Column { ty: (*ty).into(), column: "c".into() })
                .collect(),
            source: RelationSource::Table { schema: None, name: predicate.into() },
        }
    }

    /// A copy of a long rule counts as several, but a rule that has one way to an answer is not copied.
    #[test]
    fn a_long_rule_is_no_copy_of_itself() {
        let n = 2_000;
        let body: Vec<String> = (0..n).map(|at| format!("a{at}(d)")).collect();
        let policy = format!("actor User {{}} resource Doc {{}} open(d: Doc) if {};", body.join(" and "));
        let program = &check(&SourceMap::new("policy.polar", &policy)).program.expect("a policy");
        let relations: Vec<Relation> = (0..n).map(|at| relation(&format!("a{at}"), &["Doc"])).collect();
        let question = Question::atom("open", vec![QuestionVar::given("what", "Doc", "7")]);
        let catalog = Catalog { relations: relations.into() };
        let shape = Shape::of(program, &question);
        let specialised = specialise::specialise(program, &catalog, &shape, Deadline::NEVER);
        assert_eq!(specialised.expect("a program").roots.len(), 1);
    }

    #[test]
    fn a_program_with_a_fault_is_not_planned() {
        let policy = "actor User {} resource Doc {} open(d: Doc) if a(d) or b(d);";
        let program = &check(&SourceMap::new("policy.polar", policy)).program.expect("a policy");
        let catalog = &Catalog { relations: vec![relation("a", &["Doc"]), relation("b", &["Doc"])].into() };
        let question = Question::atom("open", vec![QuestionVar::given("what", "Doc", "7")]);
        let shape = Shape::of(program, &question);
        let mut specialised =
            specialise::specialise(program, catalog, &shape, Deadline::NEVER).expect("a program");
        for relation in &mut specialised.relations {
            relation.clauses.iter_mut().for_each(|clause| clause.head.clear());
        }
        let context = &Context { program, catalog, factors: false, deadline: Deadline::NEVER };
        let fault = rewrite::forms(specialised, context, &mut |_, _| {}).expect_err("a fault");
        let CompileError::Bug(fault) = fault else { panic!("{fault:?}") };
        assert!(fault.contains("another number of columns than its relation"), "{fault}");
    }
}
