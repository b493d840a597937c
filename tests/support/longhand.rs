//! Random rules in full: heads with repeated variables, literals and open variables, and bodies with joins,
//! negation, comparisons, lists and types.

use super::generate::{Choices, Style, id_of};
use super::vocabulary::{Block, Vocabulary};
use std::collections::BTreeSet;

/// Rules that random choices would seldom make: recursion of every kind, and what leads from it to the
/// entry point. Those of the first list fit the levels.
const LAYERED: &[&str] = &[
    "d1(x: Doc, y: Doc) if f2(x, y);",
    "d1(x: Doc, z: Doc) if d1(x, y) and d1(y, z);",
    "d1(x: Doc, z: Doc) if f2(x, y) and d1(y, z);",
    "d1(x: Doc, z: Doc) if d1(x, y) and f2(y, z);",
    "d1(x: Doc, y: Doc) if f2(p, x) and d1(p, q) and f2(q, y);",
    "d1(x: Doc, x: Doc);",
    "d1(_: Doc, y: Doc) if f0(y);",
    "d0(x: Doc) if f0(x);",
    "d0(x: Doc) if f2(x, y) and d0(y);",
    "d0(x: Doc) if f2(x, y) and f2(z, x) and d0(y) and d0(z);",
    "d2(u: User, x: Doc) if f3(u, x);",
    "d2(u: User, x: Doc) if d2(u, y) and d1(y, x);",
    "d2(u: User, x: Doc) if d2(v, x) and f7(v, y) and d2(u, y);",
    "d2(_: User, x: Doc) if d0(x);",
    "d2(u: User, _: Doc) if f1(u);",
    "d3(o: Org) if f5(o);",
    "d3(o: Org) if has_relation(o, \"parent\", p) and d3(p);",
    "d4(u: User, o: Org) if has_relation(o, \"owner\", u);",
    "d4(u: User, o: Org) if has_relation(p, \"parent\", o) and d4(u, p) and not d3(o);",
    "has_permission(u: User, \"p0\", x: Doc) if d2(u, x);",
    "has_permission(_: User, \"p1\", x: Doc) if d0(x) and not f6(x);",
    "has_permission(u: User, \"p1\", o: Org) if d4(u, o);",
    "has_permission(u: User, \"p2\", x: Doc) if d2(u, x) and not (f2(x, y) and d2(u, y));",
    "has_role(u: User, \"r1\", x: Doc) if d2(u, x) and not has_role(u, \"r0\", x);",
    "d0(x: Doc) if f0(x) and not x = Doc{\"a\"};",
    "d0(x: Doc) if f4(x, i) and f4(x, j) and i > j;",
    "d0(x: Doc) if f4(x, i) and i < @current_unix_time;",
    "d0(x: Doc) if f9(x, true) and not f9(x, false);",
    "d1(x: Doc, y: Doc) if f9(x, b) and f9(y, b);",
    "d2(u: Actor, x: Resource) if f3(u, x);",
    "d2(u: User, x: Doc) if f3(u, x) and not (f2(x, y) and not f3(u, y));",
    "d3(o: Org) if f5(o) and not (has_relation(o, \"parent\", p) and has_relation(p, \"parent\", q) and f5(q));",
    "d4(u: User, o: Org) if has_relation(o, \"owner\", u) or f1(u) and f5(o);",
    "d5(x: Doc, i: Integer) if f4(x, i);",
    "d5(x: Doc, i: Integer) if f4(x, i) and d5(x, j) and j < i;",
    "d5(x: Doc, i: Integer) if f4(y, i) and d1(x, y) and not i in [1, 2];",
    "d6(u: User, s: String) if f8(u, s);",
    "d7() if f1(_);",
    "declare f3(Group, Doc);",
    "has_role(u: User, \"r0\", x: Doc) if d6(u, \"r0\") and f3(u, x);",
    "has_permission(u: User, s, x: Doc) if f8(u, s) and f3(u, x);",
    "has_permission(u: User, \"p1\", x: Doc) if d7() and f3(u, x);",
    "has_permission(_: User, \"p0\", o: Org) if f5(o) and not d7();",
    "has_permission(u: User, \"p2\", x: Doc) if has_role(u, \"g0\") and not f6(x);",
    "has_permission(u: User, \"q0\") if f1(u);",
    "allow(u: User, s: String, x: Doc) if has_permission(u, s, x) and not f6(x);",
];

