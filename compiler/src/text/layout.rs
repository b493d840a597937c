//! Lays a statement out for reading: one clause per line, one indent per nested query.
//!
//! In: the text that sqlparser prints on one line, and its tokens. Out: the same tokens with other white
//! space, and a comment before each common table expression that has one. Quoted texts are copied unchanged.
//! The result parses to the same syntax tree as the input, which the tests assert for every snapshot.

use super::tokens::{PrintedToken, joined};

/// Words that start a line at a query's own indent.
const CLAUSES: [&str; 8] = ["SELECT", "FROM", "WHERE", "UNION", "CROSS", "ORDER", "LIMIT", "OFFSET"];
/// Words that start a line one indent deeper.
const PARTS: [&str; 5] = ["AND", "OR", "WHEN", "ELSE", "END"];

/// What an open parenthesis holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paren {
    /// A query, at this indent.
    Query(usize),
    /// Anything else: broken before each `OR` of its own.
    Inline,
}

/// The layout so far.
struct LaidOut {
    out: String,
    /// The indent of the current line.
    indent: usize,
    parens: Vec<Paren>,
    /// Open `WITH` lists: how many parentheses were open at their `WITH`.
    lists: Vec<usize>,
    /// Open `CASE`s: how many parentheses were open at them.
    cases: Vec<usize>,
}

/// Lays out a statement; `tokens` are its tokens, and `comment` returns the comment of a common table
/// expression by its name.
pub(super) fn layout(
    text: &str,
    tokens: &[PrintedToken<'_>],
    comment: impl Fn(&str) -> Option<String>,
) -> String {
    let tokens = joined(text, tokens);
    let out = String::with_capacity(text.len() * 5 / 4);
    let mut layout = LaidOut { out, indent: 0, parens: Vec::new(), lists: Vec::new(), cases: Vec::new() };
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| tokens.get(before)).map(|token| token.text);
        let after = tokens.get(at + 1).map(|token| token.text);
        layout.token(token, before, after, &comment);
    }
    layout.out
}

impl LaidOut {
    fn token(
        &mut self,
        token: &PrintedToken<'_>,
        before: Option<&str>,
        after: Option<&str>,
        comment: &impl Fn(&str) -> Option<String>,
    ) {
        let starts_query =
            before.is_none_or(|before| before == "(") && matches!(token.text, "SELECT" | "WITH");
        let in_list = self.lists.last() == Some(&self.parens.len());
        match token.text {
            "(" => {
                self.space(token);
                self.out.push('(');
                if matches!(after, Some("SELECT" | "WITH")) {
                    self.parens.push(Paren::Query(self.indent + 1));
                    self.line(self.indent + 1);
                } else {
                    self.parens.push(Paren::Inline);
                }
                return;
            }
            ")" => {
                if let Some(Paren::Query(indent)) = self.parens.pop() {
                    self.line(indent.saturating_sub(1));
                }
                self.out.push(')');
                return;
            }
            "WITH" => self.lists.push(self.parens.len()),
            "SELECT" if in_list => {
                self.lists.pop();
                self.line(self.query_indent());
            }
            "RECURSIVE" => {}
            name if in_list && matches!(before, Some("WITH" | "RECURSIVE" | ",")) => {
                self.line(self.query_indent() + 1);
                if let Some(comment) = comment(name) {
                    let printable = comment.chars().map(|c| if c.is_control() { ' ' } else { c });
                    self.out.push_str("-- ");
                    self.out.extend(printable);
                    self.line(self.query_indent() + 1);
                }
            }
            word if starts_query || word == "," => {}
            word => match self.parens.last() {
                Some(Paren::Inline) if word == "OR" => self.line(self.query_indent() + 1),
                Some(Paren::Query(_)) | None if CLAUSES.contains(&word) => self.line(self.query_indent()),
                Some(Paren::Query(_)) | None if PARTS.contains(&word) => self.line(self.part_indent()),
                Some(Paren::Query(_) | Paren::Inline) | None => {}
            },
        }
        match token.text {
            "CASE" => self.cases.push(self.parens.len()),
            "END" => drop(self.cases.pop()),
            _ => {}
        }
        self.space(token);
        self.out.push_str(token.text);
    }

    /// The indent of the innermost query.
    fn query_indent(&self) -> usize {
        let innermost = self.parens.iter().rev().find_map(|paren| match paren {
            Paren::Query(indent) => Some(*indent),
            Paren::Inline => None,
        });
        innermost.unwrap_or(0)
    }

    /// The indent of a part of the innermost query: one deeper for each `CASE` inside another.
    fn part_indent(&self) -> usize {
        let n_cases = self.cases.iter().rev().take_while(|parens| **parens == self.parens.len()).count();
        self.query_indent() + n_cases.max(1)
    }

    fn space(&mut self, token: &PrintedToken<'_>) {
        if token.spaced && !self.out.is_empty() && !self.out.ends_with([' ', '\n', '(']) {
            self.out.push(' ');
        }
    }

    fn line(&mut self, indent: usize) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out.extend(std::iter::repeat_n("  ", indent));
        self.indent = indent;
    }
}
