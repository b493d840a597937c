//! Prints conditions, divided where a long line may be broken.

use super::term::{call, list, short, term};
use crate::syntax::ast::{Comparison, Expr, ShortExpr};
use crate::syntax::spelling::quoted;

/// The parts of a condition: one per operand of its outermost `and` or `or`.
pub(super) fn condition(expr: &Expr) -> Vec<String> {
    match expr {
        Expr::Or(sides, _) => joined(sides, "or", whole),
        Expr::And(sides, _) => joined(sides, "and", whole),
        Expr::Not(..)
        | Expr::Paren(..)
        | Expr::Compare { .. }
        | Expr::In { .. }
        | Expr::Matches { .. }
        | Expr::Call(_)
        | Expr::Boolean(..) => vec![whole(expr)],
    }
}

/// The same for a shorthand condition.
pub(super) fn short_condition(expr: &ShortExpr) -> Vec<String> {
    match expr {
        ShortExpr::Or(sides, _) => joined(sides, "or", short_whole),
        ShortExpr::And(sides, _) => joined(sides, "and", short_whole),
        ShortExpr::Not(..)
        | ShortExpr::Paren(..)
        | ShortExpr::Short { .. }
        | ShortExpr::Global { .. }
        | ShortExpr::Call(_) => vec![short_whole(expr)],
    }
}

fn joined<T>(sides: &[T], word: &str, print: impl Fn(&T) -> String) -> Vec<String> {
    let with_word = |(at, side)| if at == 0 { print(side) } else { format!("{word} {}", print(side)) };
    sides.iter().enumerate().map(with_word).collect()
}

fn whole(expr: &Expr) -> String {
    match expr {
        Expr::Or(..) | Expr::And(..) => condition(expr).join(" "),
        Expr::Not(inner, _) => format!("not {}", whole(inner)),
        Expr::Paren(inner, _) => format!("({})", whole(inner)),
        Expr::Compare { op, left, right, .. } => {
            format!("{} {} {}", term(left), comparison(*op), term(right))
        }
        Expr::In { term: tried, list: elements, .. } => {
            format!("{} in [{}]", term(tried), list(elements, term))
        }
        Expr::Matches { variable, ty, exact, .. } => {
            let word = if *exact { "matches!" } else { "matches" };
            format!("{} {word} {}", variable.value, ty.value)
        }
        Expr::Call(called) => call(called),
        Expr::Boolean(value, _) => value.to_string(),
    }
}

fn short_whole(expr: &ShortExpr) -> String {
    match expr {
        ShortExpr::Or(..) | ShortExpr::And(..) => short_condition(expr).join(" "),
        ShortExpr::Not(inner, _) => format!("not {}", short_whole(inner)),
        ShortExpr::Paren(inner, _) => format!("({})", short_whole(inner)),
        ShortExpr::Short { name, on: None, .. } => short(&name.value),
        ShortExpr::Short { name, on: Some(on), .. } => {
            format!("{} on {}", short(&name.value), quoted(&on.value))
        }
        ShortExpr::Global { name, .. } => format!("global {}", short(&name.value)),
        ShortExpr::Call(called) => call(called),
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
