//! Determines which bound facts a policy can use, and what it uses instead of the others.

use crate::engine::question_names::unknown_fact;
use portcullis_compiler::bindings::{Binding, BindingArg, Bindings};
use portcullis_compiler::ir::{Program, Signature, SignatureArg};
use portcullis_compiler::primitive::STRING;
use std::cmp::Reverse;

/// How many forms of facts a note names.
const MOST_FORMS: usize = 3;

/// Whether some rule of the policy reads facts of this form.
pub fn reads_bound(program: &Program, binding: &Binding) -> bool {
    program.signatures.iter().any(|signature| {
        signature.predicate == binding.predicate
            && signature.args.len() == binding.args.len()
            && n_admitted(program, signature, binding) == binding.args.len()
    })
}

/// How many arguments of a binding fit those of a signature.
fn n_admitted(program: &Program, signature: &Signature, binding: &Binding) -> usize {
    signature.args.iter().zip(&binding.args).filter(|(arg, bound)| admits(program, arg, bound)).count()
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

/// A note for each key that is not read. Types that the policy does not mention have notes of their own.
pub(super) fn unread(program: &Program, bindings: &Bindings) -> Vec<String> {
    let others = bindings.facts.iter().filter(|binding| {
        let is_mentioned = binding.args.iter().all(|arg| program.type_id(arg.ty()).is_some());
        let has_arity = program.predicate_id(&binding.predicate, binding.args.len()).is_some();
        (is_mentioned || !has_arity) && !reads_bound(program, binding)
    });
    others.filter_map(|binding| note(program, binding)).collect()
}

/// What the policy uses instead, the most similar first.
fn note(program: &Program, binding: &Binding) -> Option<String> {
    if let Some(unknown) = unknown_fact(program, &binding.predicate) {
        return Some(format!("`{}` is not read: {unknown}", binding.key));
    }
    let mut forms: Vec<&Signature> =
        program.signatures.iter().filter(|signature| signature.predicate == binding.predicate).collect();
    forms.sort_by_key(|signature| {
        let is_as_long = signature.args.len() == binding.args.len();
        Reverse((is_as_long, n_admitted(program, signature, binding)))
    });
    let mut shown: Vec<String> =
        forms.iter().take(MOST_FORMS).map(|signature| format!("`{}`", form(program, signature))).collect();
    let last = match forms.len().saturating_sub(MOST_FORMS) {
        0 => shown.pop()?,
        n => format!("{n} more"),
    };
    let list = if shown.is_empty() { last } else { format!("{} and {last}", shown.join(", ")) };
    Some(format!("`{}` is not read: the policy reads {list}", binding.key))
}

/// A form of facts, as in `has_role(User, "reader", Doc | Folder)`.
fn form(program: &Program, signature: &Signature) -> String {
    let arg = |arg: &SignatureArg| match arg {
        SignatureArg::OneOf(types) => {
            let mut names: Vec<&str> =
                types.iter().filter_map(|ty| program.types[*ty].named()).take(MOST_FORMS).collect();
            names.extend((types.len() > MOST_FORMS).then_some("…"));
            names.join(" | ")
        }
        SignatureArg::Literal(text) => format!("\"{text}\""),
        SignatureArg::Any => "_".to_owned(),
    };
    let args: Vec<String> = signature.args.iter().map(arg).collect();
    format!("{}({})", signature.predicate, args.join(", "))
}
