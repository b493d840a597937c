//! A fix that is offered can be applied: what is left parses and resolves, or has the other findings only.
//!
//! The findings are those of the pages of `fixtures/diagnostics`, and of a slip in every token of the
//! policies of the repository. What a help shows as code is read, too.

use super::none;
use super::pieces::Pieces;
use super::policies::WANTED;
use super::repository::texts;
use portcullis_compiler::check;
use portcullis_compiler::diagnostic::render::render_all;
use portcullis_compiler::diagnostic::{Diagnostic, Fix, Severity};
use portcullis_compiler::source::SourceMap;
use portcullis_compiler::syntax::parse;
use std::collections::BTreeSet;

/// One in `STEP` slips is tried.
const STEP: usize = 23;

fn errors(text: &str) -> Vec<Diagnostic> {
    let mut found = check(&SourceMap::new("policy.polar", text)).diagnostics;
    found.retain(|found| found.severity() == Severity::Error);
    found
}

fn fixed(text: &str, fix: &Fix) -> String {
    let mut text = text.to_owned();
    text.replace_range(fix.span.range(), &fix.replacement);
    text
}

fn shown(text: &str, findings: &[Diagnostic]) -> String {
    render_all(&SourceMap::new("policy.polar", text), findings)
}

/// Applies each fix by itself: what it was offered for is gone, and there are fewer findings than before.
/// Another mistake of the text may show itself differently.
fn complaints(place: &str, text: &str, findings: &[Diagnostic]) -> Vec<String> {
    let wrong = |found: &Diagnostic| {
        let mended = fixed(text, found.fix.as_ref()?);
        let left = errors(&mended);
        let is_mended = left.len() < findings.len()
            && left.iter().all(|left| left.title != found.title || left.primary != found.primary);
        (!is_mended).then(|| {
            let one = shown(text, std::slice::from_ref(found));
            format!("{place}: the fix\n{one}\nleaves\n{}", shown(&mended, &left))
        })
    };
    findings.iter().filter_map(wrong).collect()
}

/// Every fix together, from the last place to the first.
fn all_fixed(text: &str, findings: &[Diagnostic]) -> String {
    let mut fixes: Vec<&Fix> = findings.iter().filter_map(|found| found.fix.as_ref()).collect();
    fixes.sort_by_key(|fix| std::cmp::Reverse((fix.span.start, fix.span.end)));
    let mut text = text.to_owned();
    let mut untouched = u32::MAX;
    for fix in fixes.into_iter().filter(|fix| !fix.replacement.is_empty() || fix.span.start < fix.span.end) {
        if fix.span.end <= untouched {
            text = fixed(&text, fix);
            untouched = fix.span.start;
        }
    }
    text
}

/// Applies each fix of a lint by itself: what it was offered for is gone, and the policy is still valid.
fn complaints_of_lints(place: &str, text: &str) -> (usize, Vec<String>) {
    let all = |text: &str| check(&SourceMap::new("policy.polar", text)).diagnostics;
    let findings = all(text);
    let fixable: Vec<&Diagnostic> = findings.iter().filter(|found| found.fix.is_some()).collect();
    let wrong = |found: &&Diagnostic| {
        let mended = fixed(text, found.fix.as_ref()?);
        let left = all(&mended);
        let is_mended = left.iter().all(|left| {
            left.severity() != Severity::Error && (left.title != found.title || left.primary != found.primary)
        });
        (!is_mended).then(|| {
            let one = shown(text, std::slice::from_ref(*found));
            format!("{place}: the fix\n{one}\nleaves\n{}", shown(&mended, &left))
        })
    };
    (fixable.len(), fixable.iter().filter_map(wrong).collect())
}

#[test]
fn fixes_of_the_lints_of_the_repository() {
    let (mut n_fixes, mut wrong) = (0, Vec::new());
    let valid = texts(&WANTED).into_iter().filter(|found| found.text.len() < 20_000);
    for found in valid.filter(|found| errors(&found.text).is_empty()) {
        let (n, complaints) = complaints_of_lints(&found.place, &found.text);
        n_fixes += n;
        wrong.extend(complaints);
    }
    // A name that is nearly another one, or that is taken in its unused form.
    for text in [
        "actor User {} resource R { roles = [\"m\"]; } \
         has_role(u: User, r: String, x: R) if owner(x, u, r) and not has_roles(u, r, x);",
        "actor User {} resource R {} p(x: User, _x: User, y: R) if q(_x, y);",
        "actor User {} resource R {} p(x: User) if has_roles(x);",
    ] {
        let (n, complaints) = complaints_of_lints("here", text);
        n_fixes += n;
        wrong.extend(complaints);
    }
    none(&wrong);
    assert!(n_fixes > 20, "{n_fixes}");
}

