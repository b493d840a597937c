//! The notation for questions: `allow(User:alice, "read", Repo:?)`.
//!
//! In: a line of text. Out: a [`Question`]. The command line and the fixtures use this notation; the HTTP
//! interface does not. A question is one or more predicate calls, joined by `and`, with these arguments:
//!
//! | written | meaning |
//! |---|---|
//! | `User:alice`, `User:"a b"` | this value; an unquoted id ends at a blank, `,` or `)` |
//! | `"read"`, `-7`, `true` | a String, an Integer, a Boolean; a text may have the escapes of Polar, and `\u{1b}` |
//! | `Repo:?`, `?` | which values of this type, of any type |
//! | `Repo:?r`, `?r` | the same; every `r` in a question is the same value |
//! | `Repo:_`, `_` | some value, which is not returned |
//!
//! ```
//! use portcullis::engine::notation;
//! let question = notation::parse(r#"allow(User:alice, "read", Repo:?)"#)?;
//! assert_eq!(question.vars[question.atoms[0].args[0]].ty.as_deref(), Some("User"));
//! # Ok::<(), notation::NotationError>(())
//! ```

use super::facts;
use crate::store::Value;
use portcullis_compiler::builtin::is_abstract;
use portcullis_compiler::id_vec::IdVec;
use portcullis_compiler::primitive::{BOOLEAN, INTEGER, STRING, is_boolean};
use portcullis_compiler::question::{Domain, Question, QuestionAtom, QuestionVar, QuestionVarId};
use portcullis_compiler::spelling::{split_literal, split_name};

/// Why a text is not a question.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {expected}")]
pub struct NotationError {
    /// The position in characters, from 1.
    pub column: usize,
    /// What was expected there.
    pub expected: String,
}

/// Reads a question.
pub fn parse(text: &str) -> Result<Question, NotationError> {
    let mut reader = NotationReader { text, rest: text, vars: IdVec::new() };
    let mut atoms = vec![reader.atom()?];
    while reader.word("and") {
        atoms.push(reader.atom()?);
    }
    reader.blank();
    if !reader.rest.is_empty() {
        return Err(reader.expected("the end of the question, or `and` and another predicate"));
    }
    Ok(Question { atoms, vars: reader.vars, paged: false })
}

/// Reads one value, such as `User:alice`.
pub fn value(text: &str) -> Result<Value, NotationError> {
    let mut reader = NotationReader { text, rest: text, vars: IdVec::new() };
    let var = reader.arg()?;
    reader.blank();
    if !reader.rest.is_empty() {
        return Err(reader.expected("the end of the value: write an id with other characters in quotes"));
    }
    let QuestionVar { ty, domain, .. } = &reader.vars[var];
    match (ty, domain) {
        (Some(ty), Domain::Given(id)) => Ok(Value { ty: ty.clone(), id: id.clone() }),
        (_, Domain::Given(_) | Domain::GivenOneOf(_) | Domain::Wanted | Domain::Ignored) => {
            reader.rest = text;
            Err(reader.expected("one value, not `?` or `_`"))
        }
    }
}

struct NotationReader<'a> {
    text: &'a str,
    rest: &'a str,
    vars: IdVec<QuestionVarId, QuestionVar>,
}

impl<'a> NotationReader<'a> {
    fn atom(&mut self) -> Result<QuestionAtom, NotationError> {
        self.blank();
        let predicate = self.name().ok_or_else(|| self.expected("the name of a predicate"))?.to_owned();
        self.token("(").ok_or_else(|| self.expected("`(`"))?;
        let mut args = Vec::new();
        if self.token(")").is_some() {
            return Ok(QuestionAtom { predicate, args });
        }
        loop {
            args.push(self.arg()?);
            if self.token(")").is_some() {
                return Ok(QuestionAtom { predicate, args });
            }
            self.token(",").ok_or_else(|| self.expected("`,` or `)`"))?;
        }
    }

