//! Names of a policy as literals of other languages.
//!
//! A name may be any text. Only letters, digits and the printable characters of ASCII are written as they
//! are; everything else is escaped, so no quote, line end or invisible character can end a literal.

/// A string literal of TypeScript.
pub(super) fn typescript(text: &str) -> String {
    quoted(text, |c| format!("\\u{{{:x}}}", u32::from(c)))
}

/// A string literal of Python.
pub(super) fn python(text: &str) -> String {
    quoted(text, |c| match u32::from(c) {
        code @ ..=0xffff => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    })
}

fn quoted(text: &str, escaped: impl Fn(char) -> String) -> String {
    let mut literal = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            ' ' | '!'..='~' => literal.push(c),
            c if c.is_alphanumeric() => literal.push(c),
            c => literal.push_str(&escaped(c)),
        }
    }
    literal.push('"');
    literal
}

#[cfg(test)]
mod tests {
    use super::{python, typescript};

    /// Reads a literal as both languages do: an independent reader of the escapes that are written.
    fn read(literal: &str) -> String {
        let inner = literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap();
        let mut text = String::new();
        let mut rest = inner.chars();
        while let Some(c) = rest.next() {
            assert!(c != '"' && !c.is_control(), "{literal:?}");
            if c != '\\' {
                text.push(c);
                continue;
            }
            let mut digits = |n: usize| rest.by_ref().take(n).collect::<String>();
            let hex = match digits(1).as_str() {
                "u" => match digits(1).as_str() {
                    "{" => rest.by_ref().take_while(|c| *c != '}').collect(),
                    first => format!("{first}{}", digits(3)),
                },
                "U" => digits(8),
                plain => {
                    assert!(["\"", "\\"].contains(&plain), "{literal:?}");
                    text.push_str(plain);
                    continue;
                }
            };
            text.push(char::from_u32(u32::from_str_radix(&hex, 16).unwrap()).unwrap());
        }
        text
    }

    /// All texts of up to four characters over those that could end a literal, a line or a comment.
    #[test]
    fn every_text_is_read_as_it_was() {
        let alphabet: Vec<char> = "'\"\\`${u0\n\r*/é\u{0}\u{2028}\u{202e}\u{feff}😀".chars().collect();
        let mut texts = vec![String::new()];
        let mut last = texts.clone();
        for _ in 0..4 {
            last = last.iter().flat_map(|text| alphabet.iter().map(move |c| format!("{text}{c}"))).collect();
            texts.extend(last.iter().cloned());
        }
        assert!(texts.len() > 100_000, "{}", texts.len());
        for text in texts {
            for literal in [typescript(&text), python(&text)] {
                assert_eq!(read(&literal), text, "{literal}");
                assert!(
                    literal.chars().all(|c| c.is_alphanumeric() || (' '..='~').contains(&c)),
                    "{literal:?}"
                );
            }
        }
    }

    #[test]
    fn names_stay_readable() {
        assert_eq!(typescript("Prüfer"), "\"Prüfer\"");
        assert_eq!(typescript("it's \"a\"\n"), r#""it's \"a\"\u{a}""#);
        assert_eq!(python("😀\u{202e}"), r#""\U0001f600\u202e""#);
    }
}
