//! Names of a question that the policy does not have, most often because they are misspelled.
//!
//! The answer is no, as in Oso Cloud; a warning tells the person who asked why.

use portcullis_compiler::builtin::{ALLOW, HAS_PERMISSION, HAS_RELATION, HAS_ROLE};
use portcullis_compiler::diagnostic::suggest::near;
use portcullis_compiler::ir::{Program, TypeId};
use portcullis_compiler::primitive::STRING;
use portcullis_compiler::question::{Domain, Question};

/// The names of a question, each with what it names.
#[derive(Debug, Default)]
pub struct QuestionNames<'n> {
    /// The types.
    types: Vec<&'n str>,
    /// Texts that the policy should have, such as actions.
    texts: Vec<(&'static str, &'n str)>,
    /// The predicates of facts.
    predicates: Vec<&'n str>,
    /// The predicates that are asked.
    asked: Vec<&'n str>,
}

impl<'n> QuestionNames<'n> {
    /// The types and the action of a check or a list.
    pub fn of_check(types: &[&'n str], action: Option<&'n str>) -> Self {
        let texts = action.map(|action| ("action", action)).into_iter().collect();
        Self { types: types.to_vec(), texts, ..Self::default() }
    }

    /// The predicates and types of a question, and the actions, permissions, roles and relations in it.
    pub fn of_question(question: &'n Question) -> Self {
        let types = question.vars.iter().filter_map(|var| var.ty.as_deref()).collect();
        let texts = question.atoms.iter().filter_map(|atom| {
            let what = match atom.predicate.as_str() {
                ALLOW => "action",
                HAS_PERMISSION => "permission",
                HAS_ROLE => "role",
                HAS_RELATION => "relation",
                _ => return None,
            };
            let var = &question.vars[*atom.args.get(1)?];
            match (var.ty.as_deref(), &var.domain) {
                (Some(STRING), Domain::Given(text)) => Some((what, text.as_str())),
                (_, Domain::Given(_) | Domain::GivenOneOf(_) | Domain::Wanted | Domain::Ignored) => None,
            }
        });
        let asked = question.atoms.iter().map(|atom| atom.predicate.as_str()).collect();
        Self { types, texts: texts.collect(), predicates: Vec::new(), asked }
    }

    /// The predicate and the types of a fact.
    pub fn of_fact(predicate: &'n str, types: Vec<&'n str>) -> Self {
        Self { types, predicates: vec![predicate], ..Self::default() }
    }

    /// A warning for each name that the policy does not have, with the nearest that it has.
    #[must_use]
    pub fn unknown(&self, program: &Program) -> Vec<String> {
        let known_types: Vec<&str> = program.types.iter().map(|ty| ty.name.as_str()).collect();
        let stored = stored(program);
        let named = program.predicates.iter().map(|known| known.name.as_str());
        // Generated names begin with a quote.
        let answered: Vec<&str> = named.filter(|name| !name.starts_with('\'')).collect();
        let texts = texts(program);
        let types = self.types.iter().map(|ty| ("type", *ty, &known_types));
        let predicates = self.predicates.iter().map(|predicate| ("fact", *predicate, &stored));
        let asked = self.asked.iter().map(|predicate| ("predicate", *predicate, &answered));
        let texts = self.texts.iter().map(|(what, text)| (*what, *text, &texts));
        let mut warnings: Vec<String> = Vec::new();
        for (what, name, known) in types.chain(predicates).chain(asked).chain(texts) {
            if let Some(warning) = missing(what, name, known).filter(|warning| !warnings.contains(warning)) {
                warnings.push(warning);
            }
        }
        warnings
    }
}

/// Whether a policy names a fact.
pub(super) fn names_fact(program: &Program, predicate: &str) -> bool {
    program.signatures.iter().any(|fact| fact.predicate == predicate)
}

/// A warning for a fact that a policy does not name, with the nearest that it names.
pub(super) fn unknown_fact(program: &Program, predicate: &str) -> Option<String> {
    missing("fact", predicate, &stored(program))
}

/// The facts that a policy names.
fn stored(program: &Program) -> Vec<&str> {
    program.signatures.iter().map(|fact| fact.predicate.as_str()).collect()
}

/// The texts that a policy has.
fn texts(program: &Program) -> Vec<&str> {
    let texts = program.constants.iter().filter(|constant| constant.ty == TypeId::STRING);
    texts.map(|constant| constant.text.as_str()).collect()
}

fn missing(what: &str, name: &str, known: &[&str]) -> Option<String> {
    if known.contains(&name) {
        return None;
    }
    let meant = near(name, known.iter().copied()).map(|near| format!("; did you mean `{near}`?"));
    Some(format!(
        "the policy does not name the {what} `{}`{}",
        name.escape_debug(),
        meant.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::notation;
    use portcullis_compiler::check;
    use portcullis_compiler::source::SourceMap;

    #[test]
    fn the_nearest_name_is_suggested() {
        let policy = r#"actor User {} resource Repo { permissions = ["read"]; roles = ["reader"]; "read" if "reader"; }"#;
        let program = check(&SourceMap::new("p", policy)).program.unwrap();
        let names = QuestionNames::of_check(&["User", "Rpeo", "Zebra\u{1b}"], Some("raed"));
        let expected = [
            "the policy does not name the type `Rpeo`; did you mean `Repo`?",
            r"the policy does not name the type `Zebra\u{1b}`",
            "the policy does not name the action `raed`; did you mean `read`?",
        ];
        assert_eq!(names.unknown(&program), expected);
        let question =
            notation::parse(r#"has_role(User:a, "raeder", Repo:_) and allow(User:a, "read", Repo:_)"#);
        let expected = ["the policy does not name the role `raeder`; did you mean `reader`?"];
        assert_eq!(QuestionNames::of_question(&question.unwrap()).unknown(&program), expected);
        let fact = QuestionNames::of_fact("has_rloe", vec!["User"]);
        let expected = ["the policy does not name the fact `has_rloe`; did you mean `has_role`?"];
        assert_eq!(fact.unknown(&program), expected);
    }
}
