//! Random documents in random layouts: the formatter keeps their bindings and comments, and formatting twice
//! changes nothing more.

use crate::bindings::{Bindings, format, parse};
use crate::tests::random::Random;

/// A document that is written in a random layout.
struct Layout<'r> {
    random: &'r mut Random,
    text: String,
    n_comments: usize,
    /// Whether an indented comment would belong to the text before it.
    is_after_block: bool,
}

impl Layout<'_> {
    fn write(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// What may stand between two lines of mappings.
    fn gap(&mut self, indent: usize) {
        for _ in 0..self.random.below(3) {
            match self.random.below(3) {
                0 => self.text.push('\n'),
                1 => {
                    let blank = " ".repeat(self.random.below(4));
                    self.write(&format!("{blank}\n"));
                }
                _ => {
                    let indent = if self.random.below(2) == 0 { indent } else { self.random.below(9) };
                    let indent = if self.is_after_block { 0 } else { indent };
                    self.n_comments += 1;
                    let number = self.n_comments;
                    self.write(&format!("{}# comment {number}: {{ it's\n", " ".repeat(indent)));
                }
            }
        }
    }

    fn line(&mut self, indent: usize, line: &str) {
        self.gap(indent);
        let end = self.random.of(&["\n", "\n", " \n", "  # after\n"]);
        // A comment would end a text of several lines.
        let end = if line.ends_with(['|', '>', '-']) { "\n" } else { end };
        self.write(&format!("{}{line}{end}", " ".repeat(indent)));
        self.is_after_block = false;
    }

    fn query(&mut self, indent: usize) {
        let spaces = self.random.of(&[" ", "  ", "    "]);
        let deeper = " ".repeat(indent + 1 + self.random.below(5));
        match self.random.below(6) {
            0 => self.line(indent, &format!("query:{spaces}SELECT a, b FROM t")),
            1 => self.line(indent, &format!("query:{spaces}'SELECT a, b FROM t WHERE a <> ''#'''")),
            2 => {
                self.line(indent, &format!("query:{spaces}|"));
                self.write(&format!("{deeper}SELECT a, b -- all\n\n{deeper}  FROM t\n"));
                self.is_after_block = true;
            }
            3 => {
                self.line(indent, &format!("query:{spaces}>-"));
                self.write(&format!("{deeper}SELECT a, b\n{deeper}FROM t\n"));
                self.is_after_block = true;
            }
            4 => {
                self.gap(indent);
                let key = " ".repeat(indent);
                self.write(&format!(
                    "{key}query:{spaces}SELECT a, b\n{deeper}FROM t\n{deeper}  WHERE true\n"
                ));
            }
            _ => {
                self.gap(indent);
                let key = " ".repeat(indent);
                self.write(&format!("{key}query:{spaces}\"SELECT a, b\n{deeper}FROM t\"\n"));
            }
        }
    }

    fn document(&mut self) {
        let facts = 1 + self.random.below(4);
        self.line(0, "facts:");
        let outer = 1 + self.random.below(4);
        let inner = outer + 1 + self.random.below(4);
        for fact in 0..facts {
            let key = [
                "p(User:_, Repo:_):",
                "'q(User:_, Repo:_)':",
                "\"r(User:_, Repo:_)\":",
                "s(User:_, Repo:_):",
            ];
            self.line(outer, key[fact]);
            self.query(inner);
        }
        match self.random.below(3) {
            0 => self.line(0, "sql_types: { User:   integer, Repo: text }"),
            1 => {
                self.line(0, "sql_types:");
                self.line(outer, "User:   integer");
                self.line(outer, "Repo: text");
            }
            _ => self.text.push_str("tables:   {\n   User: users.id,\n Repo:  repos.id }\n"),
        }
        self.gap(outer);
    }
}

fn without_lines(mut bindings: Bindings) -> Bindings {
    bindings.facts.iter_mut().for_each(|binding| binding.line = 0);
    bindings
}

#[test]
fn random_documents_keep_their_meaning() {
    let mut random = Random(7);
    let (mut n_changed, mut n_kept) = (0, 0);
    for _ in 0..1_000 {
        let mut layout =
            Layout { random: &mut random, text: String::new(), n_comments: 0, is_after_block: false };
        layout.document();
        let text = layout.text;
        let expected = without_lines(parse(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}")));
        let formatted = format(&text).unwrap();
        assert_eq!(
            parse(&formatted).map(without_lines).as_ref(),
            Ok(&expected),
            "{text}\nbecame\n{formatted}"
        );
        assert_eq!(format(&formatted).unwrap(), formatted, "{text}");
        let comments = |text: &str| text.matches("# comment ").count() + text.matches("# after").count();
        assert_eq!(comments(&formatted), comments(&text), "{text}\nbecame\n{formatted}");
        // All entries of a section are where they should be, unless the text was left alone.
        let is_laid_out = formatted
            .lines()
            .filter(|line| line.contains("query:"))
            .all(|line| line.starts_with("    query: "));
        if is_laid_out { n_changed += 1 } else { n_kept += 1 }
    }
    assert!(n_kept * 100 <= n_changed, "{n_kept} documents were left as they were");
}
