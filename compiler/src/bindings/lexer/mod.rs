//! Splits the caller's SQL into tokens. Every text from a caller passes through here.
//!
//! In: a text, and its database's lexical rules ([`Lexis`]). Out: [`Lexeme`]s without comments. The lexer
//! follows the database exactly: where comments end, what a backslash means, how far an operator extends.
//! Text that the database, a driver or another parser could read differently is rejected with a remedy:
//! parameters in any spelling, unusual spaces, numbers that run into names.
//!
//! In the output every bracket is closed, and nothing outside literals means anything to a driver. Errors
//! continue a sentence that begins with "the query": "contains the parameter `$1`: …".

mod literal;

use super::token::{Lexeme, Token};
use crate::dialect::lexis::Lexis;
use crate::limits;

/// The characters that PostgreSQL allows in operators.
const OPERATOR_CHARACTERS: &str = "~!@#^&|`?+-*/%<>=";

/// Limit on the bytes examined for an operator; no operator is as long.
const LONGEST_RUN: usize = 32;

/// The tokens of a text.
#[derive(Debug)]
pub(super) struct Lexed {
    /// The tokens, none of them a comment or a `;`.
    pub(super) lexemes: Vec<Lexeme>,
    /// Whether there was a comment.
    pub(super) comments: bool,
    /// The line comments, without their `--`.
    pub(super) line_comments: Vec<String>,
    /// Whether there was a `;` at the end.
    pub(super) ended: bool,
}

/// Reads a text.
pub(super) fn read(text: &str, lexis: &'static Lexis) -> Result<Lexed, String> {
    if text.contains('\0') {
        return Err("contains a NUL character, which no database takes: remove it".to_owned());
    }
    let mut lexer = QueryLexer {
        rest: text,
        lexis,
        lexemes: Vec::new(),
        before: Before::default(),
        open: Vec::new(),
        comments: false,
        line_comments: Vec::new(),
        ended: false,
    };
    lexer.run()?;
    if let Some(bracket) = lexer.open.last() {
        return Err(format!("leaves a `{bracket}` open: close it"));
    }
    if lexer.lexemes.is_empty() {
        return Err("is empty".to_owned());
    }
    let QueryLexer { lexemes, comments, line_comments, ended, .. } = lexer;
    Ok(Lexed { lexemes, comments, line_comments, ended })
}

struct QueryLexer<'a> {
    rest: &'a str,
    lexis: &'static Lexis,
    lexemes: Vec<Lexeme>,
    before: Before,
    open: Vec<char>,
    comments: bool,
    line_comments: Vec<String>,
    ended: bool,
}

/// What came before the next token.
#[derive(Debug, Default)]
struct Before {
    /// White space or a comment.
    gap: bool,
    /// A line end.
    line_end: bool,
    /// A text in plain quotes, with no block comment after it, so that another text would continue it.
    text: bool,
}

