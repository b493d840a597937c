//! Makes corrections in a document's text, and leaves every other byte as it is.
//!
//! Each correction becomes replacements of byte ranges. `None` means that the layout has no safe place for a
//! correction; what was understood wrongly is found when the new text is parsed.

use super::outline::{Content, Entry, Outline, YamlNode};
use super::{Corrections, casts};
use portcullis_compiler::bindings::Bindings;
use std::ops::Range;

/// A replacement of some bytes.
type Edit = (Range<usize>, String);

/// The new text of an entry of a section; `None` removes it.
type NewEntry<'a> = (&'a str, Option<&'a str>);

/// The corrected text.
pub(super) fn apply(outline: &Outline<'_>, bindings: &Bindings, corrections: &Corrections) -> Option<String> {
    let mut editor = Editor { text: outline.text, edits: Vec::new() };
    for cast in &corrections.casts {
        let source = outline.query(&bindings.facts[cast.fact].key)?;
        let name = casts::item(outline.text.get(source.clone())?, cast.column)?;
        let name = source.start + name.start..source.start + name.end;
        let cast = casts::as_text(outline.text.get(name.clone())?);
        editor.edits.push((name, cast));
    }
    let root = outline.root.as_ref()?;
    let types = corrections.sql_types.iter();
    let types: Vec<NewEntry<'_>> = types.map(|each| (&*each.ty, each.to.as_ref().map(|to| &*to.0))).collect();
    editor.section(root, "sql_types", &types)?;
    let tables = corrections.tables.iter();
    let tables: Vec<NewEntry<'_>> =
        tables.map(|each| (&*each.ty, each.to.as_ref().map(|to| &*to.0))).collect();
    editor.section(root, "tables", &tables)?;
    editor.finish()
}

struct Editor<'a> {
    text: &'a str,
    edits: Vec<Edit>,
}

