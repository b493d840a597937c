//! Lays a statement out for reading: one clause a line, one indent a nested query.
//!
//! In: the text that sqlparser prints on one line. Out: the same tokens with other white space, and a
//! comment before each common table expression where asked for. Quoted texts are copied as they are: a
//! quote inside is doubled, and in no dialect does our text escape a quote in another way. The text parses
//! back to the same syntax tree, which the tests assert for every snapshot.

/// Words before which a line breaks inside a query.
const BREAKS: [&str; 12] =
    ["SELECT", "FROM", "WHERE", "AND", "OR", "UNION", "CROSS", "ORDER", "LIMIT", "WHEN", "ELSE", "END"];

/// What an open parenthesis holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paren {
    /// A query: broken over lines.
    Query,
    /// Alternatives: broken before each `OR`.
    Inline,
}

/// Lays a statement out; `comment` gives the comment of a common table expression by its name.
pub(super) fn layout(text: &str, comment: impl Fn(&str) -> Option<String>) -> String {
    let tokens = tokens(text);
    let mut out = String::with_capacity(text.len() * 5 / 4);
    let mut parens: Vec<Paren> = Vec::new();
    let mut in_with: Vec<usize> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        let after = tokens.get(at + 1).map(|token| token.text);
        let depth = parens.iter().filter(|paren| **paren == Paren::Query).count();
        let starts_query =
            before.is_none_or(|before| before.text == "(") && matches!(token.text, "SELECT" | "WITH");
        match token.text {
            "(" => {
                space(&mut out, token);
                out.push('(');
                if matches!(after, Some("SELECT" | "WITH")) {
                    parens.push(Paren::Query);
                    line(&mut out, depth + 1 + in_with.len());
                } else {
                    parens.push(Paren::Inline);
                }
                continue;
            }
            ")" => {
                if parens.pop() == Some(Paren::Query) {
                    in_with.retain(|level| *level < depth);
                    line(&mut out, depth - 1 + in_with.len());
                }
                out.push(')');
                continue;
            }
            "WITH" => in_with.push(depth),
            "SELECT"
                if in_with.last() == Some(&depth)
                    && parens.last() != Some(&Paren::Inline)
                    && !starts_query =>
            {
                in_with.pop();
                line(&mut out, depth + in_with.len());
                out.push_str("SELECT");
                continue;
            }
            _ => {}
        }
        let lists_tables = in_with.last() == Some(&depth) && parens.last() != Some(&Paren::Inline);
        let names_table =
            lists_tables && before.is_some_and(|before| matches!(before.text, "WITH" | "RECURSIVE" | ","));
        if names_table && token.text != "RECURSIVE" {
            line(&mut out, depth + in_with.len());
            if let Some(comment) = comment(token.text) {
                let printable = comment.chars().map(|c| if c.is_control() { ' ' } else { c });
                out.push_str("-- ");
                out.extend(printable);
                line(&mut out, depth + in_with.len());
            }
            out.push_str(token.text);
            continue;
        }
        let broken = match parens.last() {
            Some(Paren::Inline) => token.text == "OR",
            Some(Paren::Query) | None => BREAKS.contains(&token.text),
        };
        if broken && !starts_query && at > 0 {
            let clause =
                matches!(token.text, "SELECT" | "FROM" | "WHERE" | "UNION" | "ORDER" | "LIMIT" | "CROSS");
            line(&mut out, depth + in_with.len() + usize::from(!clause));
        } else if !starts_query {
            space(&mut out, token);
        }
        out.push_str(token.text);
    }
    out
}

fn space(out: &mut String, token: &Token<'_>) {
    if token.spaced && !out.is_empty() && !out.ends_with([' ', '\n', '(']) {
        out.push(' ');
    }
}

fn line(out: &mut String, depth: usize) {
    while out.ends_with(' ') {
        out.pop();
    }
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

/// A token and whether white space stood before it.
struct Token<'t> {
    text: &'t str,
    spaced: bool,
}

/// Splits printed SQL into words, quoted texts, parentheses and commas.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut spaced = false;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            ' ' | '\n' => {
                spaced = true;
                rest = rest.get(1..).unwrap_or("");
                continue;
            }
            '(' | ')' | ',' => 1,
            '\'' | '"' | '`' => quoted(rest, first),
            _ => rest.find([' ', '\n', '(', ')', ',', '\'', '"', '`']).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at_checked(length.max(1)).unwrap_or((rest, ""));
        tokens.push(Token { text: token, spaced });
        spaced = false;
        rest = after;
    }
    tokens
}

/// The length of the quoted text at the start, its quotes included.
fn quoted(text: &str, quote: char) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            if chars.peek().is_some_and(|(_, next)| *next == quote) {
                chars.next();
            } else {
                return at + c.len_utf8();
            }
        }
    }
    text.len()
}
