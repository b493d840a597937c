//! An open document.

use portcullis_compiler::diagnostic::{Diagnostic, Severity};
use portcullis_compiler::ir::Program;
use portcullis_compiler::source::{SourceMap, Span};
use portcullis_compiler::syntax::ast::{Item, Member, Policy};
use portcullis_compiler::{Checked, check_tree, syntax};
use std::cell::OnceCell;

/// How many times statements with errors are left out. Without them, others may name what is no longer
/// defined.
const ROUNDS: usize = 8;

/// The current text of a policy in the editor, and what is known of it.
#[derive(Debug)]
pub(super) struct OpenDocument {
    /// The text.
    pub(super) source: SourceMap,
    /// Its tree, without the statements that do not parse.
    pub(super) policy: Policy,
    /// Errors and lints, sorted by position.
    pub(super) findings: Vec<Diagnostic>,
    /// Its rules, if it has no error.
    program: Option<Program>,
    /// The rules that have no error, made when they are first needed.
    sound: OnceCell<Option<Program>>,
}

impl OpenDocument {
    pub(super) fn of(name: &str, text: String) -> Self {
        let source = SourceMap::new(name, text);
        let (policy, findings) = syntax::parse(&source);
        let Checked { program, diagnostics } = check_tree(&source, &policy, findings);
        Self { source, policy, findings: diagnostics, program, sound: OnceCell::new() }
    }

    /// The rules, if the policy has no error.
    pub(super) fn program(&self) -> Option<&Program> {
        self.program.as_ref()
    }

    /// The rules without statements that have errors, or that get errors because those are left out.
    pub(super) fn sound_program(&self) -> Option<&Program> {
        self.program().or_else(|| self.sound.get_or_init(|| self.without_errors()).as_ref())
    }

    fn without_errors(&self) -> Option<Program> {
        let mut policy = self.policy.clone();
        for _ in 0..ROUNDS {
            let Checked { program, diagnostics } = check_tree(&self.source, &policy, Vec::new());
            if program.is_some() {
                return program;
            }
            let errors = diagnostics.iter().filter(|found| found.severity() == Severity::Error);
            let errors: Vec<Span> = errors.map(|found| found.primary.span).collect();
            leave_out(&mut policy, &errors);
        }
        None
    }
}

/// Removes the statements with errors: lines of blocks, or whole items.
fn leave_out(policy: &mut Policy, errors: &[Span]) {
    let is_wrong =
        |span: Span| errors.iter().any(|error| span.start <= error.start && error.start < span.end);
    policy.items.retain_mut(|item| match item {
        Item::Block(block) => {
            let n_members = block.members.len();
            block.members.retain(|member| !is_wrong(span(member)));
            block.members.len() < n_members || !is_wrong(block.span)
        }
        Item::Rule(_) | Item::Declare(_) | Item::Fixture(_) | Item::Test(_) => !is_wrong(item.span()),
    });
}

fn span(member: &Member) -> Span {
    match member {
        Member::Roles(list) | Member::Permissions(list) => list.span,
        Member::Relations(list) => list.span,
        Member::Shorthand(shorthand) => shorthand.span,
    }
}
