//! temporary
use crate::catalog::*;
use crate::ir::*;
use crate::question::*;
use crate::source::*;
pub(crate) fn program(text: &str) -> Program {
    let mut types: Vec<TypeDef> = ["String", "Integer", "Boolean", "Actor", "Resource", ""]
        .iter()
        .enumerate()
        .map(|(i, n)| TypeDef {
            name: n.to_string(),
            kind: TypeKind::Primitive,
            admits: vec![TypeId(i as u32)],
        })
        .collect();
    let mut predicates = indexmap::IndexSet::new();
    let mut constants = indexmap::IndexSet::new();
    let mut rules = vec![];
    let mut ty = |n: &str| -> TypeId {
        if let Some(p) = types.iter().position(|t| t.name == n) {
            TypeId(p as u32)
        } else {
            let id = TypeId(types.len() as u32);
            types.push(TypeDef { name: n.into(), kind: TypeKind::Plain, admits: vec![id] });
            id
        }
    };
    for (ln, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let (h, b) = line.split_once(":-").map(|(a, b)| (a.trim(), b.trim())).unwrap_or((line, ""));
        let mut vars: Vec<Variable> = vec![];
        let mut term = |s: &str,
                        vars: &mut Vec<Variable>,
                        constants: &mut indexmap::IndexSet<Constant>|
         -> Term {
            let s = s.trim();
            if s.starts_with('"') {
                return Term::Const(ConstId(
                    constants.insert_full(Constant { ty: TypeId::STRING, text: s.trim_matches('"').into() }).0
                        as u32,
                ));
            }
            if s.parse::<i64>().is_ok() {
                return Term::Const(ConstId(
                    constants.insert_full(Constant { ty: TypeId::INTEGER, text: s.into() }).0 as u32,
                ));
            }
            let (n, t) = s.split_once(':').map(|(a, b)| (a, Some(b))).unwrap_or((s, None));
            let t = t.map(|t| VarType::OneOf(t.split('|').map(|x| ty(x)).collect())).unwrap_or(VarType::Any);
            if n != "_"
                && let Some(i) = vars.iter().position(|v| v.name == n)
            {
                return Term::Var(VarId(i as u32));
            }
            vars.push(Variable { name: n.into(), ty: t });
            Term::Var(VarId(vars.len() as u32 - 1))
        };
        let mut atom = |s: &str, vars: &mut Vec<Variable>, constants: &mut indexmap::IndexSet<Constant>| {
            let (n, a) = s.trim().split_once('(').unwrap();
            let a = a.trim_end_matches(')');
            let args: Vec<Term> = if a.trim().is_empty() {
                vec![]
            } else {
                a.split(',').map(|x| term(x, vars, constants)).collect()
            };
            let p = PredId(
                predicates.insert_full(Predicate { name: n.trim().into(), arity: args.len() }).0 as u32,
            );
            (p, args)
        };
        let (head, params) = atom(h, &mut vars, &mut constants);
        let mut body = vec![];
        for lit in b.split(';').map(str::trim).filter(|x| !x.is_empty()) {
            let kind = if let Some(n) = lit.strip_prefix("not ") {
                let (pred, args) = atom(n, &mut vars, &mut constants);
                LiteralKind::Atom { polarity: Polarity::Negated, pred, args }
            } else {
                let (pred, args) = atom(lit, &mut vars, &mut constants);
                LiteralKind::Atom { polarity: Polarity::Positive, pred, args }
            };
            body.push(Literal { kind, span: Span::default() });
        }
        rules.push(Rule { head, params, vars, body, span: Span::new(ln, ln) });
    }
    Program {
        source: SourceMap::new("x", text),
        types,
        predicates,
        rules,
        constants,
        signatures: vec![],
        blocks: vec![],
        tests: vec![],
    }
}
pub(crate) fn catalog(sigs: &[(&str, &[&str])]) -> Catalog {
    Catalog {
        relations: sigs
            .iter()
            .enumerate()
            .map(|(i, (p, a))| Relation {
                predicate: p.to_string(),
                args: a
                    .iter()
                    .enumerate()
                    .map(|(k, t)| RelationArg::Column { ty: t.to_string(), column: format!("a{k}") })
                    .collect(),
                source: RelationSource::Table { name: format!("f{i}_{p}") },
            })
            .collect(),
    }
}
#[test]
fn show() {
    let p = program(
        r#"
has_role(a:User|Group,"reader",r:Repo) :- has_role(a,"maintainer",r)
has_role(a:User|Group,"maintainer",r:Repo) :- has_role(a,"admin",r)
has_role(a:User|Group,"reader",r:Org) :- has_role(a,"maintainer",r)
has_role(a:User|Group,"maintainer",r:Org) :- has_role(a,"admin",r)
has_role(a:User|Group,"reader",r:Folder) :- has_role(a,"maintainer",r)
has_role(a:User|Group,"maintainer",r:Folder) :- has_role(a,"admin",r)
has_role(a:User|Group,"reader",r:Repo) :- has_relation(r,"org",o:Org); has_role(a,"reader",o)
has_role(a:User|Group,"maintainer",r:Repo) :- has_relation(r,"org",o:Org); has_role(a,"maintainer",o)
has_role(a:User|Group,"admin",r:Repo) :- has_relation(r,"org",o:Org); has_role(a,"admin",o)
has_role(a:User|Group,"reader",r:Repo) :- has_relation(r,"folder",o:Folder); has_role(a,"reader",o)
has_role(a:User|Group,"maintainer",r:Repo) :- has_relation(r,"folder",o:Folder); has_role(a,"maintainer",o)
has_role(a:User|Group,"admin",r:Repo) :- has_relation(r,"folder",o:Folder); has_role(a,"admin",o)
has_role(a:User|Group,"reader",r:Folder) :- has_relation(r,"parent",o:Folder); has_role(a,"reader",o)
has_role(a:User|Group,"maintainer",r:Folder) :- has_relation(r,"parent",o:Folder); has_role(a,"maintainer",o)
has_role(a:User|Group,"admin",r:Folder) :- has_relation(r,"parent",o:Folder); has_role(a,"admin",o)
has_role(a:User|Group,x:String,r:Repo|Folder|Org) :- has_relation(g:Group,"member",a); has_role(g,x,r)
has_permission(a:User|Group,"read",r:Repo) :- has_role(a,"reader",r)
has_permission(a:User|Group,"read",r:Repo) :- is_public(r)
has_permission(a:User|Group,"write",r:Repo) :- has_role(a,"maintainer",r)
has_permission(a:User|Group,"read",i:Issue) :- has_relation(i,"repo",r:Repo); has_permission(a,"read",r); not banned(a,r)
has_permission(a:User|Group,"close",i:Issue) :- has_relation(i,"repo",r:Repo); has_permission(a,"write",r); not banned(a,r)
has_permission(a:User|Group,"read",i:Issue) :- superadmin(a)
allow(a,x:String,r) :- has_permission(a,x,r)
"#,
    );
    let c = catalog(&[
        ("has_role", &["User", "String", "Repo"]),
        ("has_role", &["Group", "String", "Repo"]),
        ("has_role", &["User", "String", "Org"]),
        ("has_role", &["User", "String", "Folder"]),
        ("has_role", &["Group", "String", "Folder"]),
        ("has_relation", &["Repo", "String", "Org"]),
        ("has_relation", &["Repo", "String", "Folder"]),
        ("has_relation", &["Folder", "String", "Folder"]),
        ("has_relation", &["Issue", "String", "Repo"]),
        ("has_relation", &["Group", "String", "User"]),
        ("has_relation", &["Group", "String", "Group"]),
        ("is_public", &["Repo"]),
        ("banned", &["User", "Repo"]),
        ("superadmin", &["User"]),
    ]);
    let q = |a: QuestionVar, x: QuestionVar, r: QuestionVar| Question::atom("allow", vec![a, x, r]);
    for (n, q) in [
        (
            "check",
            q(
                QuestionVar::given("actor", "User", "alice"),
                QuestionVar::given("action", "String", "read"),
                QuestionVar::given("resource", "Issue", "1"),
            ),
        ),
        (
            "list",
            q(
                QuestionVar::given("actor", "User", "alice"),
                QuestionVar::given("action", "String", "read"),
                QuestionVar::wanted("resource", Some("Issue")),
            ),
        ),
        (
            "actions",
            q(
                QuestionVar::given("actor", "User", "alice"),
                QuestionVar::wanted("action", Some("String")),
                QuestionVar::given("resource", "Issue", "1"),
            ),
        ),
        (
            "users",
            q(
                QuestionVar::wanted("actor", Some("User")),
                QuestionVar::given("action", "String", "read"),
                QuestionVar::given("resource", "Issue", "1"),
            ),
        ),
    ] {
        let t = std::time::Instant::now();
        let s = crate::compile_text(&p, &c, &q, crate::Dialect::Sqlite, 0);
        let e = t.elapsed();
        match s {
            Ok(s) => eprintln!("=== {n} {e:?}\n{}\n", s.sql),
            Err(e) => eprintln!("=== {n} ERR {e}"),
        }
    }
}
