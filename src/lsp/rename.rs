//! Renames a thing in its policy, or says why it cannot be renamed.
//!
//! Strings that reach `has_role` only through another predicate, and stored facts, keep the old name.
//! A new name must be a name, and must not be that of another thing in the same place. As a last check, the
//! renamed text is read again: it may have no error that the old one did not have, and each of its names must
//! mean what it meant before.

use super::document::OpenDocument;
use super::names::blocks::Declared;
use super::names::{Named, Names, Occurrence};
use super::position;
use gen_lsp_types::{Position, Range, TextEdit};
use portcullis_compiler::builtin::{self, ACTOR, RESOURCE};
use portcullis_compiler::diagnostic::{Diagnostic, Severity};
use portcullis_compiler::primitive::{BOOLEAN, INTEGER, STRING};
use portcullis_compiler::source::{SourceMap, Span};
use portcullis_compiler::spelling::{quoted, split_name, unescape};
use portcullis_compiler::syntax;
use std::collections::{HashMap, HashSet};

/// The name at a position, if it can be renamed: its range without quotes, and its text.
///
/// # Errors
/// Why it cannot be renamed.
pub(super) fn prepare(document: &OpenDocument, at: Position) -> Result<(Range, String), String> {
    let names = Names::of(&document.policy);
    let renamed = Renamed::at(document, &names, at)?;
    let Span { start, end } = renamed.span;
    let written = document.source.snippet(renamed.span);
    let (span, text) = if written.starts_with('"') {
        (Span { start: start + 1, end: end - 1 }, unescape(written))
    } else {
        (renamed.span, written.to_owned())
    };
    Ok((position::range(&document.source, span), text))
}

/// The edits that rename what is at a position.
///
/// # Errors
/// Why it cannot be renamed, or not to this name.
pub(super) fn rename(document: &OpenDocument, at: Position, new: &str) -> Result<Vec<TextEdit>, String> {
    let names = Names::of(&document.policy);
    let renamed = Renamed::at(document, &names, at)?;
    renamed.check_spelling(new)?;
    renamed.check_free(new)?;
    let edits: Vec<(Span, String)> =
        renamed.places.iter().map(|place| (place.span, renamed.written(place.span, new))).collect();
    check_meaning(document, &names, &edits)?;
    let edit = |(span, text)| TextEdit::new(position::range(&document.source, span), text);
    Ok(edits.into_iter().map(edit).collect())
}

/// What is to be renamed.
struct Renamed<'n, 'p> {
    document: &'n OpenDocument,
    names: &'n Names<'p>,
    named: Named<'p>,
    /// Where it was pointed at.
    span: Span,
    /// All its places.
    places: Vec<&'n Occurrence<'p>>,
}

impl<'n, 'p> Renamed<'n, 'p> {
    fn at(document: &'n OpenDocument, names: &'n Names<'p>, at: Position) -> Result<Self, String> {
        let byte = position::byte(&document.source, at);
        let occurrence = names.at(byte).next().ok_or("there is no name here that can be renamed")?;
        let places = names.found.iter().filter(|name| name.named == occurrence.named).collect();
        let renamed = Self { document, names, named: occurrence.named, span: occurrence.span, places };
        renamed.check_own()?;
        renamed.check_certain()?;
        Ok(renamed)
    }

    /// Refuses what the policy does not define.
    fn check_own(&self) -> Result<(), String> {
        match self.named {
            Named::Predicate(name, arity) if builtin::is_predicate(name, arity) => {
                Err(format!("`{name}` is a built-in predicate"))
            }
            Named::Type(name) if is_built_in_type(name) => Err(format!("`{name}` is a built-in type")),
            Named::Variable(start, name @ ("actor" | "resource")) if self.is_shorthand(start) => {
                Err(format!("`{name}` is implied in shorthand"))
            }
            Named::Predicate(..)
            | Named::Type(_)
            | Named::Variable(..)
            | Named::Declared(_)
            | Named::Fixture(_) => Ok(()),
        }
    }

    /// Whether the statement that begins at a byte is in a block.
    fn is_shorthand(&self, start: u32) -> bool {
        self.names.blocks.list.iter().any(|block| block.span.start < start && start < block.span.end)
    }

    /// Refuses a name with a place where it may mean something else.
    fn check_certain(&self) -> Result<(), String> {
        let others = self.names.found.iter().filter(|name| name.named != self.named);
        let others: HashSet<Span> = others.map(|name| name.span).collect();
        let uncertain = self.places.iter().find(|place| others.contains(&place.span));
        let Some(place) = uncertain else { return Ok(()) };
        let line = self.document.source.locate(place.span).line;
        let text = self.document.source.snippet(place.span);
        Err(format!("{text} in line {line} may be of several blocks: give the variable there a type"))
    }

