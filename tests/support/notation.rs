//! The notation of facts, questions and answers in fixtures.
//!
//! A value is `User:ada`, `User:"any text"`, `"a string"`, `42` or `true`. A question's argument may also be
//! `Repo:?` (wanted), `Repo:_` (some value must exist), `?` and `_` (the same, of any type), `Repo:?x` or
//! `Repo:_x` (the same variable wherever the name occurs) and `Repo:[a, b]` (one of these, and which is part
//! of the answer). Atoms are joined by `and`. An answer's cell is a value, `*` or `Repo:*`.

use portcullis_compiler::id_vec::IdVec;
use portcullis_compiler::question::{Domain, Question, QuestionAtom, QuestionVar, QuestionVarId};
use std::fmt;

/// A typed value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value {
    /// The type's name.
    pub ty: String,
    /// The id's text.
    pub id: String,
}

impl Value {
    /// A value of a type.
    pub fn new(ty: &str, id: &str) -> Self {
        Self { ty: ty.to_owned(), id: id.to_owned() }
    }

    /// The number, if it is an Integer.
    pub fn integer(&self) -> Option<i64> {
        if self.ty == "Integer" { self.id.parse().ok() } else { None }
    }
}

/// Writes the value so that it can be read back.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ty.as_str() {
            "String" => f.write_str(&quoted(&self.id)),
            "Integer" | "Boolean" => f.write_str(&self.id),
            ty if is_bare(&self.id) => write!(f, "{ty}:{}", self.id),
            ty => write!(f, "{ty}:{}", quoted(&self.id)),
        }
    }
}

/// A fact.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fact {
    /// The predicate's name.
    pub predicate: String,
    /// Its arguments.
    pub args: Vec<Value>,
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let args: Vec<String> = self.args.iter().map(Value::to_string).collect();
        write!(f, "{}({})", self.predicate, args.join(", "))
    }
}

/// One cell of an answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// This value.
    Value(Value),
    /// Any value of one type.
    AnyOf(String),
    /// Any value at all.
    Any,
}

impl Cell {
    /// Whether this cell says at least what the other says.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) => true,
            (Self::AnyOf(ty), Self::AnyOf(other)) => ty == other,
            (Self::AnyOf(ty), Self::Value(value)) => *ty == value.ty,
            (Self::Value(value), Self::Value(other)) => value == other,
            (Self::AnyOf(_) | Self::Value(_), Self::Any) | (Self::Value(_), Self::AnyOf(_)) => false,
        }
    }

    /// Whether each cell of a row covers its counterpart.
    pub fn row_covers(wide: &[Self], narrow: &[Self]) -> bool {
        wide.iter().zip(narrow).all(|(wide, narrow)| wide.covers(narrow))
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::AnyOf(ty) => write!(f, "{ty}:*"),
            Self::Any => f.write_str("*"),
        }
    }
}

/// Reads one fact: `has_role(User:ada, "member", Group:inner)`.
pub fn fact(text: &str) -> Result<Fact, String> {
    let question = question(text)?;
    let [atom] = question.atoms.as_slice() else { return Err("a fact is one atom".into()) };
    let value = |&var: &QuestionVarId| match &question.vars[var] {
        QuestionVar { ty: Some(ty), domain: Domain::Given(id), .. } => Ok(Value::new(ty, id)),
        QuestionVar { name, .. } => Err(format!("`{name}` is not a concrete value")),
    };
    Ok(Fact {
        predicate: atom.predicate.clone(),
        args: atom.args.iter().map(value).collect::<Result<_, _>>()?,
    })
}

/// Reads a question: `allow(User:ada, "read", Doc:?)`, atoms joined by `and`.
pub fn question(text: &str) -> Result<Question, String> {
    let mut reader = Reader { rest: text };
    let mut question = Question { atoms: Vec::new(), vars: IdVec::new(), paged: false };
    loop {
        let predicate = reader.predicate()?;
        reader.expect("(")?;
        let mut args = Vec::new();
        while !reader.eat(")") {
            if !args.is_empty() {
                reader.expect(",")?;
            }
            let (var, is_named) = reader.argument(question.vars.len())?;
            let same = question.vars.position(|known| is_named && known.name == var.name);
            match same {
                Some(known) if question.vars[known] == var => args.push(known),
                Some(_) => return Err(format!("`{}` means two different things", var.name)),
                None => args.push(question.vars.push(var)),
            }
        }
        question.atoms.push(QuestionAtom { predicate, args });
        if reader.rest.trim().is_empty() {
            return Ok(question);
        }
        reader.expect("and")?;
    }
}

/// Writes a question so that it can be read back; a variable that the author did not name stays without a
/// name.
pub fn written(question: &Question) -> String {
    let argument = |&id: &QuestionVarId| {
        let QuestionVar { name, ty, domain } = &question.vars[id];
        let ty = ty.as_deref().unwrap_or_default();
        let typed = if ty.is_empty() { String::new() } else { format!("{ty}:") };
        let name = if *name == format!("v{}", id.index()) { "" } else { name.as_str() };
        match domain {
            Domain::Given(id) => Value::new(ty, id).to_string(),
            Domain::GivenOneOf(ids) => {
                format!("{typed}[{}]", ids.iter().map(|id| quoted(id)).collect::<Vec<_>>().join(", "))
            }
            Domain::Wanted => format!("{typed}?{name}"),
            Domain::Ignored => format!("{typed}_{name}"),
        }
    };
    let atom = |atom: &QuestionAtom| {
        let args: Vec<String> = atom.args.iter().map(argument).collect();
        format!("{}({})", atom.predicate, args.join(", "))
    };
    question.atoms.iter().map(atom).collect::<Vec<_>>().join(" and ")
}

