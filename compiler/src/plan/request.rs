//! What is planned.

use crate::catalog::Catalog;
use crate::deadline::Deadline;
use crate::ir::Program;
use crate::question::{Shape, ShapeVar};
use crate::rewrite;

/// A question to plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'r> {
    /// The policy.
    pub(crate) program: &'r Program,
    /// The relations that hold facts.
    pub(crate) catalog: &'r Catalog,
    /// The question, without its values.
    pub(crate) shape: &'r Shape,
    /// Whether it is asked as a filter: a condition on the rows of a caller's query.
    pub(crate) filters: bool,
    /// When it must be compiled.
    pub(crate) deadline: Deadline,
}

impl<'r> Request<'r> {
    /// What the passes over the question's program know of it.
    pub(crate) fn context(&self) -> rewrite::Context<'r> {
        let Self { program, catalog, shape, filters, deadline } = *self;
        // Each clause of a list starts from what leads to few rows, which may be its condition.
        let factors = catalog.has_bound() && (filters || !shape.vars.iter().any(ShapeVar::is_listed));
        rewrite::Context { program, catalog, factors, deadline }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{BindingId, Relation, RelationArg, RelationSource};
    use crate::check;
    use crate::question::{Question, QuestionVar};
    use crate::source::SourceMap;

    /// Each clause of a list starts from what leads to few rows, which may be its condition; and stored facts
    /// alone are not factored.
    #[test]
    fn calls_are_factored_for_checks_actions_and_filters() {
        let policy = r#"actor User {} resource Doc { roles = ["viewer"]; permissions = ["read"]; "read" if "viewer"; }"#;
        let program = &check(&SourceMap::new("policy.polar", policy)).program.expect("a policy");
        let catalog = |source| {
            let arg = |ty: &str| RelationArg::Column { ty: ty.into(), column: "c".into() };
            let args = ["User", "String", "Doc"].map(arg).into();
            Catalog { relations: vec![Relation { predicate: "has_role".into(), args, source }].into() }
        };
        let bound =
            catalog(RelationSource::Bound { binding: BindingId::from_index(0), has_typed_texts: true });
        let stored = catalog(RelationSource::Table { schema: None, name: "granted".into() });
        let factors = |catalog: &Catalog, filters, action, doc| {
            let question =
                Question::atom("allow", vec![QuestionVar::given("who", "User", "ada"), action, doc]);
            let shape = &Shape::of(program, &question);
            Request { program, catalog, shape, filters, deadline: Deadline::NEVER }.context().factors
        };
        let read = || QuestionVar::given("action", "String", "read");
        let doc = || QuestionVar::given("what", "Doc", "7");
        let docs = || QuestionVar::wanted("what", Some("Doc"));
        let actions = QuestionVar::wanted("action", Some("String"));
        assert!(factors(&bound, false, read(), doc()));
        assert!(factors(&bound, false, actions, doc()));
        assert!(factors(&bound, true, read(), docs()));
        assert!(!factors(&bound, false, read(), docs()));
        assert!(!factors(&stored, false, read(), doc()));
    }
}
