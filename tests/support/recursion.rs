//! Random recursion for which there is no linear form: predicates that read their own result several times,
//! alone or through each other, and what depends on them.
//!
//! The rules come together, since random rules seldom lead to each other. Two predicates that recurse through
//! each other may differ in the number and the types of their arguments; heads and calls may have literals.

use super::generate::{Choices, Style};
use super::longhand::literal;
use super::patterns::{pair, said};
use super::vocabulary::{Predicate, Vocabulary};

/// The rules of one or two predicates that recurse, and of a permission that depends on them.
pub fn rules(words: &Vocabulary, style: Style, choices: &mut Choices<'_>) -> Vec<String> {
    let moves = |predicate: &&Predicate| !moving(words, predicate).is_empty();
    let all: Vec<&Predicate> = words.predicates[words.n_stored..].iter().filter(moves).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let one = choices.of(&all);
    let at = choices.of(&moving(words, one));
    let Some(pair) = pair(words, one.types[at]) else { return Vec::new() };
    let moved = Moved { words, style, ty: one.types[at], pair };
    let fellows: Vec<&Predicate> = all
        .iter()
        .copied()
        .filter(|other| other.name != one.name && other.types.contains(&moved.ty))
        .collect();
    let is_alone = fellows.is_empty() || choices.below(3) == 0;
    let other = if is_alone { one } else { choices.of(&fellows) };
    let permission = moved.permission(one, choices);
    let mut rules = vec![moved.exit(one, choices), moved.step(one, [other, one], choices)];
    if !is_alone {
        rules.push(moved.step(other, [one, one], choices));
    }
    if choices.rarely(3) {
        rules.push(moved.step(one, [one, one], choices));
    }
    rules.extend(permission);
    rules
}

/// The arguments of a predicate that a stored pair moves.
fn moving(words: &Vocabulary, predicate: &Predicate) -> Vec<usize> {
    (0..predicate.types.len()).filter(|&at| pair(words, predicate.types[at]).is_some()).collect()
}

/// The type whose values a step leads to others, and the stored pair by which it does.
struct Moved<'w> {
    words: &'w Vocabulary,
    style: Style,
    ty: &'static str,
    pair: &'static str,
}

impl Moved<'_> {
    /// A rule that does not recurse.
    fn exit(&self, predicate: &Predicate, choices: &mut Choices<'_>) -> String {
        let params: Vec<String> =
            predicate.types.iter().enumerate().map(|(at, ty)| format!("x{at}: {ty}")).collect();
        let head = format!("{}({})", predicate.name, params.join(", "));
        let body = said(self.words, &predicate.types, choices);
        if body.is_empty() { format!("{head};") } else { format!("{head} if {};", body.join(" and ")) }
    }

    /// A rule whose body calls two predicates.
    fn step(&self, predicate: &Predicate, calls: [&Predicate; 2], choices: &mut Choices<'_>) -> String {
        let own = predicate.types.iter().position(|ty| *ty == self.ty).unwrap_or_default();
        let mut params = Vec::new();
        let mut terms = Vec::new();
        for (at, ty) in predicate.types.iter().enumerate() {
            if choices.rarely(7) {
                terms.push(literal(ty, choices));
                params.push(terms[at].clone());
            } else {
                terms.push(format!("x{at}"));
                params.push(format!("x{at}: {ty}"));
            }
        }
        let head = format!("{}({})", predicate.name, params.join(", "));
        let x = terms[own].clone();
        let pair = self.pair;
        let gate = choices.of(&["to both", "through", "from both", "to one"]);
        let mut body = match gate {
            "to both" => vec![format!("{pair}({x}, y)"), format!("{pair}({x}, z)")],
            "through" => vec![format!("{pair}({x}, y)"), format!("{pair}(z, {x})")],
            "from both" => vec![format!("{pair}(y, {x})"), format!("{pair}(z, y)")],
            _ => vec![format!("{pair}({x}, y)")],
        };
        let second = if gate == "to one" { &x } else { "z" };
        body.extend(calls.into_iter().zip(["y", second]).map(|(callee, moved)| {
            let args = self.args(callee, moved, (predicate, &terms), choices);
            format!("{}({})", callee.name, args.join(", "))
        }));
        if self.style == Style::Layered && choices.rarely(3) {
            body.extend(self.denial(&x, choices));
        }
        format!("{head} if {};", body.join(" and "))
    }

    /// The arguments of a call: what moved, what the head has, a literal, or anything.
    fn args(
        &self,
        callee: &Predicate,
        moved: &str,
        (head, terms): (&Predicate, &[String]),
        choices: &mut Choices<'_>,
    ) -> Vec<String> {
        let mut is_moved = false;
        let mut args = Vec::new();
        for (at, ty) in callee.types.iter().enumerate() {
            if *ty == self.ty && !is_moved {
                is_moved = true;
                args.push(moved.to_owned());
                continue;
            }
            let same = head.types.iter().position(|of| of == ty).map(|at| terms[at].clone());
            let same = terms.get(at).filter(|_| head.types.get(at) == Some(ty)).cloned().or(same);
            args.push(match (choices.below(6), same) {
                (4, _) => "_".to_owned(),
                (5, _) => literal(ty, choices),
                (3, _) if *ty == self.ty => moved.to_owned(),
                (_, Some(same)) => same,
                (_, None) => "_".to_owned(),
            });
        }
        args
    }

    /// What must not be stored.
    fn denial(&self, x: &str, choices: &mut Choices<'_>) -> Option<String> {
        let stored = self.words.predicates.iter().take(self.words.n_stored);
        let about: Vec<&Predicate> = stored.filter(|stored| stored.types.contains(&self.ty)).collect();
        let stored = (!about.is_empty()).then(|| choices.of(&about))?;
        let var = choices.of(&["y", x]);
        let first = stored.types.iter().position(|ty| *ty == self.ty);
        let args: Vec<&str> =
            (0..stored.types.len()).map(|at| if Some(at) == first { var } else { "_" }).collect();
        Some(format!("not {}({})", stored.name, args.join(", ")))
    }

    /// A permission for those that the recursion finds, or for those that it does not.
    fn permission(&self, predicate: &Predicate, choices: &mut Choices<'_>) -> Option<String> {
        let block = self.words.block(self.ty)?;
        if block.permissions.is_empty() || block.parent.is_some() {
            return None;
        }
        let permission = choices.of(&block.permissions);
        let role = choices.of(&block.roles);
        let mut call = |moved: &str| {
            let mut is_moved = false;
            let args: Vec<String> = predicate
                .types
                .iter()
                .map(|ty| match *ty {
                    "User" => "actor".to_owned(),
                    ty if ty == self.ty && !is_moved => {
                        is_moved = true;
                        moved.to_owned()
                    }
                    ty if choices.rarely(3) => literal(ty, choices),
                    _ => "_".to_owned(),
                })
                .collect();
            format!("{}({})", predicate.name, args.join(", "))
        };
        let (here, there) = (call("resource"), call("there"));
        let pair = self.pair;
        let held = format!("has_role(actor, {role:?}, resource)");
        let body = match choices.below(6) {
            3 => format!("{pair}(resource, there) and {there}"),
            4 if self.style == Style::Layered => format!("{held} and not {here}"),
            5 if self.style == Style::Layered => {
                format!("{held} and not ({pair}(resource, there) and {there})")
            }
            _ => here,
        };
        Some(format!("has_permission(actor: User, {permission:?}, resource: {}) if {body};", self.ty))
    }
}
