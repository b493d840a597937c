//! Questions about a rule, to show its SQL.
//!
//! The first asks for the values of the last variable in the rule's head, with an example for each other one:
//! of `has_permission(actor: User, "read", resource: Repo)`, which repositories `User:example` may read. If
//! its answer cannot be listed, the second gives an example for every variable.

use portcullis_compiler::ir::{Program, Rule, Term, TypeId, VarType};
use portcullis_compiler::primitive::{BOOLEAN, INTEGER, STRING};
use portcullis_compiler::question::{Domain, Question, QuestionVar};
use portcullis_compiler::spelling::quoted;

/// The questions about the rule that begins in a line, the best first; empty if no such rule can match.
pub(super) fn about(program: &Program, line: usize) -> Vec<Question> {
    let in_line =
        |rule: &&Rule| rule.span.start < rule.span.end && program.source.locate(rule.span).line == line;
    let found = program.rules.iter().filter(in_line).find_map(|rule| {
        let head = program.predicate(rule.head);
        // Generated predicates are not part of a question.
        (!head.name.starts_with('\'')).then_some((rule, head.name.as_str()))
    });
    let Some((rule, predicate)) = found else { return Vec::new() };
    let last = rule.params.iter().rposition(|param| matches!(param, Term::Var(_)));
    let atom = |wanted: Option<usize>| {
        let params = rule.params.iter().enumerate();
        let vars = params.map(|(at, &param)| argument(program, rule, param, Some(at) == wanted));
        Some(Question::atom(predicate, vars.collect::<Option<_>>()?))
    };
    let mut questions: Vec<Question> = [atom(last), atom(None)].into_iter().flatten().collect();
    questions.dedup();
    questions
}

/// A parameter of a rule's head as an argument of a question.
fn argument(program: &Program, rule: &Rule, param: Term, is_wanted: bool) -> Option<QuestionVar> {
    let type_name = |ty: TypeId| program.types[ty].name.as_str();
    match param {
        Term::Const(id) => {
            let constant = program.literal(id);
            Some(QuestionVar::given("", type_name(constant.ty), &constant.text))
        }
        Term::Var(var) => {
            let types = match &rule.vars[var].ty {
                VarType::OneOf(types) => types.iter().map(|&ty| type_name(ty)).collect(),
                VarType::Any => vec![STRING],
            };
            let ty = types.into_iter().find(|name| !name.is_empty())?;
            if is_wanted {
                return Some(QuestionVar::wanted("?", Some(ty)));
            }
            let example = match ty {
                INTEGER => "1",
                BOOLEAN => "true",
                _ => "example",
            };
            Some(QuestionVar::given("", ty, example))
        }
        Term::Now => None,
    }
}

/// A question in the notation of `portcullis compile`.
pub(super) fn shown(question: &Question) -> String {
    let argument = |var: &QuestionVar| {
        let ty = var.ty.as_deref().unwrap_or_default();
        match &var.domain {
            Domain::Given(text) if ty == STRING => quoted(text),
            Domain::Given(text) if ty == INTEGER || ty == BOOLEAN => text.clone(),
            Domain::Given(text) if text.chars().all(|c| c.is_ascii_alphanumeric()) => format!("{ty}:{text}"),
            Domain::Given(text) => format!("{ty}:{}", quoted(text)),
            Domain::Wanted => format!("{ty}:?"),
            Domain::GivenOneOf(_) | Domain::Ignored => format!("{ty}:_"),
        }
    };
    let atoms = question.atoms.iter().map(|atom| {
        let args = atom.args.iter().map(|&var| argument(&question.vars[var]));
        format!("{}({})", atom.predicate, args.collect::<Vec<_>>().join(", "))
    });
    atoms.collect::<Vec<_>>().join(" and ")
}
