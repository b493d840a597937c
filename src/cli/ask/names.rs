//! Warnings about names of a question that the policy does not have.

use crate::cli::active_policy::{ActivePolicy, NO_POLICY};
use crate::cli::error::CliError;
use crate::cli::output;
use crate::engine::QuestionNames;
use portcullis_compiler::ir::Program;

/// Writes a warning for each name that the policy does not have; returns whether there was one. Without the
/// policy, nothing is known.
pub(in crate::cli) fn warn(names: &QuestionNames<'_>, policy: &Result<ActivePolicy, CliError>) -> bool {
    let warnings = match policy {
        Ok(ActivePolicy::Known(program)) => names.unknown(program),
        Ok(ActivePolicy::None) => vec![NO_POLICY.to_owned()],
        Ok(ActivePolicy::Foreign) | Err(_) => Vec::new(),
    };
    write(&warnings);
    !warnings.is_empty()
}

/// Writes a warning for each name that the program does not have.
pub(in crate::cli) fn warn_in(names: &QuestionNames<'_>, program: &Program) {
    write(&names.unknown(program));
}

fn write(warnings: &[String]) {
    warnings.iter().for_each(|warning| output::to_stderr(&format!("warning: {warning}")));
}