/// These do not: they are for policies without negation.
const TANGLED: &[&str] = &[
    "has_role(u: User, s: String, x: Doc) if has_relation(x, \"team\", g) and has_role(g, s, x);",
    "has_role(g: Group, s: String, x: Doc) if has_relation(g, \"parent\", h) and has_role(h, s, x);",
    "has_role(u: User, s: String, x: Doc) if has_role(u, \"r0\", g) and g matches Group and has_role(g, s, x);",
    "has_role(u: User, s: String, x: Doc) if has_relation(x, \"parent\", y) and has_role(u, s, y);",
    "has_relation(x: Doc, \"parent\", z: Doc) if has_relation(x, \"parent\", y) and has_relation(y, \"parent\", z);",
    "has_relation(x: Doc, \"parent\", y: Doc) if d1(x, y);",
    "d1(x: Doc, y: Doc) if has_relation(x, \"parent\", y) and d2(_, x);",
    "d0(x: Doc) if d2(User{\"a\"}, x);",
    "d0(x: Doc) if has_permission(_, \"p0\", x);",
    "d2(u: User, x: Doc) if has_role(u, \"r0\", x);",
    "d2(u: User, x: Doc) if d0(y) and d1(y, x) and f1(u);",
    "has_permission(u: User, p, x: Doc) if has_relation(x, \"owner\", u) and p in [\"p0\", \"p2\"];",
    "has_permission(u: User, _, _: Doc) if has_role(u, \"g0\");",
    "d4(u: User, o: Org) if d2(u, x) and has_relation(x, \"org\", o);",
    "d4(u: User, o: Org) if d3(o) and f1(u);",
    "d3(o: Org) if d4(_, o);",
    "d0(x: Doc) if d5(x, i) and i <= 2;",
    "d5(x: Doc, i: Integer) if d0(x) and f4(y, i) and d1(x, y);",
    "d6(u: User, s: String) if d2(u, x) and has_role(u, s, x);",
    "has_role(u: User, s: String, x: Doc) if d6(u, s) and f3(u, x);",
    "has_role(u: User, \"g0\") if d3(o) and has_role(u, \"r0\", o);",
    "allow(u: Actor, s: String, x: Resource) if has_permission(u, s, x) or d2(u, x) and s = \"p3\";",
];

/// An atom: a predicate and its arguments, each a literal's text or a variable's type.
struct Shape {
    name: &'static str,
    args: Vec<Arg>,
    level: usize,
}

