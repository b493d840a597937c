//! Each page of `fixtures/diagnostics` documents one code, and is a test of it.
//!
//! A page shows a policy that fails, what is said about it, and a policy that does not. Here the failing
//! policy is checked, and what is said must be on the page, character for character; the other policy must
//! compile. `UPDATE_FIXTURES=1 cargo test --test language -- diagnostics::` writes what is said into the
//! pages; a person reads it before it is committed. Every code has a page, and every page a code.
//!
//! A line of a policy that ends in `# × 1000` is repeated that often; `%` in it becomes the number of the
//! repetition.

use libtest_mimic::{Failed, Trial};
use portcullis_compiler::diagnostic::render::render_all;
use portcullis_compiler::diagnostic::{Code, Diagnostic};
use portcullis_compiler::source::SourceMap;
use portcullis_compiler::{Checked, check};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/diagnostics");

/// A trial for each code, and one for pages without a code.
pub(crate) fn trials() -> Vec<Trial> {
    let pages = Code::ALL.iter().map(|&code| {
        let path = Path::new(FOLDER).join(format!("{code}-{}.md", code.slug()));
        Trial::test(format!("diagnostics::{code}-{}", code.slug()), move || {
            run(code, &path).map_err(Failed::from)
        })
    });
    let strangers = "diagnostics::every_page_has_a_code";
    let strangers = Trial::test(strangers, || every_page_has_a_code().map_err(Failed::from));
    pages.chain([strangers]).collect()
}

/// One page, taken apart.
struct Page {
    title: String,
    explanation: String,
    wrong: String,
    said: String,
    advice: String,
    right: String,
}

fn run(code: Code, path: &Path) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let page = Page::parse(&text)?;
    let said = judge(code, &page)?;
    let title = format!("# {code}: {}", code.summary());
    if page.said != said || page.title != title {
        if env::var_os("UPDATE_FIXTURES").is_none() {
            return Err(format!("{} should say\n\n{title}\n\n{said}", path.display()));
        }
        let fenced = |said: &str| format!("```text\n{said}\n```\n");
        let updated = text.replacen(&page.title, &title, 1).replacen(&fenced(&page.said), &fenced(&said), 1);
        fs::write(path, updated).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Checks both policies of a page; what is said about the wrong one.
fn judge(code: Code, page: &Page) -> Result<String, String> {
    if page.explanation.matches('.').count() < 2 || !page.advice.ends_with('.') {
        return Err("two sentences explain the code, and one says what to do instead".to_owned());
    }
    let source = SourceMap::new("policy.polar", page.wrong.as_str());
    let shown = findings(code, check(&source));
    if !shown.iter().any(|found| found.code == code) {
        return Err(format!("the first policy does not show {code}:\n\n{}", render_all(&source, &shown)));
    }
    below_other_text(code, page, &source, &shown)?;
    fixes_mend(code, &source, &shown)?;
    let source_right = SourceMap::new("policy.polar", page.right.as_str());
    let Checked { program, diagnostics } = check(&source_right);
    if program.is_none() || diagnostics.iter().any(|found| found.code == code) {
        return Err(format!(
            "the second policy has findings:\n\n{}",
            render_all(&source_right, &diagnostics)
        ));
    }
    Ok(render_all(&source, &shown))
}

/// What a page shows: errors, or the lints if it is about a lint; of very many, those of its code.
fn findings(code: Code, checked: Checked) -> Vec<Diagnostic> {
    let mut found = checked.diagnostics;
    found.retain(|found| found.severity() == code.severity());
    if found.len() > 10 {
        found.retain(|found| found.code == code);
    }
    found
}

/// A fix that is offered removes the finding it is offered for.
fn fixes_mend(code: Code, source: &SourceMap, shown: &[Diagnostic]) -> Result<(), String> {
    for found in shown {
        let Some(fix) = &found.fix else { continue };
        let mut text = source.text().to_owned();
        text.replace_range(fix.span.range(), &fix.replacement);
        let fixed = SourceMap::new("policy.polar", text);
        let left = findings(code, check(&fixed));
        if left.iter().any(|left| left.title == found.title && left.primary == found.primary) {
            return Err(format!("the fix does not mend it:\n\n{}", render_all(&fixed, &left)));
        }
    }
    Ok(())
}

/// Text of several bytes a character above the policy moves every finding one line down, and not aside.
fn below_other_text(code: Code, page: &Page, source: &SourceMap, shown: &[Diagnostic]) -> Result<(), String> {
    let moved = SourceMap::new("policy.polar", format!("# für Müller 日本 🦀\n{}", page.wrong));
    let below = findings(code, check(&moved));
    let place = |source: &SourceMap, found: &Diagnostic, lines: usize| {
        let at = source.locate(found.primary.span);
        (found.code, found.title.clone(), at.line + lines, at.column)
    };
    // A finding about the whole policy has no place that could move.
    let everything = |found: &Diagnostic| found.primary.span == portcullis_compiler::source::Span::default();
    let placed = |found: &&Diagnostic| !everything(found);
    let expected: Vec<_> = shown.iter().filter(placed).map(|found| place(source, found, 1)).collect();
    let found: Vec<_> = below.iter().filter(placed).map(|found| place(&moved, found, 0)).collect();
    if expected == found { Ok(()) } else { Err(format!("below a comment: {found:?}, not {expected:?}")) }
}

impl Page {
    fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        let title = lines.next().unwrap_or_default().to_owned();
        let (explanation, wrong) = policy(&mut lines)?;
        let (between, info, said) = block(&mut lines)?;
        if info != "text" || !between.is_empty() {
            return Err("a ```text block follows the first policy".to_owned());
        }
        let (advice, right) = policy(&mut lines)?;
        let Some(advice) = advice.strip_prefix("## Instead").map(str::trim) else {
            return Err("`## Instead` follows the ```text block".to_owned());
        };
        if lines.any(|line| !line.is_empty()) {
            return Err("a page ends with its second policy".to_owned());
        }
        Ok(Self { title, explanation, wrong, said, advice: advice.to_owned(), right })
    }
}

