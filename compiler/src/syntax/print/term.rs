//! Prints terms and calls.

use crate::primitive::Primitive;
use crate::spelling::quoted;
use crate::syntax::ast::{Call, Param, Short, Spanned, Term};
use crate::syntax::token::Kind;

pub(super) fn list<T>(items: &[T], print: impl Fn(&T) -> String) -> String {
    items.iter().map(print).collect::<Vec<_>>().join(", ")
}

pub(super) fn param(param: &Param) -> String {
    match &param.ty {
        None => term(&param.term),
        Some(ty) => format!("{}: {}", term(&param.term), ty.value),
    }
}

pub(super) fn call(call: &Call) -> String {
    format!("{}({})", call.name.value, list(&call.args, term))
}

pub(super) fn term(term: &Spanned<Term>) -> String {
    match &term.value {
        Term::String(text) => quoted(text),
        Term::Integer(number) => number.to_string(),
        Term::Boolean(value) => value.to_string(),
        Term::Object { ty, id } => match Primitive::named(&ty.value) {
            Some(Primitive::Integer | Primitive::Boolean) => format!("{}{{{}}}", ty.value, id.value),
            Some(Primitive::String) | None => format!("{}{{{}}}", ty.value, quoted(&id.value)),
        },
        Term::CurrentUnixTime => Kind::Now.text().to_owned(),
        Term::Variable(name) => name.clone(),
    }
}

pub(super) fn short(short: &Short) -> String {
    match short {
        Short::Name(name) => quoted(name),
        Short::Role => "role".to_owned(),
        Short::Permission => "permission".to_owned(),
    }
}
