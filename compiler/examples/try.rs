//! x
#![allow(missing_docs, unused, clippy::all, clippy::pedantic)]
use portcullis_compiler::{catalog::*, question::*, source::SourceMap, *};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let c = check(&SourceMap::new("p", std::fs::read_to_string(&a[1]).unwrap()));
    for d in &c.diagnostics {
        eprintln!("{:?} {}", d.code, d.title);
    }
    let p = c.program.unwrap();
    let rels = a[2]
        .split(';')
        .enumerate()
        .map(|(k, s)| {
            let (n, t) = s.trim().split_once('(').unwrap();
            let args = t
                .trim_end_matches(')')
                .split(',')
                .enumerate()
                .map(|(i, t)| RelationArg::Column { ty: t.trim().into(), column: format!("a{i}") })
                .collect();
            let name = format!("{n}_{}", t.trim_end_matches(')').replace(',', "_").to_lowercase());
            let source = if a.len() > 4 {
                RelationSource::Context { slot: k }
            } else {
                RelationSource::Table { name }
            };
            Relation { predicate: n.into(), args, source }
        })
        .collect();
    let cat = Catalog { relations: rels };
    let (n, t) = a[3].split_once('(').unwrap();
    let vars = t
        .trim_end_matches(')')
        .split(',')
        .enumerate()
        .map(|(i, s)| {
            let (ty, v) = s.trim().split_once(':').unwrap();
            if v == "?" {
                QuestionVar::wanted(&format!("v{i}"), if ty == "*" { None } else { Some(ty) })
            } else {
                QuestionVar::given(&format!("v{i}"), ty, v)
            }
        })
        .collect();
    let q = Question::atom(n, vars);
    let e = explain(&p, &cat, &Shape::of(&p, &q), Dialect::Sqlite);
    match e {
        Ok(e) => println!(
            "{}\n-- collapsed\n{}\n-- strata\n{}\n-- plan\n{}\n-- sql\n{}",
            e.specialised, e.collapsed, e.strata, e.plan, e.sql
        ),
        Err(e) => println!("ERR {e}"),
    }
}