#[test]
fn fixes_of_the_texts_of_the_repository() {
    let mut wrong = Vec::new();
    for found in texts(&WANTED).into_iter().filter(|found| found.is_certain && found.text.len() < 20_000) {
        let findings = errors(&found.text);
        if findings.is_empty() || found.place.contains("corpus") {
            continue;
        }
        wrong.extend(complaints(&found.place, &found.text, &findings));
        if findings.iter().all(|found| found.fix.is_some()) {
            let mended = all_fixed(&found.text, &findings);
            let left = errors(&mended);
            if !left.is_empty() {
                wrong.push(format!("{}: all fixes leave\n{}", found.place, shown(&mended, &left)));
            }
        }
    }
    none(&wrong);
}

/// What may be written in place of a token.
fn slips(token: &str) -> Vec<String> {
    let inner = token.trim_matches('"');
    let is_name =
        inner.starts_with(char::is_alphabetic) && inner.chars().all(|c| c.is_alphanumeric() || c == '_');
    if !is_name {
        return vec![String::new()];
    }
    let without_third: String = inner.chars().enumerate().filter(|(n, _)| *n != 2).map(|(_, c)| c).collect();
    let quoted = token.starts_with('"');
    let short = if quoted { format!("\"{without_third}\"") } else { without_third };
    let other = if quoted { inner.to_owned() } else { format!("\"{inner}\"") };
    vec![short, other]
}

#[test]
fn fixes_of_a_slip_in_any_token() {
    let (mut wrong, mut n_slips, mut n_fixes) = (Vec::new(), 0, 0);
    let policies = texts(&WANTED).into_iter().filter(|found| found.text.len() < 4_000);
    for found in policies.filter(|found| errors(&found.text).is_empty()) {
        let Some(pieces) = Pieces::of(&found.text) else { continue };
        for (at, token) in pieces.tokens().enumerate() {
            for slip in slips(token) {
                n_slips += 1;
                if n_slips % STEP > 0 {
                    continue;
                }
                let text = pieces.with(at, &slip);
                let findings = errors(&text);
                n_fixes += findings.iter().filter(|found| found.fix.is_some()).count();
                wrong.extend(complaints(&found.place, &text, &findings));
            }
        }
    }
    none(&wrong);
    assert!(n_fixes > 300, "{n_fixes} fixes of {} slips", n_slips / STEP);
}

/// Whether something that a help shows can be read where it may stand; `…` is anything, or nothing.
fn is_readable(code: &str) -> bool {
    let spelled = [code.replace('…', "x"), code.replace('…', "").replace(", ]", "]")];
    let contexts = |code: &String| {
        [
            code.clone(),
            format!("{code};"),
            format!("p({code});"),
            format!("p() if {code};"),
            format!("p() if p() {code};"),
            format!("resource R {{ {code} }}"),
            format!("test \"t\" {{ {code} }}"),
        ]
    };
    spelled.iter().flat_map(contexts).any(|text| parse(&SourceMap::new("help", text)).1.is_empty())
}

#[test]
fn code_in_a_help_can_be_read() {
    let mut wrong = BTreeSet::new();
    for found in texts(&WANTED).into_iter().filter(|found| found.place.starts_with("fixtures/diagnostics")) {
        for diagnostic in check(&SourceMap::new("policy.polar", found.text.as_str())).diagnostics {
            let help = diagnostic.help.unwrap_or_default();
            let codes = help.split('`').skip(1).step_by(2);
            // A word or a sign alone is not code.
            let unreadable = codes.filter(|code| code.contains(['(', ' ', '{']) && !is_readable(code));
            wrong.extend(unreadable.map(|code| format!("{}: `{code}`", found.place)));
        }
    }
    none(&wrong.into_iter().collect::<Vec<_>>());
}
