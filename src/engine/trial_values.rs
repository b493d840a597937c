//! The values for which an assertion with a variable is tried.
//!
//! In: a policy and a type. Out: enough values to represent all. No rule can distinguish two values that the
//! policy and its tests never mention, except Integers by their order. So it is enough to try every value
//! that occurs, one that does not, and the neighbours of every Integer.

use portcullis_compiler::ir::{Program, TypeId};
use portcullis_compiler::spelling::quoted;
use std::collections::BTreeSet;

/// One value to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TrialValue {
    /// Its text.
    pub(super) text: String,
    /// Its name in messages.
    pub(super) shown: String,
}

/// The distinct values that represent all values of a type.
pub(super) fn trial_values(program: &Program, ty: TypeId, now: i64) -> Vec<TrialValue> {
    if ty == TypeId::BOOLEAN {
        return ["false", "true"].map(|text| plain(text.to_owned())).to_vec();
    }
    let occurring = program.constants.iter().filter(|constant| constant.ty == ty);
    if ty == TypeId::INTEGER {
        let numbers: BTreeSet<i64> =
            occurring.filter_map(|constant| constant.text.parse().ok()).chain([now]).collect();
        let around = |n: i64| [n.checked_sub(1), Some(n), n.checked_add(1)];
        let numbers: BTreeSet<i64> = numbers.into_iter().flat_map(around).flatten().collect();
        return numbers.into_iter().map(|n| plain(n.to_string())).collect();
    }
    let texts: BTreeSet<&str> = occurring.map(|constant| constant.text.as_str()).collect();
    let name = &program.types[ty].name;
    let mut fresh = "another".to_owned();
    while texts.contains(fresh.as_str()) {
        fresh.push('\'');
    }
    let known = texts.into_iter().map(|text| TrialValue {
        text: text.to_owned(),
        shown: if ty == TypeId::STRING { quoted(text) } else { format!("{name}{{{}}}", quoted(text)) },
    });
    known.chain([TrialValue { text: fresh.clone(), shown: format!("any other {name}") }]).collect()
}

fn plain(text: String) -> TrialValue {
    TrialValue { shown: text.clone(), text }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::program;
    use super::*;

    fn shown(policy: &str, ty: &str) -> Vec<String> {
        let program = program(policy);
        let ty = program.type_id(ty).expect("a type of the policy");
        trial_values(&program, ty, 1_000).into_iter().map(|value| value.shown).collect()
    }

    #[test]
    fn every_value_that_occurs_and_one_that_does_not() {
        let policy = r#"p(User{"another"}); p(User{"a\"b"}); q("x");"#;
        assert_eq!(shown(policy, "User"), [r#"User{"a\"b"}"#, r#"User{"another"}"#, "any other User"]);
        assert_eq!(shown(policy, "String"), [r#""x""#, "any other String"]);
    }

    #[test]
    fn integers_come_with_their_neighbours_and_booleans_are_two() {
        let policy = "p(x: Integer) if x > 7; p(9223372036854775807); q(true);";
        let expected = ["6", "7", "8", "999", "1000", "1001", "9223372036854775806", "9223372036854775807"];
        assert_eq!(shown(policy, "Integer"), expected);
        assert_eq!(shown(policy, "Boolean"), ["false", "true"]);
    }
}
