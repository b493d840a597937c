use super::*;
use crate::diagnostic::render::render_all;

#[test]
fn scratch() {
    let text = std::fs::read_to_string(std::env::var("SCRATCH").unwrap_or_default()).unwrap_or_default();
    let source = SourceMap::new("p.polar", text);
    let (policy, found) = parse(&source);
    println!("{}\n-----\n{}", print(&policy), render_all(&source, &found));
}
