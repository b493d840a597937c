//! A program as text, for `explain` and snapshots.
//!
//! In: a [`Program`]. Out: one line per rule, in the program's order, with each variable's types at its first
//! occurrence. The output is deterministic.
//!
//! ```text
//! has_permission(actor: User, "read", doc: Doc) :- has_relation(doc, "folder", folder: Folder),
//!     not has_role(actor, "banned", folder)
//! ```

use super::ids::{ConstId, PredId, TypeId, VarId};
use super::program::Program;
use super::rule::{Literal, LiteralKind, Polarity, Rule, Term, VarType};
use super::symbols::{Signature, SignatureArg};
use crate::id_vec::IdVec;
use std::fmt::Write as _;

/// The types, the rules and the tests' assertions.
pub fn program(program: &Program) -> String {
    let mut text = types(program);
    text.push('\n');
    text.push_str(&rules(program));
    text
}

/// One line per type that a block declares or a rule mentions, with the types it admits.
pub fn types(program: &Program) -> String {
    let mut text = String::new();
    for def in &program.types {
        if let Some(name) = def.named() {
            let _ = writeln!(text, "{name} = {}", set(program, &def.admits));
        }
    }
    text
}

/// One line per rule.
pub fn rules(program: &Program) -> String {
    program.rules.iter().map(|of| rule(program, of) + "\n").collect()
}

/// One line per signature.
pub fn signatures(program: &Program) -> String {
    program.signatures.iter().map(|of| signature(program, of) + "\n").collect()
}

/// A rule as one line, without a newline.
pub fn rule(program: &Program, rule: &Rule) -> String {
    let mut printer =
        RulePrinter { program, rule, shown: IdVec::like(&rule.vars, false), names: names(rule) };
    let mut text = printer.atom(rule.head, &rule.params);
    for (at, literal) in rule.body.iter().enumerate() {
        text.push_str(if at == 0 { " :- " } else { ", " });
        text.push_str(&printer.literal(literal));
    }
    text
}

/// A signature as one line, without a newline.
pub fn signature(program: &Program, signature: &Signature) -> String {
    let args = signature.args.iter().map(|arg| match arg {
        SignatureArg::OneOf(types) => set(program, types),
        SignatureArg::Literal(literal) => quote(literal),
        SignatureArg::Any => "_".to_owned(),
    });
    format!("{}({})", signature.predicate, args.collect::<Vec<_>>().join(", "))
}

/// A literal in policy syntax.
pub fn constant(program: &Program, constant: ConstId) -> String {
    let constant = program.literal(constant);
    match constant.ty {
        TypeId::STRING => quote(&constant.text),
        TypeId::INTEGER | TypeId::BOOLEAN => constant.text.clone(),
        ty => format!("{}{{{}}}", type_name(program, ty), quote(&constant.text)),
    }
}

/// Readable variable names, made unique.
fn names(rule: &Rule) -> IdVec<VarId, String> {
    let mut names = IdVec::new();
    for (at, var) in rule.vars.iter().enumerate() {
        let taken = var.name == "_" || rule.vars.iter().take(at).any(|other| other.name == var.name);
        names.push(if taken { format!("{}{at}", var.name) } else { var.name.clone() });
    }
    names
}

fn type_name(program: &Program, ty: TypeId) -> &str {
    program.types[ty].named().unwrap_or("(other)")
}

fn set(program: &Program, types: &[TypeId]) -> String {
    match types {
        [only] => type_name(program, *only).to_owned(),
        _ => format!("{{{}}}", types.iter().map(|&ty| type_name(program, ty)).collect::<Vec<_>>().join(", ")),
    }
}

fn quote(text: &str) -> String {
    format!("{text:?}")
}

struct RulePrinter<'p> {
    program: &'p Program,
    rule: &'p Rule,
    /// Which variables' types were printed.
    shown: IdVec<VarId, bool>,
    names: IdVec<VarId, String>,
}

impl RulePrinter<'_> {
    fn literal(&mut self, literal: &Literal) -> String {
        match &literal.kind {
            LiteralKind::Atom { polarity: Polarity::Positive, pred, args } => self.atom(*pred, args),
            LiteralKind::Atom { polarity: Polarity::Negated, pred, args } => {
                format!("not {}", self.atom(*pred, args))
            }
            LiteralKind::Compare { op, left, right } => {
                format!("{} {op} {}", self.term(*left), self.term(*right))
            }
            LiteralKind::OneOf { polarity, term, values } => {
                let values: Vec<String> = values.iter().map(|&value| constant(self.program, value)).collect();
                let not = match polarity {
                    Polarity::Positive => "",
                    Polarity::Negated => "not ",
                };
                format!("{not}{} in [{}]", self.term(*term), values.join(", "))
            }
            LiteralKind::NotOfType { var, types } => {
                format!("not {} matches {}", self.term(Term::Var(*var)), set(self.program, types))
            }
            LiteralKind::False => "false".to_owned(),
        }
    }

    fn atom(&mut self, pred: PredId, args: &[Term]) -> String {
        let name = &self.program.predicate(pred).name;
        let args: Vec<String> = args.iter().map(|&arg| self.term(arg)).collect();
        format!("{name}({})", args.join(", "))
    }

    fn term(&mut self, term: Term) -> String {
        match term {
            Term::Var(var) => self.variable(var),
            Term::Const(literal) => constant(self.program, literal),
            Term::Now => "@current_unix_time".to_owned(),
        }
    }

    /// The name, with its types at the first occurrence.
    fn variable(&mut self, var: VarId) -> String {
        let name = &self.names[var];
        let first = !std::mem::replace(&mut self.shown[var], true);
        match &self.rule.vars[var].ty {
            VarType::OneOf(types) if first => format!("{name}: {}", set(self.program, types)),
            VarType::OneOf(_) | VarType::Any => name.clone(),
        }
    }
}
