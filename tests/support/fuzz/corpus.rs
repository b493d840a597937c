//! The inputs that fuzzing has kept: a file for each target, and in it a line for each input.
//!
//! A line is the name of the input, a tab, and its bytes, in which `\\` means a backslash, `\n` for the end
//! of a line and `\xNN` for any other control character or byte that is not UTF-8. `tests/fuzz/corpus.py`
//! writes them.

use crate::repository;
use std::fs;

/// The inputs of a target, each with its name.
pub fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let path = repository().join("tests/fuzz/corpus").join(target).with_extension("txt");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text.lines();
    lines.map(|line| input(line).unwrap_or_else(|| panic!("{}: {line}", path.display()))).collect()
}

/// The input of a line.
fn input(line: &str) -> Option<(String, Vec<u8>)> {
    let (name, escaped) = line.split_once('\t')?;
    let mut data = Vec::new();
    let mut rest = escaped;
    while let Some((before, after)) = rest.split_once('\\') {
        data.extend_from_slice(before.as_bytes());
        let (byte, length) = match after.as_bytes().first()? {
            b'\\' => (b'\\', 1),
            b'n' => (b'\n', 1),
            b'x' => (u8::from_str_radix(after.get(1..3)?, 16).ok()?, 3),
            _ => return None,
        };
        data.push(byte);
        rest = after.get(length..)?;
    }
    data.extend_from_slice(rest.as_bytes());
    Some((name.to_owned(), data))
}

#[cfg(test)]
mod tests {
    use super::input;

    #[test]
    fn an_input_is_the_bytes_that_were_packed() {
        let line = "a name\tback\\\\nslash\\nline\\x00\\xffé\ttab";
        let data = b"back\\nslash\nline\0\xff\xc3\xa9\ttab".to_vec();
        assert_eq!(input(line), Some(("a name".to_owned(), data)));
    }

    #[test]
    fn a_broken_line_is_no_input() {
        for line in ["no tab", "name\t\\", "name\t\\x4", "name\t\\q", "name\t\\x\u{e9}"] {
            assert_eq!(input(line), None, "{line}");
        }
    }
}
