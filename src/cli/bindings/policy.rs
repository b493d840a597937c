//! Determines which bound facts a policy can use.

use portcullis_compiler::bindings::{Binding, BindingArg};
use portcullis_compiler::ir::{Program, SignatureArg};
use portcullis_compiler::primitive::STRING;

/// Whether some rule of the policy reads facts of this form.
pub(super) fn uses(program: &Program, binding: &Binding) -> bool {
    program.signatures.iter().any(|signature| {
        let fits = signature.args.iter().zip(&binding.args).all(|(arg, bound)| admits(program, arg, bound));
        signature.predicate == binding.predicate && signature.args.len() == binding.args.len() && fits
    })
}

fn admits(program: &Program, arg: &SignatureArg, bound: &BindingArg) -> bool {
    let ty = bound.ty();
    match (arg, bound) {
        (SignatureArg::OneOf(types), _) => program.type_id(ty).is_some_and(|ty| types.contains(&ty)),
        (SignatureArg::Literal(_), BindingArg::Column { .. }) => ty == STRING,
        (SignatureArg::Literal(text), BindingArg::Constant { text: bound, .. }) => {
            ty == STRING && text == bound
        }
        (SignatureArg::Any, _) => program.type_id(ty).is_some(),
    }
}
