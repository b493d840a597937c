//! Lays out text in lines of a limited width.
//!
//! A list that fits on one line stays there; otherwise each item gets its own line. A word that is longer
//! than a line is not broken.

/// How many characters a line has at most.
const WIDTH: usize = 100;

/// What an alternative on its own line begins with.
const LEAD: &str = "| ";

/// A part of a text.
#[derive(Clone, Debug)]
pub(super) enum Layout {
    /// It is never broken.
    Word(String),
    /// Items between two brackets, each followed by a comma in a broken list.
    List {
        /// What opens it.
        open: &'static str,
        /// What is in it.
        items: Vec<Layout>,
        /// What closes it.
        close: &'static str,
    },
    /// Alternatives with bars between them; if they are broken, each line begins with a bar.
    Alternatives(Vec<Layout>),
}

impl Layout {
    /// A word.
    pub(super) fn word(text: impl Into<String>) -> Self {
        Self::Word(text.into())
    }

    /// The text. `before` is the number of characters that the line already has, `indent` its indentation,
    /// and `step` how much further each level of a broken list is indented.
    pub(super) fn text(&self, before: usize, indent: usize, step: usize) -> String {
        let flat = self.flat();
        if before + flat.chars().count() <= WIDTH {
            return flat;
        }
        let inner = indent + step;
        let line = format!("\n{}", " ".repeat(inner));
        match self {
            Self::Word(_) => flat,
            Self::List { open, items, close } => {
                let last = items.len().saturating_sub(1);
                // TypeScript allows no comma after the last type argument.
                let comma = |at: usize| if at == last && *close == ">" { "" } else { "," };
                let item = |(at, item): (usize, &Self)| {
                    let text = item.text(inner + 1, inner, step);
                    // Alternatives begin their lines themselves, and need no level of their own.
                    if text.starts_with('\n') {
                        let text = item.text(WIDTH, indent, step);
                        format!("{text}{}", comma(at))
                    } else {
                        format!("{line}{text}{}", comma(at))
                    }
                };
                let items: String = items.iter().enumerate().map(item).collect();
                format!("{open}{items}\n{}{close}", " ".repeat(indent))
            }
            Self::Alternatives(items) => {
                let inner = inner + LEAD.len();
                items
                    .iter()
                    .map(|item| format!("{line}{LEAD}{}", item.text(inner + 1, inner, step)))
                    .collect::<Vec<_>>()
                    .concat()
            }
        }
    }

    /// The text in one line.
    pub(super) fn flat(&self) -> String {
        let joined =
            |items: &[Self], between: &str| items.iter().map(Self::flat).collect::<Vec<_>>().join(between);
        match self {
            Self::Word(text) => text.clone(),
            Self::List { open, items, close } => format!("{open}{}{close}", joined(items, ", ")),
            Self::Alternatives(items) => joined(items, " | "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Layout;

    #[test]
    fn only_what_is_too_long_is_broken() {
        let words = |n: usize| (0..n).map(|at| Layout::word(format!("word{at}"))).collect::<Vec<_>>();
        let list = |items| Layout::List { open: "[", items, close: "]" };
        assert_eq!(list(words(3)).text(0, 0, 2), "[word0, word1, word2]");
        assert_eq!(Layout::Alternatives(words(2)).text(0, 0, 2), "word0 | word1");
        let long = list(vec![list(words(3)), list(words(20))]).text(0, 0, 2);
        assert!(long.starts_with("[\n  [word0, word1, word2],\n  [\n    word0,\n"), "{long}");
        assert!(long.ends_with("    word19,\n  ],\n]"), "{long}");
        let long = Layout::Alternatives(words(20)).text(0, 0, 2);
        assert!(long.starts_with("\n  | word0\n  | word1\n"), "{long}");
    }
}