#[derive(Clone)]
enum Arg {
    Of(&'static str),
    Text(String),
}

/// A rule under construction.
struct Rule<'w> {
    words: &'w Vocabulary,
    /// The variables that the head or a positive atom binds, with their types.
    bound: BTreeSet<(String, &'static str)>,
}

/// One rule.
pub fn rule(words: &Vocabulary, style: Style, choices: &mut Choices<'_>) -> String {
    let head = head(words, style, choices);
    let mut rule = Rule { words, bound: BTreeSet::new() };
    let actor = choices.of(&["User", "User", "Actor"]);
    let params: Vec<String> = head.args.iter().map(|arg| rule.param(arg, actor, choices)).collect();
    let mut body = Vec::new();
    while choices.more() && body.len() < 4 {
        let atom = shape(words, style, head.level, choices);
        let args: Vec<String> = atom.args.iter().map(|arg| rule.argument(arg, choices)).collect();
        body.push(format!("{}({})", atom.name, args.join(", ")));
        if choices.rarely(3) {
            body.extend(rule.test(choices));
        }
        if style == Style::Layered && choices.rarely(3) {
            let own = format!("own{}_", body.len());
            body.push(rule.negation(head.level, &own, choices));
        }
        if choices.rarely(8) {
            let either = [(); 2].map(|()| rule.closed(style, head.level, "_", choices));
            body.push(format!("({})", either.join(" or ")));
        }
    }
    let head = format!("{}({})", head.name, params.join(", "));
    if body.is_empty() { format!("{head};") } else { format!("{head} if {};", body.join(" and ")) }
}

/// One of the fixed rules.
pub fn template(style: Style, choices: &mut Choices<'_>) -> &'static str {
    match style {
        Style::Layered => choices.of(LAYERED),
        Style::Tangled => {
            let positive: Vec<&str> = LAYERED.iter().copied().filter(|rule| !rule.contains("not ")).collect();
            choices.of(&[positive.as_slice(), TANGLED].concat())
        }
    }
}

/// What a rule may define. Derived predicates are below roles, roles below permissions.
fn head(words: &Vocabulary, style: Style, choices: &mut Choices<'_>) -> Shape {
    match choices.below(8) {
        0..4 => own(words, words.n_stored + choices.below(words.predicates.len() - words.n_stored)),
        4 => named(words, "has_permission", "p", choices),
        5 => named(words, "has_role", "r", choices),
        6 if style == Style::Tangled => Shape {
            name: "has_role",
            args: vec![Arg::Of("User"), Arg::Of("String"), Arg::Of(words.resource(choices).name)],
            level: 0,
        },
        7 if style == Style::Tangled => match words.edge(choices) {
            Some((from, relation, to)) => Shape {
                name: "has_relation",
                args: vec![Arg::Of(from.name), Arg::Text(format!("{relation:?}")), Arg::Of(to.name)],
                level: 0,
            },
            None => named(words, "has_role", "r", choices),
        },
        _ => named(words, "has_permission", "p", choices),
    }
}

/// An atom that a rule of this level may read.
fn shape(words: &Vocabulary, style: Style, level: usize, choices: &mut Choices<'_>) -> Shape {
    let found = match choices.below(13) {
        0..3 => own(words, choices.below(words.n_stored)),
        3..6 => own(words, words.n_stored + choices.below(words.predicates.len() - words.n_stored)),
        6 | 7 => named(words, "has_role", "r", choices),
        8 => named(words, "has_permission", "p", choices),
        9 if style == Style::Tangled => {
            let actor = choices.of(&["User", "Group"]);
            let on = words.resource(choices).name;
            Shape { name: "has_role", args: vec![Arg::Of(actor), Arg::Of("String"), Arg::Of(on)], level: 0 }
        }
        12 => Shape { name: "has_role", args: vec![Arg::Of("User"), Arg::Text("\"g0\"".into())], level: 0 },
        _ => {
            let related: Vec<&Block> =
                words.blocks.iter().filter(|block| !block.relations.is_empty()).collect();
            let block = choices.of(&related);
            let (relation, ty) = choices.of(&block.relations);
            let to = if ty == "Actor" { "User" } else { ty };
            let args = vec![Arg::Of(block.name), Arg::Text(format!("{relation:?}")), Arg::Of(to)];
            Shape { name: "has_relation", args, level: 0 }
        }
    };
    if style == Style::Layered && found.level > level {
        own(words, choices.below(words.n_stored))
    } else {
        found
    }
}

fn own(words: &Vocabulary, number: usize) -> Shape {
    let predicate = &words.predicates[number];
    Shape {
        name: predicate.name,
        args: predicate.types.iter().map(|ty| Arg::Of(ty)).collect(),
        level: number.saturating_sub(words.n_stored - 1),
    }
}

/// A role or a permission by name on a resource.
fn named(words: &Vocabulary, name: &'static str, kind: &str, choices: &mut Choices<'_>) -> Shape {
    let actor = choices.of(&["User", "User", "User", "Group"]);
    let on = words.resource(choices);
    let names = if kind == "p" { &on.permissions } else { &on.roles };
    let number = choices.below(names.len().min(2));
    let args = vec![Arg::Of(actor), Arg::Text(format!("{:?}", names[number])), Arg::Of(on.name)];
    Shape { name, args, level: 10 + number + if kind == "p" { 10 } else { 0 } }
}

impl Rule<'_> {
    /// A parameter: a typed variable, a variable for the second time, an open one, or a literal.
    fn param(&mut self, arg: &Arg, actor: &str, choices: &mut Choices<'_>) -> String {
        let ty = match arg {
            Arg::Text(text) => return text.clone(),
            Arg::Of(ty) => *ty,
        };
        match choices.below(8) {
            6 => format!("_: {ty}"),
            7 => literal(ty, choices),
            _ => {
                let name = variable(ty, choices);
                let is_new = self.bound.insert((name.clone(), ty));
                let written = match ty {
                    "User" => actor,
                    resource if self.is_resource(resource) => {
                        choices.of(&[resource, resource, resource, resource, "Resource"])
                    }
                    other => other,
                };
                if is_new { format!("{name}: {written}") } else { name }
            }
        }
    }

    /// An argument of a positive atom, which binds its variable.
    fn argument(&mut self, arg: &Arg, choices: &mut Choices<'_>) -> String {
        let ty = match arg {
            Arg::Text(text) => return text.clone(),
            Arg::Of(ty) => *ty,
        };
        match choices.below(10) {
            8 => "_".to_owned(),
            9 => literal(ty, choices),
            _ => {
                let name = self.variable(ty, choices);
                self.bound.insert((name.clone(), ty));
                name
            }
        }
    }

    /// A variable that is bound already, or another.
    fn variable(&self, ty: &'static str, choices: &mut Choices<'_>) -> String {
        let fitting = self.bound.iter().filter(|(_, bound)| *bound == ty);
        let fitting: Vec<&String> = fitting.map(|(name, _)| name).collect();
        if fitting.is_empty() || choices.rarely(3) {
            variable(ty, choices)
        } else {
            choices.of(&fitting).clone()
        }
    }

    fn is_resource(&self, ty: &str) -> bool {
        self.words.resources().any(|block| block.name == ty && block.parent.is_none())
    }

    /// A type that extends this one.
    fn extending(&self, ty: &str) -> Option<&'static str> {
        let other = self.words.blocks.iter().find(|block| block.parent == Some(ty));
        other.map(|block| block.name)
    }