    /// Reads one argument; returns its variable.
    fn arg(&mut self) -> Result<QuestionVarId, NotationError> {
        self.blank();
        if self.rest.starts_with('"') {
            let text = self.string()?;
            return Ok(self.value(STRING, text));
        }
        if let Some(var) = self.open(None)? {
            return Ok(var);
        }
        let start = self.rest;
        let word = self.until_delimiter();
        if is_boolean(word) {
            return Ok(self.value(BOOLEAN, word.to_owned()));
        }
        if word.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+') {
            let number = word.parse::<i64>().map_err(|_| {
                self.rest = start;
                self.expected("a 64-bit Integer")
            })?;
            return Ok(self.value(INTEGER, number.to_string()));
        }
        self.rest = start;
        let expected = "a value like `User:alice`, `\"read\"`, `7` or `true`, or one of `?`, `Repo:?`, `_`";
        let ty = self.name().ok_or_else(|| self.expected(expected))?;
        self.take(":").ok_or_else(|| self.expected("`:` and an id, `?` or `_` after the type"))?;
        if is_abstract(ty) {
            self.rest = start;
            return Err(self.expected("a concrete type"));
        }
        if let Some(var) = self.open(Some(ty))? {
            return Ok(var);
        }
        let id = if self.rest.starts_with('"') { self.string()? } else { self.until_delimiter().to_owned() };
        if id.is_empty() {
            return Err(self.expected("an id, `?` or `_`"));
        }
        if facts::check_value(&Value { ty: ty.into(), id: id.clone() }).is_err() {
            self.rest = start;
            return Err(self.expected(&format!("a value of type `{ty}`")));
        }
        Ok(self.value(ty, id))
    }

    /// Reads `?`, `?name` or `_`, if it is next.
    fn open(&mut self, ty: Option<&str>) -> Result<Option<QuestionVarId>, NotationError> {
        let start = self.rest;
        let word = self.until_delimiter();
        let named = word.strip_prefix('?');
        if word == "_" {
            let name = format!("_{}", self.vars.len() + 1);
            return Ok(Some(self.var(name, ty, Domain::Ignored)));
        }
        let Some(name) = named else {
            self.rest = start;
            return Ok(None);
        };
        if name.is_empty() {
            let name = format!("?{}", self.vars.len() + 1);
            return Ok(Some(self.var(name, ty, Domain::Wanted)));
        }
        if split_name(name).is_none_or(|(name, rest)| !rest.is_empty() || name.contains(':')) {
            self.rest = start;
            return Err(self.expected("`?` or a variable such as `?name`"));
        }
        let known = self.vars.position(|var| var.name == name && var.domain == Domain::Wanted);
        let Some(known) = known else { return Ok(Some(self.var(name.to_owned(), ty, Domain::Wanted))) };
        if let Some(ty) = ty {
            let var = &mut self.vars[known];
            if var.ty.as_deref().is_some_and(|known| known != ty) {
                self.rest = start;
                return Err(self.expected(&format!("the same type as elsewhere for `?{name}`")));
            }
            var.ty = Some(ty.to_owned());
        }
        Ok(Some(known))
    }

    fn value(&mut self, ty: &str, id: String) -> QuestionVarId {
        let name = format!("argument {}", self.vars.len() + 1);
        self.var(name, Some(ty), Domain::Given(id))
    }

    fn var(&mut self, name: String, ty: Option<&str>, domain: Domain) -> QuestionVarId {
        self.vars.push(QuestionVar { name, ty: ty.map(str::to_owned), domain })
    }

    fn blank(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Reads `token` after blanks.
    fn token(&mut self, token: &str) -> Option<()> {
        self.blank();
        self.take(token)
    }

    fn take(&mut self, token: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(token)?;
        Some(())
    }

    /// Reads a word that is followed by a blank, after blanks.
    fn word(&mut self, word: &str) -> bool {
        let rest =
            self.rest.trim_start().strip_prefix(word).filter(|rest| rest.starts_with(char::is_whitespace));
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// An identifier of the policy language, with `::` segments.
    fn name(&mut self) -> Option<&'a str> {
        let (name, rest) = split_name(self.rest)?;
        self.rest = rest;
        Some(name)
    }

    fn until_delimiter(&mut self) -> &'a str {
        let end = self.rest.find(|c: char| c.is_whitespace() || c == ',' || c == ')' || c == '"');
        let (word, rest) =
            self.rest.split_at_checked(end.unwrap_or(self.rest.len())).unwrap_or((self.rest, ""));
        self.rest = rest;
        word
    }

    /// A quoted text with the escapes of Polar, and `\u{1b}` for a character that is not printed as it is.
    fn string(&mut self) -> Result<String, NotationError> {
        let (literal, rest) =
            split_literal(self.rest).ok_or_else(|| self.expected("a text that ends with `\"`"))?;
        let inner = literal.get(1..literal.len().saturating_sub(1)).unwrap_or_default();
        let (mut text, mut left) = (String::with_capacity(inner.len()), inner);
        while let Some((before, _)) = left.split_once('\\') {
            text.push_str(before);
            let escape = left.get(before.len()..).unwrap_or_default();
            let Some((read, after)) = unescaped(escape) else {
                let at = 1 + inner.len() - escape.len();
                self.rest = self.rest.get(at..).unwrap_or_default();
                return Err(self.expected(CODE));
            };
            text.push(read);
            left = after;
        }
        text.push_str(left);
        self.rest = rest;
        Ok(text)
    }

    fn expected(&self, expected: &str) -> NotationError {
        let at = self.text.len() - self.rest.len();
        let column = self.text.get(..at).map_or(0, |before| before.chars().count()) + 1;
        NotationError { column, expected: format!("expected {expected}") }
    }
}

