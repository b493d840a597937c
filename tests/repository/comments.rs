//! Comments wrap at 110 columns, but for code blocks, tables and indented diagrams.

use super::sources::{everything, none};

/// The longest line of a comment.
const WIDTH: usize = 110;

#[test]
fn comments_wrap() {
    let mut wide = Vec::new();
    for file in everything().iter().filter(|file| !file.path.contains("node_modules")) {
        let mut is_code = false;
        for (number, line) in (1..).zip(file.text.lines()) {
            let Some(text) = line.trim_start().strip_prefix("//") else {
                is_code = false;
                continue;
            };
            let text = text.trim_start_matches(['/', '!']);
            if text.trim_start().starts_with("```") {
                is_code = !is_code;
            }
            let is_layout = is_code || text.trim_start().starts_with('|') || text.starts_with("     ");
            if !is_layout && line.chars().count() > WIDTH {
                wide.push(format!("{}:{number} has {} columns", file.path, line.chars().count()));
            }
        }
    }
    none(&wide, "comments wrap at 110");
}
