//! Prints conditions, divided where a long line may be broken.

use super::term::{call, list, short, term};
use crate::spelling::quoted;
use crate::syntax::ast::{Comparison, Condition, ShortCondition};

/// The parts of a condition: one per operand of its outermost `and` or `or`.
pub(super) fn condition(expr: &Condition) -> Vec<String> {
    match expr {
        Condition::Or(sides, _) => joined(sides, "or", whole),
        Condition::And(sides, _) => joined(sides, "and", whole),
        Condition::Not(..)
        | Condition::Paren(..)
        | Condition::Compare { .. }
        | Condition::In { .. }
        | Condition::Matches { .. }
        | Condition::Call(_)
        | Condition::Boolean(..) => vec![whole(expr)],
    }
}

/// The same for a shorthand condition.
pub(super) fn short_condition(expr: &ShortCondition) -> Vec<String> {
    match expr {
        ShortCondition::Or(sides, _) => joined(sides, "or", short_whole),
        ShortCondition::And(sides, _) => joined(sides, "and", short_whole),
        ShortCondition::Not(..)
        | ShortCondition::Paren(..)
        | ShortCondition::Short { .. }
        | ShortCondition::Global { .. }
        | ShortCondition::Call(_) => vec![short_whole(expr)],
    }
}

fn joined<T>(sides: &[T], word: &str, print: impl Fn(&T) -> String) -> Vec<String> {
    let last = sides.len().saturating_sub(1);
    let with_word = |(at, side)| if at == last { print(side) } else { format!("{} {word}", print(side)) };
    sides.iter().enumerate().map(with_word).collect()
}

fn whole(expr: &Condition) -> String {
    match expr {
        Condition::Or(..) | Condition::And(..) => condition(expr).join(" "),
        Condition::Not(inner, _) => format!("not {}", whole(inner)),
        Condition::Paren(inner, _) => format!("({})", whole(inner)),
        Condition::Compare { op, left, right, .. } => {
            format!("{} {} {}", term(left), comparison(*op), term(right))
        }
        Condition::In { term: tried, list: elements, .. } => {
            format!("{} in [{}]", term(tried), list(elements, term))
        }
        Condition::Matches { variable, ty, exact, .. } => {
            let word = if *exact { "matches!" } else { "matches" };
            format!("{} {word} {}", variable.value, ty.value)
        }
        Condition::Call(called) => call(called),
        Condition::Boolean(value, _) => value.to_string(),
    }
}

fn short_whole(expr: &ShortCondition) -> String {
    match expr {
        ShortCondition::Or(..) | ShortCondition::And(..) => short_condition(expr).join(" "),
        ShortCondition::Not(inner, _) => format!("not {}", short_whole(inner)),
        ShortCondition::Paren(inner, _) => format!("({})", short_whole(inner)),
        ShortCondition::Short { name, on: None, .. } => short(&name.value),
        ShortCondition::Short { name, on: Some(on), .. } => {
            format!("{} on {}", short(&name.value), quoted(&on.value))
        }
        ShortCondition::Global { name, .. } => format!("global {}", short(&name.value)),
        ShortCondition::Call(called) => call(called),
    }
}

fn comparison(op: Comparison) -> &'static str {
    match op {
        Comparison::Equal => "=",
        Comparison::NotEqual => "!=",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}