/// Reads the cells of an answer: rows separated by commas, a row of several cells in parentheses.
pub fn rows(text: &str) -> Result<Vec<Vec<Cell>>, String> {
    let mut reader = Reader { rest: text };
    let mut rows = Vec::new();
    loop {
        let mut row = Vec::new();
        if reader.eat("(") {
            while !reader.eat(")") {
                if !row.is_empty() {
                    reader.expect(",")?;
                }
                row.push(reader.cell()?);
            }
        } else {
            row.push(reader.cell()?);
        }
        rows.push(row);
        if reader.rest.trim().is_empty() {
            return Ok(rows);
        }
        reader.expect(",")?;
    }
}

fn is_bare(id: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '@');
    id.starts_with(char::is_alphanumeric) && id.chars().all(is_plain)
}

/// A text in quotes, as the notation and the policy language write it.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0' => out.push_str("\\0"),
            '"' | '\\' => out.extend(['\\', c]),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// What is left to read.
struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn eat(&mut self, token: &str) -> bool {
        match self.rest.trim_start().strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.eat(token) { Ok(()) } else { Err(format!("expected `{token}` before `{}`", self.rest)) }
    }

    fn take(&mut self, accept: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !accept(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// A name of a type or a predicate: segments joined by `::`.
    fn word(&mut self) -> Result<&'t str, String> {
        self.rest = self.rest.trim_start();
        let all = self.rest;
        loop {
            if self.take(|c| c.is_alphanumeric() || c == '_').is_empty() {
                return Err(format!("expected a name before `{}`", self.rest));
            }
            if !self.rest.starts_with("::") {
                return Ok(&all[..all.len() - self.rest.len()]);
            }
            self.take(|c| c == ':');
        }
    }

    /// A predicate's name, which may end with `?`.
    fn predicate(&mut self) -> Result<String, String> {
        let name = self.word()?.to_owned();
        Ok(if self.eat("?") { name + "?" } else { name })
    }

    fn string(&mut self) -> Result<Option<String>, String> {
        if !self.eat("\"") {
            return Ok(None);
        }
        let mut out = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(Some(out));
                }
                '\\' => match chars.next().map(|(_, c)| c) {
                    Some('n') => out.push('\n'),
                    Some('r') => out.push('\r'),
                    Some('t') => out.push('\t'),
                    Some('0') => out.push('\0'),
                    Some(other) => out.push(other),
                    None => break,
                },
                other => out.push(other),
            }
        }
        Err("a string does not end".into())
    }

    fn id(&mut self) -> Result<String, String> {
        if let Some(text) = self.string()? {
            return Ok(text);
        }
        let id = self.take(|c| is_bare(&format!("a{c}")));
        if id.is_empty() { Err(format!("expected an id before `{}`", self.rest)) } else { Ok(id.to_owned()) }
    }

    /// A value of a type that its text shows: a string, a number or a truth value.
    fn primitive(&mut self) -> Result<Option<Value>, String> {
        if let Some(text) = self.string()? {
            return Ok(Some(Value::new("String", &text)));
        }
        self.rest = self.rest.trim_start();
        let end = self.rest.find([',', ')', ' ']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let ty = match word {
            "true" | "false" => "Boolean",
            number if number.parse::<i64>().is_ok() => "Integer",
            _ => return Ok(None),
        };
        self.rest = rest;
        Ok(Some(Value::new(ty, word)))
    }

    /// An argument as a variable, and whether the author named it; the others are named by their number.
    fn argument(&mut self, number: usize) -> Result<(QuestionVar, bool), String> {
        let anonymous = format!("v{number}");
        if let Some(value) = self.primitive()? {
            let domain = Domain::Given(value.id);
            return Ok((QuestionVar { name: anonymous, ty: Some(value.ty), domain }, false));
        }
        let is_untyped = self.rest.starts_with(['?', '_']);
        let ty = if is_untyped { None } else { Some(self.word()?.to_owned()) };
        if ty.is_some() {
            self.expect(":")?;
        }
        let mut name = "";
        let domain = if self.eat("?") {
            name = self.take(char::is_alphanumeric);
            Domain::Wanted
        } else if self.eat("_") {
            name = self.take(char::is_alphanumeric);
            Domain::Ignored
        } else if self.eat("[") {
            let mut ids = vec![self.id()?];
            while self.eat(",") {
                self.rest = self.rest.trim_start();
                ids.push(self.id()?);
            }
            self.expect("]")?;
            Domain::GivenOneOf(ids)
        } else {
            Domain::Given(self.id()?)
        };
        let is_named = !name.is_empty();
        let name = if is_named { name.to_owned() } else { anonymous };
        Ok((QuestionVar { name, ty, domain }, is_named))
    }

    fn cell(&mut self) -> Result<Cell, String> {
        if self.eat("*") {
            return Ok(Cell::Any);
        }
        if let Some(value) = self.primitive()? {
            return Ok(Cell::Value(value));
        }
        let ty = self.word()?.to_owned();
        self.expect(":")?;
        if self.eat("*") { Ok(Cell::AnyOf(ty)) } else { Ok(Cell::Value(Value::new(&ty, &self.id()?))) }
    }
}
