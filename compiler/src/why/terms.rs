//! The terms of a condition and their values in an attempt.

use super::rows::Rows;
use super::state::Env;
use super::values::Value;
use super::world::World;
use crate::datalog::{ScanArg, Term};

pub(super) fn plain(arg: &ScanArg) -> Option<Term> {
    match arg {
        ScanArg::Term(term) => Some(*term),
        ScanArg::OneOf(_) => None,
    }
}

/// The values of a condition's columns, where they are known.
pub(super) fn scan_values<R: Rows>(
    world: &mut World<'_, R>,
    args: &[ScanArg],
    env: &Env,
) -> Box<[Option<Value>]> {
    args.iter().map(|arg| plain(arg).and_then(|term| world.term(term, env))).collect()
}

pub(super) fn values_of<R: Rows>(world: &mut World<'_, R>, args: &[Term], env: &Env) -> Box<[Option<Value>]> {
    args.iter().map(|term| world.term(*term, env)).collect()
}

/// The variables after the terms have taken these values, those that are known; `None` if they cannot.
pub(super) fn bound<R: Rows>(
    world: &mut World<'_, R>,
    args: &[Term],
    values: &[Option<Value>],
    mut env: Env,
) -> Option<Env> {
    for (term, value) in args.iter().zip(values) {
        let Some(value) = value else { continue };
        match (*term, world.term(*term, &env)) {
            (_, Some(known)) => {
                if known != *value {
                    return None;
                }
            }
            (Term::Var(var), None) => env[var] = Some(*value),
            (Term::Given(_) | Term::Const(_) | Term::Now, None) => return None,
            (Term::Local(_) | Term::Ignored, None) => {}
        }
    }
    Some(env)
}

/// Whether equal variables have equal values.
pub(super) fn is_same(args: &[Term], row: &[Value]) -> bool {
    let pairs = || args.iter().zip(row);
    pairs().enumerate().all(|(at, (arg, value))| {
        !matches!(arg, Term::Local(_))
            || pairs().skip(at + 1).all(|(other, other_value)| other != arg || other_value == value)
    })
}
