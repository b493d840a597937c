//! Random texts: accepted text reads as itself, for both parsers.

use super::*;
use crate::bindings::lexer;
use crate::bindings::token::Token;
use crate::tests::random::Random;

const PIECES: &[&str] = &[
    "SELECT ", "a", "b", "t", " FROM ", " WHERE ", "(", ")", "[", "]", ",", ".", " ", "\n", "\t", "'", "''",
    "\"", "\\", "--", "/*", "*/", "-", "+", "*", "/", "<", ">", "=", "!", "@", "#", "%", "^", "&", "|", "`",
    "~", "?", "$", "$$", "$1", ":", "::", ";", "E'", "U&'", "U&\"", "N'", "X'", "B'", "1", "1.5", "1e5",
    ".5", "0", "x'1f'", "é", "\u{a0}", "AND ", "OR ", "NOT ", " INTO ", "$a$", "\r", "u", "e", "\\x41",
    "\\'", "date", "int",
];

fn tokens(text: &str, dialect: Dialect) -> Vec<Token> {
    let lexed = lexer::read(text, &dialect.features().lexis).unwrap();
    lexed.lexemes.into_iter().map(|lexeme| lexeme.token).collect()
}

/// The tokens, with each `('a' || char(58))` evaluated to its text.
fn collapsed(tokens: &[Token]) -> Vec<Token> {
    let part = |tokens: &[Token]| match tokens {
        [Token::Text(text), ..] => Some((text.clone(), 1)),
        [Token::Word(char), Token::Open('('), Token::Number(code), Token::Close(')'), ..]
            if char == "char" =>
        {
            let c = code.parse().ok().and_then(char::from_u32)?;
            Some((c.to_string(), 4))
        }
        _ => None,
    };
    let whole = |tokens: &[Token]| {
        let mut at = 1;
        let mut made = String::new();
        loop {
            let (text, n) = part(tokens.get(at..)?)?;
            made.push_str(&text);
            at += n + 1;
            match tokens.get(at - 1)? {
                Token::Operator("||") => {}
                Token::Close(')') => return Some((made, at)),
                _ => return None,
            }
        }
    };
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if let Some((text, n)) = whole(&tokens[at..]).filter(|_| *token == Token::Open('(')) {
            out.push(Token::Text(text));
            at += n;
        } else {
            out.push(token.clone());
            at += 1;
        }
    }
    if out.len() == tokens.len() { out } else { collapsed(&out) }
}

#[test]
fn what_is_printed_reads_as_the_same_tokens() {
    let mut random = Random(3);
    let mut n_accepted = 0;
    for _ in 0..20_000 {
        let count = 1 + random.below(9);
        let middle: String = (0..count).map(|_| random.of(PIECES)).collect();
        let text = format!("SELECT a{middle}b FROM t");
        for dialect in BOTH {
            let Ok(query) = read(&text, dialect) else { continue };
            n_accepted += 1;
            assert_eq!(
                collapsed(&tokens(&text, dialect)),
                collapsed(&tokens(&query.text, dialect)),
                "{text}"
            );
            let again = read(&query.text, dialect).unwrap();
            assert_eq!(again.text, query.text, "{text}");
            assert_eq!(again.plain, query.plain, "{text}");
            assert!(stays_inside(&query.text), "{text}\n{}", query.text);
        }
    }
    assert!(n_accepted > 300, "only {n_accepted} random queries were accepted");
}

/// Whether a text closes only what it opens and has no comment and nothing that looks like a parameter. A
/// simple scan that knows only quotes.
fn stays_inside(text: &str) -> bool {
    let mut quote = None;
    let mut depth = 0_i32;
    let mut previous = ' ';
    for c in text.chars() {
        match quote {
            Some(open) => quote = Some(open).filter(|open| *open != c),
            None => match c {
                '\'' | '"' | '`' => quote = Some(c),
                '(' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                ';' | '$' | '?' | '\\' | '{' | '\n' | '\0' => return false,
                '-' if previous == '-' => return false,
                '*' if previous == '/' => return false,
                c if previous == ':' && c != ':' && c != ' ' => return false,
                _ => {}
            },
        }
        if depth < 0 {
            return false;
        }
        previous = c;
    }
    quote.is_none() && depth == 0
}

#[test]
fn random_documents_and_columns_never_panic() {
    let mut random = Random(4);
    let pieces = [
        "facts:", "\n", "  ", "f(T:_)", ":", " ", "query: ", "SELECT a", "*a", "&a ", "- ", "{", "}", "[",
        "]", "\"", "'", "|", ">", "#", "\t", "?", "!x", "---", "é", "\0", "<<: ",
    ];
    for _ in 0..20_000 {
        let count = random.below(20);
        let text: String = (0..count).map(|_| random.of(&pieces)).collect();
        let _ = parse(&text);
        let text: String = (0..count).map(|_| random.of(PIECES)).collect();
        for dialect in BOTH {
            let _ = crate::bindings::column(&text, dialect);
            let _ = crate::bindings::SqlType::parse(&text, dialect);
        }
    }
}