/// Whether a plain name may begin with this character. Other letters are rejected, because databases accept
/// nearly every non-ASCII character as a letter, even invisible spaces.
fn begins_word(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

impl QueryLexer<'_> {
    fn run(&mut self) -> Result<(), String> {
        loop {
            self.gap()?;
            let Some(c) = self.peek() else { return Ok(()) };
            if self.ended && c != ';' {
                return Err("contains several statements: write one".to_owned());
            }
            self.token(c)?;
        }
    }

    fn token(&mut self, c: char) -> Result<(), String> {
        match c {
            '\'' => self.text(),
            '"' => self.name('"'),
            '`' | '[' if self.lexis.more_quotes => self.name(c),
            '(' | '[' => self.opening(c),
            ')' | ']' => self.closing(c),
            ',' => self.sign(Token::Comma, 1),
            ';' => {
                self.ended = true;
                self.take(1);
                Ok(())
            }
            '.' if !self.rest.chars().nth(1).is_some_and(|next| next.is_ascii_digit()) => {
                self.sign(Token::Period, 1)
            }
            '.' | '0'..='9' => self.number(),
            ':' if self.lexis.double_colon_casts && self.rest.starts_with("::") => self.sign(Token::Cast, 2),
            '$' if self.lexis.escaped_texts => self.dollars(),
            ':' | '$' | '?' => Err(self.parameter()),
            '@' if self.operator_run().len() == 1 => Err(self.parameter()),
            c if begins_word(c) => self.word(),
            c if OPERATOR_CHARACTERS.contains(c) => self.operator(),
            c => Err(format!(
                "contains the character `{}` outside of quotes: remove it, or quote the name",
                c.escape_debug()
            )),
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Moves on by some bytes and returns them.
    fn take(&mut self, bytes: usize) -> &str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    fn push(&mut self, token: Token) -> Result<(), String> {
        if self.lexemes.len() >= limits::QUERY_TOKENS {
            let limit = limits::QUERY_TOKENS;
            return Err(format!("has more than {limit} tokens: move it into a view"));
        }
        self.lexemes.push(Lexeme { token, gap: self.before.gap });
        self.before = Before::default();
        Ok(())
    }

    fn sign(&mut self, token: Token, bytes: usize) -> Result<(), String> {
        self.take(bytes);
        self.push(token)
    }

    /// White space and comments.
    fn gap(&mut self) -> Result<(), String> {
        loop {
            if self.rest.starts_with("--") {
                let return_ends = self.lexis.carriage_return_ends_line;
                let ends = |c: char| c == '\n' || (c == '\r' && return_ends);
                let comment = self.take(self.rest.find(ends).unwrap_or(self.rest.len()));
                let comment = comment.trim_start_matches('-').to_owned();
                self.line_comments.push(comment);
                self.comments = true;
            } else if self.rest.starts_with("/*") {
                self.comment()?;
                self.comments = true;
                self.before.text = false;
            } else if self.rest.starts_with([' ', '\t', '\n', '\r', '\u{c}']) {
                self.before.line_end |= self.rest.starts_with(['\n', '\r']);
                self.take(1);
            } else {
                return Ok(());
            }
            self.before.gap = true;
        }
    }

    /// A block comment.
    fn comment(&mut self) -> Result<(), String> {
        let mut depth = 0_usize;
        while !self.rest.is_empty() {
            if self.rest.starts_with("/*") && (depth == 0 || self.lexis.nested_comments) {
                depth += 1;
                self.take(2);
            } else if self.rest.starts_with("*/") {
                depth -= 1;
                self.take(2);
                if depth == 0 {
                    return Ok(());
                }
            } else {
                self.take(self.peek().map_or(1, char::len_utf8));
            }
        }
        Err("leaves a comment open: end it with `*/`".to_owned())
    }

    fn opening(&mut self, bracket: char) -> Result<(), String> {
        if self.open.len() >= limits::QUERY_NESTING {
            let limit = limits::QUERY_NESTING;
            return Err(format!("has more than {limit} nested brackets: move a part into a view"));
        }
        self.open.push(bracket);
        self.sign(Token::Open(bracket), 1)
    }

    fn closing(&mut self, bracket: char) -> Result<(), String> {
        let partner = if bracket == ')' { '(' } else { '[' };
        if self.open.pop() != Some(partner) {
            return Err(format!("closes a `{partner}` that it did not open: remove the `{bracket}`"));
        }
        self.sign(Token::Close(bracket), 1)
    }

    /// A number: digits with a fraction and an exponent, ending where every database would end it.
    fn number(&mut self) -> Result<(), String> {
        let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let from = |at: usize| self.rest.get(at..).unwrap_or("");
        let mut length = digits(self.rest);
        if from(length).starts_with('.') {
            let fraction = digits(from(length + 1));
            length += if fraction > 0 { 1 + fraction } else { 0 };
        }
        if from(length).starts_with(['e', 'E']) {
            let sign = usize::from(from(length + 1).starts_with(['+', '-']));
            let exponent = digits(from(length + 1 + sign));
            length += if exponent > 0 { 1 + sign + exponent } else { 0 };
        }
        let runs_on =
            |c: char| begins_word(c) || c.is_ascii_digit() || matches!(c, '.' | '$' | '\'' | '"' | '`');
        if from(length).starts_with(runs_on) {
            let shown: String = self.rest.chars().take(length + 1).collect();
            return Err(format!(
                "contains a number that runs into what follows, `{shown}`: write plain digits such as `1.0`, \
                 then white space"
            ));
        }
        let number = self.take(length).to_owned();
        self.push(Token::Number(number))
    }

    /// The next operator, as far as the database reads it; a comment ends it.
    fn operator_run(&self) -> &str {
        let is_operator = |c: &u8| OPERATOR_CHARACTERS.as_bytes().contains(c);
        let length = self.rest.bytes().take(LONGEST_RUN).take_while(is_operator).count();
        let run = self.rest.get(..length).unwrap_or("");
        let comment = run.find("--").into_iter().chain(run.find("/*")).min();
        let run = run.get(..comment.unwrap_or(run.len())).unwrap_or("");
        if !self.lexis.operators_are_runs {
            let exists = self.lexis.operators.iter().find(|operator| run.starts_with(**operator));
            return exists.map_or(run, |operator| *operator);
        }
        // An operator may end in `+` or `-` only if it has a character that arithmetic operators lack.
        let is_special = run.contains(['~', '!', '@', '#', '^', '&', '|', '`', '?', '%']);
        if is_special || run.len() == LONGEST_RUN {
            return run;
        }
        let end = run.trim_end_matches(['+', '-']).len().max(1);
        run.get(..end).unwrap_or(run)
    }

    fn operator(&mut self) -> Result<(), String> {
        let run = self.operator_run();
        if run.contains('?') {
            return Err(format!(
                "contains the operator `{run}`, which a driver could take for a parameter: call its function, \
                 such as `jsonb_exists` or `jsonb_path_exists`"
            ));
        }
        let Some(operator) = self.lexis.operators.iter().find(|operator| **operator == run) else {
            return Err(format!("contains `{run}`, which is not a known operator: call its function"));
        };
        self.take(operator.len());
        // The standard spelling, which both databases treat alike.
        self.push(Token::Operator(if *operator == "!=" { "<>" } else { operator }))
    }

    /// The error for a parameter, or for what a driver could take for one.
    fn parameter(&self) -> String {
        let inside = |c: char| c.is_alphanumeric() || c == '_';
        let mut end = 0;
        for (at, c) in self.rest.char_indices() {
            if at > 0 && !inside(c) {
                break;
            }
            end = at + c.len_utf8();
        }
        let shown: String = self.rest.get(..end).unwrap_or("").chars().take(40).collect();
        format!("contains `{shown}`, which a driver takes for a parameter: write the value itself")
    }
}
