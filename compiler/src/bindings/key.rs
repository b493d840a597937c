//! The key of a bound fact: `has_role(User:_, String:admin, Organization:_)`.
//!
//! In: a key's text. Out: the predicate and its arguments. Names follow the policy language. A constant is
//! written after its type, or alone if it is a String; in double quotes it may contain anything.

use super::bound::BindingArg;
use crate::builtin::{ACTOR, RESOURCE};
use crate::limits;
use crate::primitive::{Primitive, STRING};
use crate::spelling::{split_literal, split_name, unescape};

/// Reads a key. Errors continue a sentence that begins with the key.
pub(super) fn read(key: &str) -> Result<(String, Vec<BindingArg>), String> {
    let form = || {
        "is not a fact: write `predicate(Type:_, …)`, as in `has_role(User:_, String:_, Org:_)`".to_owned()
    };
    let mut reader = KeyReader { rest: key.trim() };
    let predicate = reader.name().ok_or_else(form)?;
    let predicate = if reader.take("?") { format!("{predicate}?") } else { predicate };
    reader.blank();
    if !reader.take("(") {
        return Err(form());
    }
    let mut args = Vec::new();
    reader.blank();
    if reader.take(")") {
        return Err("has no arguments: write `Type:_` for each of them".to_owned());
    }
    loop {
        reader.blank();
        args.push(reader.argument()?);
        reader.blank();
        if reader.take(",") {
            continue;
        }
        if reader.take(")") {
            break;
        }
        return Err(match reader.rest.chars().next() {
            Some(c) => {
                format!("has `{}` after argument {}: write `,` or `)` there", c.escape_debug(), args.len())
            }
            None => "is not closed: write `)` at its end".to_owned(),
        });
    }
    if !reader.rest.is_empty() {
        return Err(format!("continues after its `)`: remove `{}`", reader.rest.escape_debug()));
    }
    if args.len() > limits::PARAMETERS {
        return Err(format!("has {} arguments, more than {}", args.len(), limits::PARAMETERS));
    }
    Ok((predicate, args))
}

struct KeyReader<'a> {
    rest: &'a str,
}

impl KeyReader<'_> {
    fn take(&mut self, sign: &str) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn blank(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes characters while the condition holds.
    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &str {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// A name with its `::` segments.
    fn name(&mut self) -> Option<String> {
        let (name, rest) = split_name(self.rest)?;
        self.rest = rest;
        Some(name.to_owned())
    }

    fn argument(&mut self) -> Result<BindingArg, String> {
        if self.rest.starts_with('"') {
            let text = self.quoted()?;
            return Ok(BindingArg::Constant { ty: STRING.to_owned(), text });
        }
        let start = self.rest;
        let ty = self.name();
        if let Some(ty) = ty.filter(|_| self.rest.starts_with(':')) {
            self.take(":");
            return self.value_of(ty);
        }
        self.rest = start;
        let text = self.bare()?;
        let is_number = text.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit());
        match text.as_str() {
            "_" => Err("has a `_` without a type: write `Type:_`".to_owned()),
            "true" | "false" => {
                Err(format!("has `{text}` without a type: write `Boolean:{text}` or `\"{text}\"`"))
            }
            _ if is_number => {
                Err(format!("has `{text}` without a type: write `Integer:{text}` or `\"{text}\"`"))
            }
            _ if text.contains(':') => {
                Err(format!("has `{text}`, which is not a type and a value: write `Type:_`, or quote a text"))
            }
            _ => Ok(BindingArg::Constant { ty: STRING.to_owned(), text }),
        }
    }

    /// The argument after `Type:`.
    fn value_of(&mut self, ty: String) -> Result<BindingArg, String> {
        let of_all = match ty.as_str() {
            ACTOR => Some("actors"),
            RESOURCE => Some("resources"),
            _ => None,
        };
        if let Some(of_all) = of_all {
            return Err(format!(
                "has `{ty}`, the type of all {of_all}, which no value has: write a key for each of their types"
            ));
        }
        let text = if self.rest.starts_with('"') {
            self.quoted()?
        } else {
            let text = self.bare()?;
            if text == "_" {
                return Ok(BindingArg::Column { ty });
            }
            text
        };
        let example = match Primitive::named(&ty) {
            Some(primitive) if !primitive.is_canonical(&text) => match primitive {
                Primitive::String => "text",
                Primitive::Integer => "10",
                Primitive::Boolean => "true",
            },
            Some(_) | None => return Ok(BindingArg::Constant { ty, text }),
        };
        Err(format!("has `{ty}:{text}`, which is not a valid {ty}: write it as in `{ty}:{example}`"))
    }

    /// A constant without quotes.
    fn bare(&mut self) -> Result<String, String> {
        let belongs = |c: char| {
            !matches!(c, ',' | '(' | ')' | '"' | '\'' | '\\') && !c.is_whitespace() && !c.is_control()
        };
        let text = self.take_while(belongs).to_owned();
        if !text.is_empty() {
            return Ok(text);
        }
        Err(match self.rest.chars().next() {
            Some('\'') => "has single quotes: write texts in double quotes".to_owned(),
            Some(c) if c.is_whitespace() => "has white space after a `:`: remove it".to_owned(),
            Some(',' | ')') | None => "has an argument without a value: write `Type:_`".to_owned(),
            Some(c) => format!("has `{}` in an argument: quote the text", c.escape_debug()),
        })
    }

    /// A text between double quotes, with the escapes of the policy language.
    fn quoted(&mut self) -> Result<String, String> {
        let Some((literal, rest)) = split_literal(self.rest) else {
            return Err("has a text that is not closed: write the second `\"`".to_owned());
        };
        let text = unescape(literal);
        if text.contains('\0') {
            let written = if literal.contains('\0') { "it" } else { "the `\\0`" };
            return Err(format!("has a NUL character in a text: remove {written}"));
        }
        self.rest = rest;
        Ok(text)
    }
}