impl Editor<'_> {
    fn section(&mut self, root: &YamlNode, name: &str, wanted: &[NewEntry<'_>]) -> Option<()> {
        if wanted.is_empty() {
            return Some(());
        }
        // A document in braces may be JSON, and stays so.
        let quote = if matches!(root.content, Content::Flow(_)) { json_text } else { yaml_text };
        let first = root.entries()?.first()?;
        match (root.entry(name), &root.content) {
            (Some(section), content) => match &section.value.content {
                Content::Block(entries) => self.block(entries, wanted, quote),
                Content::Flow(entries) => self.flow(&section.value, entries, wanted, quote),
                // An empty section: everything after it is on its own line.
                Content::Scalar if matches!(content, Content::Block(_)) => {
                    let indent = self.indent(section)?;
                    let after_colon = self.text.get(section.key_span.end..section.value.span.start)?;
                    if !self.text.get(section.value.span.clone())?.trim().is_empty() {
                        let value = section.value.span.clone();
                        let blank = after_colon.len() - after_colon.trim_end().len();
                        self.edits.push((value.start - blank..value.end, String::new()));
                    }
                    let lines = lines(&format!("{indent}  "), wanted, quote);
                    self.insert_below(section.key_span.end, &lines);
                    Some(())
                }
                Content::Scalar => {
                    let body = format!("{{{}}}", pairs(wanted, quote).join(", "));
                    self.edits.push((section.value.span.clone(), body));
                    Some(())
                }
                Content::Other => None,
            },
            (None, Content::Block(_)) => {
                let indent = self.indent(first)?;
                let mut section = vec![format!("{indent}{name}:")];
                section.extend(lines(&format!("{indent}  "), wanted, quote));
                // As between the sections that are there.
                if self.text.contains("\n\n") || self.text.contains("\r\n\r\n") {
                    section.insert(0, String::new());
                }
                self.insert_below(self.end(&indent), &section);
                Some(())
            }
            (None, Content::Flow(_)) => {
                let body = format!("{}: {{{}}}", quote(name), pairs(wanted, quote).join(", "));
                self.insert_last(root, &body)
            }
            (None, Content::Scalar | Content::Other) => None,
        }
    }

    /// Changes a section with one entry to a line.
    fn block(&mut self, entries: &[Entry], wanted: &[NewEntry<'_>], quote: fn(&str) -> String) -> Option<()> {
        let last = entries.last()?;
        let mut new = Vec::new();
        for (ty, to) in wanted {
            match (entries.iter().find(|entry| entry.key == **ty), to) {
                (Some(entry), Some(to)) => self.edits.push((self.value(entry)?, quote(to))),
                (Some(entry), None) => {
                    let value = self.value(entry)?;
                    let end = self.line_end(value.end);
                    let end = if self.text.get(end..)?.starts_with('\n') { end + 1 } else { end };
                    self.edits.push((self.line_start(entry.key_span.start)..end, String::new()));
                }
                (None, to) => new.push((*ty, *to)),
            }
        }
        let lines = lines(&self.indent(last)?, &new, quote);
        if wanted.iter().any(|(ty, to)| *ty == last.key && to.is_none()) {
            let at = self.line_start(last.key_span.start);
            self.edits.push((at..at, ended(&lines, self.line_break())));
        } else if !lines.is_empty() {
            self.insert_below(self.value(last)?.end, &lines);
        }
        Some(())
    }

    /// Changes a section in braces.
    fn flow(
        &mut self,
        section: &YamlNode,
        entries: &[Entry],
        wanted: &[NewEntry<'_>],
        quote: fn(&str) -> String,
    ) -> Option<()> {
        let is_old = |ty: &str| entries.iter().any(|entry| entry.key == ty);
        let new: Vec<NewEntry<'_>> = wanted.iter().copied().filter(|(ty, _)| !is_old(ty)).collect();
        if wanted.iter().all(|(_, to)| to.is_some()) {
            for entry in entries {
                if let Some((_, Some(to))) = wanted.iter().find(|(ty, _)| *ty == entry.key) {
                    self.edits.push((self.value(entry)?, quote(to)));
                }
            }
            return if new.is_empty() {
                Some(())
            } else {
                self.insert_last(section, &pairs(&new, quote).join(", "))
            };
        }
        // An entry goes with one of its commas, so the braces are written anew, without a comment to lose.
        let old = self.text.get(section.span.clone())?;
        if old.contains(['#', '\n']) {
            return None;
        }
        let mut kept = Vec::new();
        for entry in entries {
            let key = self.text.get(entry.key_span.clone())?;
            match wanted.iter().find(|(ty, _)| *ty == entry.key) {
                None => kept.push(format!("{key}: {}", self.text.get(self.value(entry)?)?)),
                Some((_, Some(to))) => kept.push(format!("{key}: {}", quote(to))),
                Some((_, None)) => {}
            }
        }
        kept.extend(pairs(&new, quote));
        self.edits.push((section.span.clone(), format!("{{{}}}", kept.join(", "))));
        Some(())
    }

    /// Inserts entries before a closing brace.
    fn insert_last(&mut self, mapping: &YamlNode, pairs: &str) -> Option<()> {
        let inside = self.text.get(mapping.span.start..mapping.span.end.checked_sub(1)?)?;
        let before = inside.trim_end();
        let at = mapping.span.start + before.len();
        let comma = if before.ends_with(['{', ',']) { "" } else { ", " };
        let blank = if before.ends_with(',') { " " } else { "" };
        self.edits.push((at..at, format!("{comma}{blank}{pairs}")));
        Some(())
    }

    /// Inserts lines after the line of a position.
    fn insert_below(&mut self, position: usize, lines: &[String]) {
        let at = self.line_end(position);
        let end = self.line_break();
        let rest = self.text.get(at..).unwrap_or_default();
        let is_at_new_line = rest.is_empty() && self.text.get(..at).is_some_and(|text| text.ends_with('\n'));
        let inserted = if is_at_new_line { ended(lines, end) } else { format!("{end}{}", lines.join(end)) };
        let splits_break =
            rest.starts_with('\n') && self.text.get(..at).is_some_and(|text| text.ends_with('\r'));
        let at = at - usize::from(splits_break);
        self.edits.push((at..at, inserted));
    }

    /// The end of the last entry. Comments below it that are not indented belong to no entry, and stay below
    /// what is added.
    fn end(&self, indent: &str) -> usize {
        let mut end = self.text.len();
        for line in self.text.split_inclusive('\n').rev() {
            let is_comment = line.strip_prefix(indent).is_some_and(|line| line.starts_with('#'));
            if !is_comment && !line.trim().is_empty() {
                break;
            }
            end -= line.len();
        }
        let has_comment = self.text.get(end..).is_some_and(|after| after.contains('#'));
        // One byte back: the position must be in the last line before the comments.
        if has_comment { end.saturating_sub(1) } else { self.text.len() }
    }

    /// The line break that the document uses.
    fn line_break(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// The blanks before an entry's key, which begins its line.
    fn indent(&self, entry: &Entry) -> Option<String> {
        let indent = self.text.get(self.line_start(entry.key_span.start)..entry.key_span.start)?;
        indent.chars().all(|c| c == ' ').then(|| indent.to_owned())
    }

    /// The bytes of an entry's text, without blanks or a comment after it.
    fn value(&self, entry: &Entry) -> Option<Range<usize>> {
        let Content::Scalar = entry.value.content else { return None };
        let span = entry.value.span.clone();
        let text = self.text.get(span.clone())?;
        Some(span.start..span.start + text.trim_end().len())
    }

    fn line_start(&self, position: usize) -> usize {
        let before = self.text.get(..position).unwrap_or_default();
        before.rfind('\n').map_or(0, |at| at + 1)
    }

    /// The position of the line break at the end of a line.
    fn line_end(&self, position: usize) -> usize {
        let after = self.text.get(position..).unwrap_or_default();
        after.find('\n').map_or(self.text.len(), |at| position + at)
    }

    /// The text with all replacements; `None` if two of them overlap.
    fn finish(mut self) -> Option<String> {
        self.edits.sort_by_key(|(range, _)| (range.start, range.end));
        let overlaps = self.edits.windows(2).any(|pair| match pair {
            [(first, _), (second, _)] => first.end > second.start,
            _ => false,
        });
        if overlaps {
            return None;
        }
        let mut text = self.text.to_owned();
        for (range, new) in self.edits.into_iter().rev() {
            text.get(range.clone())?;
            text.replace_range(range, &new);
        }
        Some(text)
    }
}

/// The entries as lines.
fn lines(indent: &str, wanted: &[NewEntry<'_>], quote: fn(&str) -> String) -> Vec<String> {
    pairs(wanted, quote).into_iter().map(|pair| format!("{indent}{pair}")).collect()
}

/// Lines with a line break after each.
fn ended(lines: &[String], end: &str) -> String {
    let lines: Vec<String> = lines.iter().map(|line| format!("{line}{end}")).collect();
    lines.concat()
}

/// The entries as `key: value`.
fn pairs(wanted: &[NewEntry<'_>], quote: fn(&str) -> String) -> Vec<String> {
    let pair = |(ty, to): &NewEntry<'_>| to.map(|to| format!("{}: {}", quote(ty), quote(to)));
    wanted.iter().filter_map(pair).collect()
}

/// A text in YAML, in quotes if it could be read as something else.
fn yaml_text(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '(' | ')' | ' ');
    let is_word = |word: &str| text.eq_ignore_ascii_case(word);
    let is_special = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"].into_iter().any(is_word);
    let starts_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts_plain && !is_special && text.chars().all(is_plain) && !text.ends_with(' ') {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// A text in JSON, which is YAML too.
fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
