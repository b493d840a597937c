//! Finds the variables of a refused question for which giving a value avoids the refusal.
//!
//! In: a refusal that advises to give values. Out: the same refusal, which names only the variables for which
//! a value helps. A rule may test a value that no variable of the question leads to; then no value helps.
//! Each variable is tried: the question is planned once more as if the variable had a value.

use crate::compile;
use crate::plan::candidates::{Candidates, Order, first_fit};
use crate::plan::{Ends, Request};
use crate::question::{CompileError, QuestionVarId, Shape, ShapeDomain};
use crate::refusal::Refusal;

/// The refusal with the advice that helps.
///
/// # Errors
/// [`CompileError::Bug`] if a question with a value breaks an invariant, [`CompileError::OutOfTime`] after
/// the deadline.
pub(crate) fn helpful(request: &Request<'_>, refusal: Refusal) -> Result<Refusal, CompileError> {
    refusal.advise(|refusal, var| helps(request, refusal, var))
}

/// The error with the advice that helps, if it is a refusal.
pub(crate) fn helpful_error(request: &Request<'_>, error: CompileError) -> CompileError {
    match error {
        CompileError::Refused(refusal) => {
            helpful(request, refusal).map_or_else(|error| error, CompileError::Refused)
        }
        error @ (CompileError::OutOfTime(_) | CompileError::Bug(_)) => error,
    }
}

/// Whether the question is not refused for the same reason if a value is given for a variable. Without a type
/// that cannot be tried.
fn helps(request: &Request<'_>, refusal: &Refusal, var: QuestionVarId) -> Result<bool, CompileError> {
    let mut shape: Shape = request.shape.clone();
    let var = &mut shape.vars[var];
    if var.ty.is_none() {
        return Ok(true);
    }
    var.domain = ShapeDomain::Given;
    let request = Request { shape: &shape, ..*request };
    let planned = compile::forms(&request).and_then(|forms| {
        let candidates = Candidates::new(request, &forms, Ends::Demanded, None, Order::Closest);
        first_fit(candidates, |planned| Ok(planned.refusal.map(|(_, refusal)| refusal)))
    });
    match planned {
        Ok(None) => Ok(true),
        Ok(Some(other)) | Err(CompileError::Refused(other)) => Ok(!refusal.has_cause_of(&other)),
        Err(error @ (CompileError::OutOfTime(_) | CompileError::Bug(_))) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Catalog, Relation, RelationArg, RelationSource};
    use crate::question::{Domain, Question, QuestionVar};
    use crate::source::SourceMap;
    use crate::{Dialect, check};

    const POLICY: &str = r"
        actor User {}
        resource Doc {}
        open(doc: Doc) if not locked(doc);
        readable(user: User, doc: Doc) if knows(user) and open(doc);
        curious(user: User) if knows(user) and open(_);
        declare locked(Doc);
        declare knows(User);
    ";

    fn message(predicate: &str, vars: Vec<QuestionVar>) -> String {
        let program = check(&SourceMap::new("policy.polar", POLICY)).program.expect("a policy");
        let relation = |predicate: &str, ty: &str| Relation {
            predicate: predicate.into(),
            args: vec![RelationArg::Column { ty: ty.into(), column: "c".into() }],
            source: RelationSource::Table { schema: None, name: predicate.into() },
        };
        let catalog =
            Catalog { relations: vec![relation("locked", "Doc"), relation("knows", "User")].into() };
        let question = Question::atom(predicate, vars);
        let shape = Shape::of(&program, &question);
        let refusal = match crate::compile(&program, &catalog, &shape, Dialect::Postgresql) {
            Ok(statement) => statement.refused_if.expect("a reason to refuse").refusal,
            Err(CompileError::Refused(refusal)) => refusal,
            Err(error @ (CompileError::OutOfTime(_) | CompileError::Bug(_))) => panic!("{error:?}"),
        };
        question.refused(refusal).message
    }

    /// A value for the document avoids the refusal, one for the user does not.
    #[test]
    fn only_values_that_help_are_advised() {
        let (user, doc) =
            (QuestionVar::wanted("user", Some("User")), QuestionVar::wanted("doc", Some("Doc")));
        let readable = message("readable", vec![user.clone(), doc]);
        assert!(!readable.contains("`user`"), "{readable}");
        assert!(readable.contains("`doc`"), "{readable}");
        let curious = message("curious", vec![user]);
        assert!(!curious.contains("`user`"), "{curious}");
    }

    /// Follows the advice literally, and checks that the question is then answered.
    #[test]
    fn an_advised_value_avoids_the_refusal() {
        let program = check(&SourceMap::new("policy.polar", POLICY)).program.expect("a policy");
        let mut doc = QuestionVar::wanted("doc", Some("Doc"));
        doc.domain = Domain::Given("plan".into());
        let question = Question::atom("readable", vec![QuestionVar::wanted("user", Some("User")), doc]);
        let catalog = Catalog::default();
        let statement = crate::compile(&program, &catalog, &Shape::of(&program, &question), Dialect::Sqlite);
        assert_eq!(statement.expect("a statement").refused_if, None);
    }
}