    /// A test of a bound variable.
    fn test(&self, choices: &mut Choices<'_>) -> Option<String> {
        let bound: Vec<&(String, &str)> = self.bound.iter().collect();
        if bound.is_empty() {
            return None;
        }
        let (name, ty) = choices.of(&bound);
        let value = literal(ty, choices);
        let order = |choices: &mut Choices<'_>| choices.of(&["<", "<=", ">", ">="]);
        Some(match (choices.below(9), *ty) {
            (0 | 8, "Integer") => format!("{name} {} {value}", order(choices)),
            (6, "Integer") => {
                let others = bound.iter().filter(|(_, ty)| *ty == "Integer").map(|(name, _)| name.as_str());
                let others: Vec<&str> = others.chain(["@current_unix_time"]).collect();
                format!("{name} {} {}", order(choices), choices.of(&others))
            }
            (1, _) => format!("{name} = {value}"),
            (2, _) => format!("{name} in [{value}, {}]", literal(ty, choices)),
            (3, resource) if self.is_resource(resource) => {
                format!("{name} {} {resource}", choices.of(&["matches", "matches!"]))
            }
            (4, resource) if self.extending(resource).is_some() => {
                format!("{name} matches {}", self.extending(resource).unwrap_or_default())
            }
            (5, _) => {
                let (other, _) = choices.of(&bound);
                format!("{name} {} {other}", choices.of(&["!=", "="]))
            }
            (6, _) => format!("not {name} = {value}"),
            (7, _) => format!("not {name} in [{value}, {}]", literal(ty, choices)),
            _ => format!("{name} != {value}"),
        })
    }

    /// An atom that binds nothing: over bound variables, literals and `own`, which is a variable that nothing
    /// else binds.
    fn closed(&self, style: Style, level: usize, own: &str, choices: &mut Choices<'_>) -> String {
        let lower = shape(self.words, style, level, choices);
        let arg = |arg: &Arg, choices: &mut Choices<'_>| match arg {
            Arg::Text(text) => text.clone(),
            Arg::Of(ty) => {
                let fitting =
                    self.bound.iter().filter(|(_, bound)| bound == ty).map(|(name, _)| name.as_str());
                let fitting: Vec<&str> = fitting.collect();
                let own = if own == "_" { own.to_owned() } else { format!("{own}{}", initial(ty)) };
                match choices.below(5) {
                    4 => literal(ty, choices),
                    3 => own,
                    _ if fitting.is_empty() => own,
                    _ => choices.of(&fitting).to_owned(),
                }
            }
        };
        let args: Vec<String> = lower.args.iter().map(|each| arg(each, choices)).collect();
        format!("{}({})", lower.name, args.join(", "))
    }

    /// A negation of something lower, over bound variables and, rarely, ones of its own: their names begin
    /// with `own`.
    fn negation(&self, level: usize, own: &str, choices: &mut Choices<'_>) -> String {
        let atom = |own: &str, choices: &mut Choices<'_>| {
            self.closed(Style::Layered, level.saturating_sub(1), own, choices)
        };
        match choices.below(7) {
            3 => format!("not ({} and {})", atom("_", choices), atom("_", choices)),
            4 => format!("not ({} or {})", atom("_", choices), atom("_", choices)),
            5 => format!("not ({} and {})", atom(own, choices), atom(own, choices)),
            6 => format!("not ({} and not {})", atom(own, choices), atom(own, choices)),
            _ => format!("not {}", atom("_", choices)),
        }
    }
}

fn initial(ty: &str) -> char {
    ty.chars().next().unwrap().to_ascii_lowercase()
}

/// Types of resources may differ in their last letter only.
fn variable(ty: &str, choices: &mut Choices<'_>) -> String {
    let number = ty.strip_prefix('R').filter(|number| number.len() == 1).unwrap_or_default();
    let n = if number.is_empty() { 3 } else { 2 };
    format!("{}{number}{}", initial(ty), ["0", "1", "2"][choices.below(n)])
}

/// A literal of a type.
pub fn literal(ty: &str, choices: &mut Choices<'_>) -> String {
    match ty {
        "Integer" => choices.of(&["2", "1", "10", "0", "-3", "9223372036854775807"]).to_owned(),
        "String" => choices.of(&["\"r0\"", "\"r1\"", "\"r2\"", "\"p0\""]).to_owned(),
        "Boolean" => choices.of(&["true", "false"]).to_owned(),
        ty => format!("{ty}{{\"{}\"}}", id_of(ty, choices)),
    }
}
