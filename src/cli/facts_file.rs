//! Reads a file with the facts that the service would have stored.
//!
//! One fact per line, as the service's JSON or in the notation of questions; blank lines and lines that start
//! with `#` are ignored. A JSON array of facts, as `GET /facts` returns it, works too.
//!
//! ```text
//! # who runs what
//! has_role(User:alice, "owner", Organization:acme)
//! {"predicate":"is_banned","args":[{"type":"User","id":"mallory"}]}
//! ```

use super::error::CliError;
use super::policy_file;
use crate::engine::{Fact, Value, notation};
use portcullis_compiler::question::Domain;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A fact as it is sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(expecting = "a fact, an object with `predicate` and `args`")]
pub(super) struct FactJson {
    predicate: String,
    args: Vec<ValueJson>,
}

/// A value as it is sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(expecting = "a value, an object with `type` and `id`")]
pub(super) struct ValueJson {
    #[serde(rename = "type")]
    ty: String,
    id: String,
}

impl From<ValueJson> for Value {
    fn from(ValueJson { ty, id }: ValueJson) -> Self {
        Self { ty, id }
    }
}

impl From<FactJson> for Fact {
    fn from(fact: FactJson) -> Self {
        Self { predicate: fact.predicate, args: fact.args.into_iter().map(Value::from).collect() }
    }
}

impl From<Fact> for FactJson {
    fn from(fact: Fact) -> Self {
        let args = fact.args.into_iter().map(|Value { ty, id }| ValueJson { ty, id }).collect();
        Self { predicate: fact.predicate, args }
    }
}

/// The facts of a file, in order.
pub(super) fn read(path: &Path) -> Result<Vec<Fact>, CliError> {
    let text = policy_file::read(path)?;
    facts(&text).map_err(|(line, reason)| CliError::Fact { path: path.into(), line, reason })
}

/// The facts of a text; or the line, from 1, of the first error, and the reason.
fn facts(text: &str) -> Result<Vec<Fact>, (usize, String)> {
    if text.trim_start().starts_with('[') {
        let facts: Vec<FactJson> =
            serde_json::from_str(text).map_err(|error| (error.line(), error.to_string()))?;
        return Ok(facts.into_iter().map(Fact::from).collect());
    }
    let numbered = (1..).zip(text.lines().map(str::trim));
    let facts = numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    facts.map(|(number, line)| fact(line).map_err(|reason| (number, reason))).collect()
}

/// The fact in a text, in the notation or as JSON; or why there is none.
pub(super) fn fact(line: &str) -> Result<Fact, String> {
    if line.starts_with('{') {
        let fact: FactJson = serde_json::from_str(line).map_err(|error| error.to_string())?;
        return Ok(fact.into());
    }
    let question = notation::parse(line).map_err(|error| error.to_string())?;
    let [atom] = question.atoms.as_slice() else { return Err("expected one fact on the line".to_owned()) };
    let args = question.vars.into_iter().map(|var| match (var.ty, var.domain) {
        (Some(ty), Domain::Given(id)) => Ok(Value { ty, id }),
        (_, Domain::Given(_) | Domain::GivenOneOf(_) | Domain::Wanted | Domain::Ignored) => {
            Err("a fact must have values, not `?` or `_`".to_owned())
        }
    });
    Ok(Fact { predicate: atom.predicate.clone(), args: args.collect::<Result<_, _>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Facts as `predicate(Type:id, …)`, one per line.
    fn read(text: &str) -> Result<String, (usize, String)> {
        let line = |fact: Fact| {
            let args: Vec<_> = fact.args.iter().map(|arg| format!("{}:{}", arg.ty, arg.id)).collect();
            format!("{}({})", fact.predicate, args.join(", "))
        };
        Ok(facts(text)?.into_iter().map(line).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn a_line_is_notation_or_json() {
        let text = "\n# roles\n has_role(User:a, \"r\", Repo:x)\n{\"predicate\":\"p\",\"args\":[{\"type\":\"T\",\"id\":\"1\"}]}\n";
        assert_eq!(read(text).as_deref(), Ok("has_role(User:a, String:r, Repo:x)\np(T:1)"));
        assert_eq!(read("").as_deref(), Ok(""));
    }

    #[test]
    fn an_answer_of_the_service_is_a_file() {
        let text = "[\n {\"predicate\":\"p\",\"args\":[]},\n {\"predicate\":\"q\",\"args\":[]}]";
        assert_eq!(read(text).as_deref(), Ok("p()\nq()"));
        assert_eq!(read("[\n{\"predicate\":7}]").unwrap_err().0, 2);
    }

    #[test]
    fn keys_that_are_not_facts_is_named_with_its_line() {
        assert_eq!(read("p(T:a)\n\np(T:?)").unwrap_err().0, 3);
        assert_eq!(read("p(T:a) and q(T:a)").unwrap_err(), (1, "expected one fact on the line".to_owned()));
        assert!(read("p(T").unwrap_err().1.contains("column"));
        assert!(read("{\"predicate\":\"p\"}").unwrap_err().1.contains("args"));
    }
}