    /// Refuses what is not a name.
    fn check_spelling(&self, new: &str) -> Result<(), String> {
        let probe = match self.named {
            Named::Predicate(..) => format!("{new}(x) if true;"),
            Named::Type(_) => format!("declare p({new});"),
            Named::Variable(..) => format!("p({new}) if {new} matches T;"),
            Named::Fixture(_) => format!("test fixture {new} {{}}"),
            Named::Declared(_) if self.is_bare() => {
                format!("resource R {{ relations = {{ {new}: R }}; }}")
            }
            Named::Declared(_) => format!("actor A {{ roles = [{}]; }}", quoted(new)),
        };
        let is_text = matches!(self.named, Named::Declared(_)) && !self.is_bare();
        let has_segments = matches!(self.named, Named::Type(_) | Named::Predicate(..));
        let is_name = split_name(new) == Some((new, "")) && (has_segments || !new.contains("::"));
        if new.is_empty() || !(is_text || is_name) {
            return Err(format!("{} is not a name", quoted(new)));
        }
        if matches!(self.named, Named::Variable(..)) && new == "_" {
            return Err("`_` cannot be renamed: each one is a different variable".to_owned());
        }
        let (_, findings) = syntax::parse(&SourceMap::new("", probe));
        match findings.into_iter().next() {
            None => Ok(()),
            Some(found) if is_text => Err(found.title),
            Some(_) => Err(format!("`{new}` is a reserved word")),
        }
    }

    /// Whether the name is written without quotes somewhere, as those of relations mostly are.
    fn is_bare(&self) -> bool {
        self.places.iter().any(|place| !self.document.source.snippet(place.span).starts_with('"'))
    }

    /// Refuses the name of something else.
    fn check_free(&self, new: &str) -> Result<(), String> {
        let is_same_kind = |other: Named<'_>| match (self.named, other) {
            (Named::Predicate(_, arity), Named::Predicate(name, other)) => name == new && arity == other,
            (Named::Variable(start, _), Named::Variable(other, name)) => name == new && start == other,
            (Named::Type(_), Named::Type(name)) | (Named::Fixture(_), Named::Fixture(name)) => name == new,
            (_, _) => false,
        };
        let taken = self.names.found.iter().find(|name| name.named != self.named && is_same_kind(name.named));
        match self.named {
            _ if let Some(taken) = taken => {
                let line = self.document.source.locate(taken.span).line;
                Err(format!("`{new}` is already the name of something else, see line {line}"))
            }
            Named::Predicate(_, arity) if builtin::is_predicate(new, arity) => {
                Err(format!("`{new}` is a built-in predicate"))
            }
            Named::Type(_) if is_built_in_type(new) => Err(format!("`{new}` is a built-in type")),
            Named::Variable(start, _) if matches!(new, "actor" | "resource") && self.is_shorthand(start) => {
                Err(format!("`{new}` is implied in shorthand"))
            }
            Named::Declared(group) => self.declared_free(group, new),
            Named::Predicate(..) | Named::Type(_) | Named::Variable(..) | Named::Fixture(_) => Ok(()),
        }
    }

    /// Refuses a name that a block with this declaration has for something else.
    fn declared_free(&self, group: usize, new: &str) -> Result<(), String> {
        let blocks = &self.names.blocks;
        let taken = blocks.seeing(group).find_map(|block| {
            let (_, taken) = blocks.find(block, new).filter(|(other, _)| *other != group)?;
            Some((blocks.list.get(block)?, taken))
        });
        let Some((block, Declared { kind, .. })) = taken else { return Ok(()) };
        Err(format!("`{new}` is already a {} of `{}`", kind.noun(), block.name.value))
    }

    /// The new name as it is written at a place.
    fn written(&self, place: Span, new: &str) -> String {
        if self.document.source.snippet(place).starts_with('"') { quoted(new) } else { new.to_owned() }
    }
}

fn is_built_in_type(name: &str) -> bool {
    [STRING, INTEGER, BOOLEAN, ACTOR, RESOURCE].contains(&name)
}

/// Refuses edits after which the policy has new errors, or one of its names means something else.
fn check_meaning(document: &OpenDocument, names: &Names<'_>, edits: &[(Span, String)]) -> Result<(), String> {
    let mut text = document.source.text().to_owned();
    for (span, new) in edits.iter().rev() {
        text.replace_range(span.range(), new);
    }
    let renamed = OpenDocument::of(document.source.name(), text);
    let errors = |document: &OpenDocument| -> Vec<Diagnostic> {
        let errors = document.findings.iter().filter(|found| found.severity() == Severity::Error);
        errors.cloned().collect()
    };
    let (before, after) = (errors(document), errors(&renamed));
    if after.len() > before.len() {
        let new = after.into_iter().find(|found| before.iter().all(|old| old.title != found.title));
        return Err(new.map_or_else(|| "the policy would have more errors".to_owned(), |found| found.title));
    }
    let renamed = Names::of(&renamed.policy);
    let mut pairs = HashMap::new();
    let mut back = HashMap::new();
    let [old, new] = [names, &renamed].map(identities);
    let same = old.len() == new.len()
        && old.iter().zip(&new).all(|(old, new)| {
            *pairs.entry(*old).or_insert(*new) == *new && *back.entry(*new).or_insert(*old) == *old
        });
    if same { Ok(()) } else { Err("another name of the policy would change its meaning".to_owned()) }
}

/// What each name means, with statements counted, because an edit moves where they begin.
fn identities<'p>(names: &Names<'p>) -> Vec<Named<'p>> {
    let mut numbers = HashMap::new();
    let mut identity = |name: &Occurrence<'p>| match name.named {
        Named::Variable(start, name) => {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            Named::Variable(*numbers.entry(start).or_insert(next), name)
        }
        named @ (Named::Predicate(..) | Named::Type(_) | Named::Declared(_) | Named::Fixture(_)) => named,
    };
    names.found.iter().map(&mut identity).collect()
}