/// The next block of a policy with the prose before it, its repeated lines spelled out.
fn policy<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Result<(String, String), String> {
    let (prose, info, short) = block(lines)?;
    if info != "policy" {
        return Err(format!("expected a ```policy block, found `{info}`"));
    }
    let mut policy = String::new();
    for line in short.lines() {
        let (line, times) = line.split_once("  # × ").unwrap_or((line, "1"));
        let times: usize = times.parse().map_err(|_| format!("`{times}` is not a number"))?;
        for number in 0..times {
            let _ = writeln!(policy, "{}", line.replace('%', &number.to_string()));
        }
    }
    Ok((prose, policy))
}

/// The next fenced block: the prose before it, its info string, its text.
fn block<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Result<(String, String, String), String> {
    let mut prose = String::new();
    for line in lines.by_ref() {
        if let Some(info) = line.strip_prefix("```") {
            let text: Vec<_> = lines.take_while(|line| *line != "```").collect();
            return Ok((prose.trim().to_owned(), info.to_owned(), text.join("\n")));
        }
        let _ = writeln!(prose, "{line}");
    }
    Err("a fenced block is missing".to_owned())
}

fn every_page_has_a_code() -> Result<(), String> {
    let files = fs::read_dir(FOLDER).map_err(|error| error.to_string())?;
    let paths: Vec<PathBuf> = files.filter_map(Result::ok).map(|file| file.path()).collect();
    let known = |path: &&PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        Code::ALL.iter().any(|code| name == format!("{code}-{}.md", code.slug()))
    };
    let strangers: Vec<_> = paths.iter().filter(|path| !known(path)).collect();
    if strangers.is_empty() { Ok(()) } else { Err(format!("no code belongs to {strangers:?}")) }
}
