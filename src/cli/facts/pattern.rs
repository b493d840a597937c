//! Facts and patterns of facts as arguments, in the notation of questions.

use crate::cli::compile;
use crate::cli::error::{ArgumentError, CliError};
use crate::engine::QuestionNames;
use crate::engine::{ArgPattern, FactPattern, Value};
use portcullis_compiler::question::{Domain, QuestionVar};
use serde_json::{Value as Json, json};

/// The pattern of an argument, such as `has_role(User:alice, _, Repo:_)`.
pub(super) fn pattern(text: &str) -> Result<FactPattern, CliError> {
    let question = compile::question(text)?;
    let [atom] = question.atoms.as_slice() else {
        return Err(ArgumentError::SeveralFacts(text.to_owned()).into());
    };
    let vars: Vec<&QuestionVar> = atom.args.iter().map(|&var| &question.vars[var]).collect();
    if let Some(var) = question.vars.iter().find(|var| is_repeated(var, &vars)) {
        let (pattern, variable) = (text.to_owned(), var.name.clone());
        return Err(ArgumentError::RepeatedVariable { pattern, variable }.into());
    }
    Ok(FactPattern::new(&atom.predicate, vars.into_iter().map(arg).collect()))
}

/// Whether a variable occurs more than once among the arguments.
fn is_repeated(var: &QuestionVar, args: &[&QuestionVar]) -> bool {
    args.iter().filter(|other| other.name == var.name).count() > 1
        && matches!(var.domain, Domain::Wanted | Domain::Ignored)
}

fn arg(var: &QuestionVar) -> ArgPattern {
    match (&var.ty, &var.domain) {
        (Some(ty), Domain::Given(id)) => ArgPattern::Exact(Value { ty: ty.clone(), id: id.clone() }),
        (Some(ty), Domain::GivenOneOf(_) | Domain::Wanted | Domain::Ignored) => ArgPattern::Typed(ty.clone()),
        (None, _) => ArgPattern::Any,
    }
}

/// The names in a pattern.
pub(super) fn names(pattern: &FactPattern) -> QuestionNames<'_> {
    let types = pattern.args.iter().filter_map(|arg| match arg {
        ArgPattern::Any => None,
        ArgPattern::Typed(ty) | ArgPattern::Exact(Value { ty, .. }) => Some(ty.as_str()),
    });
    QuestionNames::of_fact(pattern.predicate.as_deref().unwrap_or_default(), types.collect())
}

/// A pattern as it is sent to be deleted.
pub(super) fn body(pattern: &FactPattern) -> Json {
    let arg = |arg: &ArgPattern| match arg {
        ArgPattern::Any => Json::Null,
        ArgPattern::Typed(ty) => json!({ "type": ty }),
        ArgPattern::Exact(Value { ty, id }) => json!({ "type": ty, "id": id }),
    };
    json!({ "predicate": pattern.predicate, "args": pattern.args.iter().map(arg).collect::<Vec<_>>() })
}

/// A pattern as the parameters of a request that reads facts.
pub(super) fn parameters(pattern: &FactPattern) -> Vec<(String, String)> {
    let mut parameters: Vec<(String, String)> =
        pattern.predicate.iter().map(|name| ("predicate".to_owned(), name.clone())).collect();
    for (at, arg) in pattern.args.iter().enumerate() {
        let (ty, id) = match arg {
            ArgPattern::Any => (None, None),
            ArgPattern::Typed(ty) => (Some(ty), None),
            ArgPattern::Exact(Value { ty, id }) => (Some(ty), Some(id)),
        };
        parameters.extend(ty.map(|ty| (format!("args.{at}.type"), ty.clone())));
        parameters.extend(id.map(|id| (format!("args.{at}.id"), id.clone())));
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_sent_as_it_is_written() {
        let pattern = pattern(r#"p(User:"a b", _, Repo:?, "x", 7)"#).unwrap();
        let sent = json!({ "predicate": "p", "args": [
            { "type": "User", "id": "a b" }, null, { "type": "Repo" }, { "type": "String", "id": "x" },
            { "type": "Integer", "id": "7" },
        ] });
        assert_eq!(body(&pattern), sent);
        let parameters: Vec<String> =
            parameters(&pattern).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        let expected = "predicate=p args.0.type=User args.0.id=a b args.2.type=Repo args.3.type=String args.3.id=x args.4.type=Integer args.4.id=7";
        assert_eq!(parameters.join(" "), expected);
    }

    #[test]
    fn what_a_pattern_cannot_say_is_refused() {
        for (text, reason) in [
            ("p(User:a) and q(User:b)", "more than one fact"),
            ("p(User:?u, User:?u)", "two arguments are equal"),
            ("p(", "cannot be read"),
        ] {
            let message = pattern(text).unwrap_err().to_string();
            assert!(message.contains(reason), "{message}");
        }
        assert!(pattern("p(User:?, User:?, _, _, User:_, User:_)").is_ok());
    }
}