/// The text after `\u{`.
const CODE: &str = r"the code of a character, as in `\u{1b}`";

/// The character of the escape at the start of a text, and what follows it.
fn unescaped(text: &str) -> Option<(char, &str)> {
    let mut chars = text.strip_prefix('\\')?.chars();
    let read = match chars.next()? {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        '0' => '\0',
        'u' if chars.as_str().starts_with('{') => {
            let (digits, rest) = chars.as_str().strip_prefix('{')?.split_once('}')?;
            let is_code = digits.len() <= 6 && digits.chars().all(|c| c.is_ascii_hexdigit());
            let code = u32::from_str_radix(digits, 16).ok().filter(|_| is_code)?;
            return Some((char::from_u32(code)?, rest));
        }
        c => c,
    };
    Some((read, chars.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_compiler::why::Arg;

    /// A question as one line: predicate and places, then each variable.
    fn read(text: &str) -> String {
        let question = match parse(text) {
            Ok(question) => question,
            Err(error) => return error.to_string(),
        };
        let atoms = question.atoms.iter().map(|atom| {
            let args: Vec<usize> = atom.args.iter().map(|var| var.index()).collect();
            format!("{}{args:?}", atom.predicate)
        });
        let vars = question.vars.iter().map(|var| {
            let ty = var.ty.as_deref().unwrap_or("any");
            match &var.domain {
                Domain::Given(id) => format!("{ty}={id:?}"),
                Domain::GivenOneOf(ids) => format!("{ty}={ids:?}"),
                Domain::Wanted => format!("{ty}?"),
                Domain::Ignored => format!("{ty}_"),
            }
        });
        atoms.chain(vars).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_form_of_argument() {
        assert_eq!(
            read(r#"allow(User:alice, "read", Repo:?)"#),
            r#"allow[0, 1, 2] User="alice" String="read" Repo?"#
        );
        assert_eq!(
            read(r#" p( -7,true , ?,_,Repo:_, A::B:"x y\"\\" ,T:a:b/c)"#),
            r#"p[0, 1, 2, 3, 4, 5, 6] Integer="-7" Boolean="true" any? any_ Repo_ A::B="x y\"\\" T="a:b/c""#
        );
        assert_eq!(read("p()"), "p[]");
        assert_eq!(read("p(Größe:ä)"), r#"p[0] Größe="ä""#);
        assert_eq!(read("p(truest:x)"), r#"p[0] truest="x""#);
    }

    #[test]
    fn a_named_variable_is_one_value_across_calls() {
        assert_eq!(read("p(User:?u, ?r) and q(?r, ?u)"), "p[0, 1] q[1, 0] User? any?");
        assert_eq!(read("p(?u) and q(User:?u)"), "p[0] q[0] User?");
        assert_eq!(read("p(?, ?)"), "p[0, 1] any? any?");
        for text in ["p(??1)", "p(User:??)", "p(?r.x)", "p(?1)", "p(?a::b)"] {
            assert!(read(text).contains("expected `?` or a variable such as `?name`"), "{text}");
        }
        assert!(read("p(User:?u) and q(Repo:?u)").contains("the same type as elsewhere"));
    }

    #[test]
    fn a_value_is_read_alone() {
        let value = |text| super::value(text).map_err(|error| error.to_string());
        let of = |ty: &str, id: &str| Ok(Value { ty: ty.into(), id: id.into() });
        assert_eq!(value(" User:ada "), of("User", "ada"));
        assert_eq!(value(r#"A::B:"x, \"y\"""#), of("A::B", r#"x, "y""#));
        assert_eq!(value("7"), of("Integer", "7"));
        assert_eq!(value("User:?"), Err("column 1: expected one value, not `?` or `_`".to_owned()));
        assert_eq!(value("?u"), Err("column 1: expected one value, not `?` or `_`".to_owned()));
        assert!(value("User:a b").unwrap_err().starts_with("column 8: expected the end of the value"));
        assert!(value("User").unwrap_err().contains("an id"));
    }

    #[test]
    fn what_is_shown_is_read_as_it_was() {
        for id in
            ["a", "", "_", "a\"\\b", "\n\r\t", "\u{1b}[31m", "\u{202e}", "a\u{301}", "e\u{0}é🦀", "\\u{1b}"]
        {
            for ty in ["User", "String"] {
                let shown = Arg { ty: Some(ty.to_owned()), id: Some(id.to_owned()) }.to_string();
                let question = parse(&format!("p({shown})")).map(|question| question.vars);
                let read = question.map(|vars| vars.into_iter().map(|var| var.domain).collect::<Vec<_>>());
                // A NUL and an empty id are not values.
                if !(id.contains('\0') || ty == "User" && id.is_empty()) {
                    assert_eq!(read, Ok(vec![Domain::Given(id.to_owned())]), "{shown}");
                }
            }
        }
        let unknown = |text| value(text).unwrap_err().to_string();
        assert!(unknown(r#"User:"ab\u{x}""#).starts_with("column 9: expected the code of a character"));
        for text in [r#""\u{110000}""#, r#""\u{}""#, r#""\u{+41}""#, r#""\u{0000041}""#, r#""\u{41""#] {
            assert!(unknown(text).starts_with("column 2: expected the code of a character"), "{text}");
        }
        // As in a policy.
        assert_eq!(value(r#""a\x\u1b""#).map(|value| value.id).as_deref(), Ok("axu1b"));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        assert_eq!(read(""), "column 1: expected the name of a predicate");
        assert_eq!(read("p"), "column 2: expected `(`");
        assert_eq!(read("p(User:ä User:b)"), "column 10: expected `,` or `)`");
        assert_eq!(read("p(User)"), "column 7: expected `:` and an id, `?` or `_` after the type");
        assert_eq!(read("p(User:)"), "column 8: expected an id, `?` or `_`");
        assert_eq!(read("p(\"x"), "column 3: expected a text that ends with `\"`");
        assert_eq!(read("p(99999999999999999999)"), "column 3: expected a 64-bit Integer");
        assert_eq!(read("p(Integer:007)"), "column 3: expected a value of type `Integer`");
        assert_eq!(read("p(Actor:a)"), "column 3: expected a concrete type");
        assert!(read("p(,)").starts_with("column 3: expected a value like"));
        assert!(read("p(User:a) or q()").starts_with("column 11: expected the end"));
    }
}
