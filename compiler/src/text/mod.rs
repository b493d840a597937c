//! The text of a statement.
//!
//! In: the syntax tree of a statement, or of a condition in one, as `sql` makes it. Out: its text, laid out.
//! Whether the database accepts it is only known here: [`expansion`] counts how large the text becomes and
//! `parser_stack` how deep it is, and a text that is too large or too deep is refused.

pub(crate) mod expansion;
mod layout;
mod parser_stack;
mod tokens;

use crate::dialect::{Extent, Features, TableReadings};
use crate::question::CompileError;
use crate::refusal::Limit;
use std::fmt::Display;
use tokens::PrintedToken;

/// The text of a statement, or of a condition in one, laid out; `comment` returns the comment of a common
/// table expression by its name. In a database that expands common table expressions the text is refused if
/// it takes too many cursors, some being left to the caller's statement around a condition, or if a union is
/// too long; where the parser's stack has a fixed size, if it is too deep, some of the stack being left to
/// the caller; in any database if it is too long.
pub(crate) fn printed(
    node: &impl Display,
    features: &Features,
    extent: Extent,
    comment: impl Fn(&str) -> Option<String>,
) -> Result<String, CompileError> {
    let text = node.to_string();
    let tokens = tokens::tokens(&text);
    let laid_out = layout::layout(&text, &tokens, comment);
    check(&tokens, laid_out.len(), features, extent)?;
    Ok(laid_out)
}

/// Whether the database accepts a statement that was combined from several.
pub(crate) fn fits(text: &str, features: &Features) -> bool {
    check(&tokens::tokens(text), text.len(), features, Extent::Statement).is_ok()
}

fn check(
    tokens: &[PrintedToken<'_>],
    n_bytes: usize,
    features: &Features,
    extent: Extent,
) -> Result<(), CompileError> {
    if let TableReadings::Expanded { cursors, of_caller } = features.table_readings {
        let size = expansion::size_of(tokens);
        let most = match extent {
            Extent::Statement => cursors,
            Extent::Condition => cursors.saturating_sub(of_caller),
        };
        if size.cursors.is_some_and(|cursors| cursors > most) {
            return Err(CompileError::too_large(Limit::Readings { most }));
        }
        let most = features.limits.union_arms;
        if size.arms > most {
            return Err(CompileError::too_large(Limit::UnionArms { most }));
        }
    }
    if let Some(most) = features.limits.parser_stack.most(extent)
        && parser_stack::symbols(tokens) > most
    {
        return Err(CompileError::too_large(Limit::Nesting { most }));
    }
    let most = features.limits.bytes;
    if n_bytes > most {
        return Err(CompileError::too_large(Limit::StatementBytes { most }));
    }
    Ok(())
}
