//! Short forms of values, facts and policies for unit tests.

use crate::store::{Fact, Value};
use portcullis_compiler::ir::Program;
use portcullis_compiler::source::SourceMap;

/// A value from its type and id.
pub(super) fn value(ty: &str, id: &str) -> Value {
    Value { ty: ty.into(), id: id.into() }
}

/// A fact whose arguments are written `Type:id`.
pub(super) fn fact(predicate: &str, args: &[&str]) -> Fact {
    let args = args.iter().map(|arg| arg.split_once(':').map(|(ty, id)| value(ty, id)).expect("Type:id"));
    Fact { predicate: predicate.into(), args: args.collect() }
}

/// The program of a policy that must validate.
pub(super) fn program(policy: &str) -> Program {
    let checked = portcullis_compiler::check(&SourceMap::new("test.polar", policy));
    checked.program.unwrap_or_else(|| panic!("{:#?}", checked.diagnostics))
}
