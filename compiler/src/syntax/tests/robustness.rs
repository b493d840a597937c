//! No text makes the parser panic, overflow the stack or take too long.

use super::*;
use crate::diagnostic::render::render_all;
use crate::limits;
use crate::tests::processor::ThreadTime;
use crate::tests::random::Random;
use std::time::Duration;

/// Parses a text and renders its diagnostics; every span must lie within the text.
fn survive(text: &str) {
    let source = source(text);
    let (_, findings) = parse(&source);
    assert!(findings.len() <= limits::DIAGNOSTICS);
    for found in &findings {
        for span in found.secondary.iter().map(|label| label.span).chain([found.primary.span]) {
            assert!(source.text().get(span.range()).is_some(), "{found:?} in {text:?}");
        }
    }
    let _ = render_all(&source, &findings);
}

#[test]
fn every_prefix_of_the_samples() {
    for sample in SAMPLES {
        prefixes(sample).for_each(survive);
    }
}

#[test]
fn random_bytes_in_the_samples() {
    let mut random = Random(1);
    let odd = [
        "\0", "\u{feff}", "é", "🦀", "\u{202e}", "\"", "'", "\\", "{", "}", "(", ")", "[", "]", ";", "\n",
        "#", "@", "\r",
    ];
    for _ in 0..1_000 {
        let sample = SAMPLES[random.below(SAMPLES.len())];
        let mut chars: Vec<char> = sample.chars().collect();
        for _ in 0..=random.below(5) {
            let at = random.below(chars.len() + 1);
            match random.below(3) {
                0 if at < chars.len() => drop(chars.remove(at)),
                1 => chars.splice(at..at, odd[random.below(odd.len())].chars()).for_each(drop),
                _ => chars.truncate(at.max(chars.len() / 2)),
            }
        }
        survive(&chars.into_iter().collect::<String>());
    }
}

#[test]
fn random_tokens_in_any_order() {
    let mut random = Random(2);
    let mut words: Vec<&str> = token::Kind::ALL.iter().map(|kind| kind.text()).collect();
    words.extend(["x", "\"a\"", "3", "-4", "Foo", "\n", "resource R {", "test \"t\" {", "p(x) if"]);
    for _ in 0..1_000 {
        let text: Vec<&str> = (0..random.below(40)).map(|_| words[random.below(words.len())]).collect();
        survive(&text.join(" "));
    }
}

#[test]
fn random_deletions_and_swaps_of_tokens() {
    let mut random = Random(3);
    for _ in 0..1_000 {
        let sample = SAMPLES[random.below(SAMPLES.len())];
        let (tokens, _) = lexer::lex(sample);
        let mut words: Vec<&str> = tokens.spans.iter().filter_map(|span| sample.get(span.range())).collect();
        for _ in 0..=random.below(3) {
            if words.len() < 2 {
                break;
            }
            let (at, other) = (random.below(words.len()), random.below(words.len()));
            if random.below(2) == 0 {
                words.remove(at);
            } else {
                words.swap(at, other);
            }
        }
        survive(&words.join(" "));
    }
}

#[test]
fn large_and_deep_texts_are_answered_quickly() {
    let time = ThreadTime::start();
    for text in [
        "a".repeat(10_000_000),
        "(".repeat(100_000),
        "p(x) if ".to_owned() + &"(".repeat(100_000),
        "p(x) if ".to_owned() + &"not ".repeat(100_000),
        "p(x) if ".to_owned() + &"(not ".repeat(100_000),
        "{".repeat(200_000),
        "}".repeat(50_000),
        "resource R {".repeat(50_000),
        "test \"t\" { setup {".repeat(30_000),
        "p(x) if x in ".to_owned() + &"[".repeat(100_000),
        "p(U{".repeat(100_000),
        "$ ".repeat(50_000),
        "'".repeat(50_000),
        "\"".repeat(500_000),
        "p(".repeat(200_000),
        "p(x) if q(x".repeat(20_000),
        "\0".repeat(900_000),
        "resource R { roles = [".to_owned() + &"a,".repeat(30_000),
        "resource R { relations = {".to_owned() + &"\"a\"=b,".repeat(20_000),
        "x".repeat(900_000) + "::",
        "p(x)\n".repeat(20_000),
        "resource R {\nroles = 3 \n".repeat(5_000),
    ] {
        survive(&text);
    }
    let taken = time.elapsed();
    assert!(taken < Duration::from_secs(20), "{taken:?}");
}

#[test]
fn wide_conditions_and_lists_are_fine() {
    let or = vec!["q(x)"; 20_000].join(" or ");
    let and = vec!["not q(x)"; 20_000].join(" and ");
    let list = vec!["\"a\""; 20_000].join(", ");
    let text = format!("p(x) if {or};\np(x) if {and};\np(x) if x in [{list}];\n");
    assert_eq!(findings(&text), "");
}

#[test]
fn the_deepest_nesting_needs_little_stack() {
    let text = format!("p(x) if {}q(x){};", "(".repeat(63), ")".repeat(63));
    let chain = format!("resource R {{ \"a\" if {}\"b\"{}; }}", "not (".repeat(31), ")".repeat(31));
    let small = std::thread::Builder::new().stack_size(1 << 20);
    let thread = small.spawn(move || (findings(&text), findings(&chain))).unwrap();
    assert_eq!(thread.join().unwrap(), (String::new(), String::new()));
}

#[test]
fn text_that_is_not_ascii_before_a_mistake_moves_only_its_column() {
    let mistakes = [
        "p($);",
        "p(\"a",
        "p('a');",
        "p(99999999999999999999);",
        "p(1.5);",
        "p(x) if x == 1;",
        "cut(x);",
        "p(@x);",
        "p(x)",
        "p(x y);",
        "p(x;",
        "p(x,);",
        "p(U{1});",
        "p(x) if x;",
        "a::(x);",
        "resource R { roles = 1; }",
    ];
    let prefix = "größe(\"日本🦀\"); ";
    for mistake in mistakes {
        let plain = source(mistake);
        let prefixed = source(&format!("{prefix}{mistake}"));
        let (plain_findings, findings) = (parse(&plain).1, parse(&prefixed).1);
        assert!(!findings.is_empty(), "{mistake}");
        assert_eq!(plain_findings.len(), findings.len(), "{mistake}");
        for (without, with) in plain_findings.iter().zip(&findings) {
            assert_eq!(without.title, with.title);
            assert_eq!(plain.snippet(without.primary.span), prefixed.snippet(with.primary.span));
            let column = plain.locate(without.primary.span).column + prefix.chars().count();
            assert_eq!(prefixed.locate(with.primary.span).column, column, "{mistake}");
        }
    }
}
