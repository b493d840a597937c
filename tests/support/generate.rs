//! Random policies, facts and questions.
//!
//! In: bytes that proptest made. Out: a [`Sample`]. Each rule and each fact is decoded from bytes of its own,
//! one choice a byte, and choice 0 is always the simplest; so that fewer and smaller bytes are a smaller
//! policy, and shrinking needs no code. The words come from a [`Vocabulary`]: types of actors and resources
//! (one may extend another), roles, permissions, relations of every kind, a global block, and predicates that
//! are stored (`f0` …) or derived (`d0` …).
//!
//! A policy either has no negation, and then anything may refer to anything; or names are levels: a rule
//! refers to its own level or lower ones, and negates only lower ones. So few policies have a cycle through
//! negation, which would be refused. Its [entry point](super::entry_points) nothing refers to, so it may
//! negate in either.

use super::notation::{Fact, Value};
use super::spelling::Spelling;
use super::vocabulary::{Predicate, Vocabulary};
use super::{cycles, entry_points, longhand, patterns, quotas, recursion, shared_calls, shorthand};
use portcullis_compiler::ir::{Program, Signature, SignatureArg, TypeId};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fmt::Write;

/// A policy, and bytes for its facts.
#[derive(Clone)]
pub struct Sample {
    /// The policy's text.
    pub policy: String,
    /// The same in plain texts.
    pub plain: String,
    /// Its words.
    pub words: Vocabulary,
    /// Chooses the place of each fact, and its tables.
    pub placing: usize,
    /// How ids and names are written.
    pub spelling: Spelling,
    facts: Vec<Vec<u8>>,
}

/// Nothing: a failure prints the sample as a fixture.
impl std::fmt::Debug for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the one above")
    }
}

impl Sample {
    /// Facts that the policy can store.
    pub fn facts(&self, program: &Program) -> Vec<Fact> {
        let usable: Vec<&Signature> = program.signatures.iter().filter(|shape| is_of_use(shape)).collect();
        if usable.is_empty() {
            return Vec::new();
        }
        // Most of what is granted is granted by roles on things; chance alone would state few of them.
        let is_role = |shape: &&&Signature| shape.predicate == "has_role" && shape.args.len() == 3;
        let roles: Vec<&Signature> = usable.iter().filter(is_role).copied().collect();
        let is_group = |shape: &&&Signature| {
            !self.words.is_fixed && (shape.predicate == "f0" || shape.predicate == "has_relation")
        };
        let groups: Vec<&Signature> = usable.iter().filter(is_group).copied().collect();
        let weighted = [usable, roles.repeat(ROLES), groups].concat();
        let fact = |bytes: &Vec<u8>| {
            let mut choices = Choices::new(bytes);
            let shape = choices.of(&weighted);
            let args = shape.args.iter().map(|arg| self.value_of(program, arg, &mut choices)).collect();
            Fact { predicate: shape.predicate.clone(), args }
        };
        self.facts.iter().map(fact).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// What is special about the policy, each with whether it is this one's.
    pub fn kinds(&self) -> [(&'static str, bool); 8] {
        let mut entries = self.plain.lines().filter(|line| line.starts_with("allow("));
        let negates = entries.clone().any(|line| line.contains("not "));
        // Permissions read roles as well.
        let negates_role = entries.clone().any(|line| line.contains("not has_role("));
        let is_long = |predicate: &Predicate| {
            predicate.types.len() >= 4 && self.plain.contains(&format!("{}(", predicate.name))
        };
        let reads_twice = |line: &str| {
            let name = line.split('(').next().unwrap_or_default();
            line.matches(&format!("{name}(")).count() > 2
        };
        [
            ("words of their own", !self.words.is_fixed),
            ("rules that share a call", self.has_shared_calls()),
            ("rules that read their own result twice", self.plain.lines().any(reads_twice)),
            ("quotas", self.plain.lines().any(|line| line.matches("has_relation(x, ").count() == 2)),
            ("an entry point of their own", entries.next().is_some()),
            ("one that negates", negates),
            ("one that negates a role", negates_role),
            ("predicates of four arguments or more", self.words.predicates.iter().any(is_long)),
        ]
    }

    /// Whether two rules of one permission ask for the same other permission or role.
    fn has_shared_calls(&self) -> bool {
        let rules = self.plain.lines().filter_map(|line| line.strip_suffix(';')?.split_once(" if "));
        let mut calls = rules
            .filter(|(head, _)| head.starts_with("has_permission(actor"))
            .flat_map(|(head, body)| body.split(" and ").map(move |goal| (head, goal)))
            .filter(|(_, goal)| goal.starts_with("has_") && goal.ends_with(", resource)"));
        let mut seen = BTreeSet::new();
        !calls.all(|call| seen.insert(call))
    }

    fn value_of(&self, program: &Program, arg: &SignatureArg, choices: &mut Choices<'_>) -> Value {
        let name = |ty: &TypeId| program.types[*ty].name.as_str();
        let ty = match arg {
            // The policy's own text, which has its spelling.
            SignatureArg::Literal(text) => return Value::new("String", text),
            SignatureArg::OneOf(types) => name(&choices.of(types)),
            SignatureArg::Any => {
                let [often, seldom] = [0, 1].map(|at| self.words.blocks[at].name);
                choices.of(&[often, often, "User", seldom, "String", "Integer"])
            }
        };
        self.spelling.value(&match ty {
            "Integer" => Value::new(ty, choices.of(INTEGERS)),
            "String" => Value::new(ty, choices.of(&["r0", "r1", "g0", "p0", "a"])),
            "Boolean" => Value::new(ty, choices.of(&["true", "false"])),
            // Of many types each has fewer ids, so that facts meet.
            ty if !self.words.is_fixed && choices.below(2) == 0 => Value::new(ty, "a"),
            ty => Value::new(ty, id_of(ty, choices)),
        })
    }
}

/// The entry points could be stored too; then nothing else would matter. A fact has an argument.
fn is_of_use(shape: &Signature) -> bool {
    !shape.args.is_empty() && !matches!(shape.predicate.as_str(), "allow" | "has_permission")
}

/// Whether rules may negate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// No negation, and any rule may refer to anything.
    Tangled,
    /// Negation of lower levels.
    Layered,
}

/// How much more often than others a role on something is stated.
const ROLES: usize = 10;

/// Numbers that facts hold; the ends of the range have no neighbour on one side.
const INTEGERS: &[&str] =
    &["1", "2", "10", "2", "1", "0", "-3", "9223372036854775807", "-9223372036854775808"];

/// Bytes as choices.
pub struct Choices<'b> {
    bytes: std::slice::Iter<'b, u8>,
}

impl<'b> Choices<'b> {
    /// Choices from the start of the bytes.
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { bytes: bytes.iter() }
    }

    /// A number below `n`; 0 when the bytes are used up.
    pub fn below(&mut self, n: usize) -> usize {
        self.bytes.next().map_or(0, |&byte| usize::from(byte) % n.max(1))
    }

    /// One of the items.
    pub fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// True in one of `n` cases, and false when the bytes are used up.
    pub fn rarely(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// Whether bytes are left.
    pub fn more(&self) -> bool {
        self.bytes.len() > 0
    }
}

/// Policies with facts.
pub fn samples() -> impl Strategy<Value = Sample> {
    let rule = prop::collection::vec(any::<u8>(), 2..40);
    let fact = prop::collection::vec(any::<u8>(), 12);
    let rules = prop::collection::vec(rule, 3..16);
    let facts = prop::collection::vec(fact, 0..64);
    let words = prop::collection::vec(any::<u8>(), 64);
    let entry = prop::collection::vec(any::<u8>(), 0..40);
    let frame = (any::<bool>(), 0..4_u8, 0..4_u8, words, entry);
    (frame, rules, facts, any::<u16>(), any::<[u8; 4]>()).prop_map(
        |((is_layered, wired, bots, words, entry), rules, facts, placing, spelling)| {
            let style = if is_layered { Style::Layered } else { Style::Tangled };
            let spelling = Spelling::of(spelling);
            let words = Vocabulary::of(&words);
            let frame = Frame { style, is_wired: wired > 0, has_bots: bots == 3, words: &words };
            let plain = frame.policy(&rules, &entry);
            let placing = usize::from(placing);
            Sample { policy: spelling.policy(&plain), plain, words, placing, spelling, facts }
        },
    )
}

/// The blocks around a policy's rules.
struct Frame<'w> {
    style: Style,
    is_wired: bool,
    has_bots: bool,
    words: &'w Vocabulary,
}

impl Frame<'_> {
    fn policy(&self, rules: &[Vec<u8>], entry: &[u8]) -> String {
        let Self { style, words, .. } = *self;
        let mut inside = self.wires();
        let mut choices = Choices::new(entry);
        let mut outside =
            if words.is_fixed { Vec::new() } else { patterns::most(words, style, &mut choices) };
        outside.extend(entry_points::rules(words, &mut choices));
        let mut global = Vec::new();
        for bytes in rules {
            let mut choices = Choices::new(bytes);
            match choices.below(16) {
                0..6 => {
                    let at = words.block_of_rule(&mut choices);
                    inside[at].push(shorthand::rule(words, &words.blocks[at], style, &mut choices));
                }
                6 => {
                    global.push(choices.of(&["\"g0\" if \"g1\";", "\"q0\" if \"g0\";", "\"q0\" if \"g1\";"]));
                }
                7..11 if words.is_fixed => outside.push(longhand::template(style, &mut choices).to_owned()),
                7..11 => outside.push(patterns::rule(words, style, &mut choices)),
                11 => outside.extend(recursion::rules(words, style, &mut choices)),
                12 if choices.below(3) > 0 => outside.extend(quotas::rules(words, &mut choices)),
                12 => outside.extend(cycles::rules(words, &mut choices)),
                13 if choices.below(2) > 0 => outside.extend(shared_calls::rules(words, style, &mut choices)),
                _ => outside.push(longhand::rule(words, style, &mut choices)),
            }
        }
        let mut text = String::from("actor User {}\n");
        if self.has_bots {
            text.push_str("actor Bot extends User {}\n");
        }
        text.push_str("global {\n  roles = [\"g0\", \"g1\"];\n  permissions = [\"q0\"];\n");
        global.iter().for_each(|rule| text.extend(["  ", rule, "\n"]));
        text.push_str("}\n");
        for (block, rules) in words.blocks.iter().zip(&inside) {
            let quoted =
                |names: &[&str]| names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
            let relations: Vec<String> =
                block.relations.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
            let _ = writeln!(text, "{} {{", block.head);
            let _ = writeln!(text, "  roles = [{}];", quoted(&block.roles));
            if !block.permissions.is_empty() {
                let _ = writeln!(text, "  permissions = [{}];", quoted(&block.permissions));
            }
            if !relations.is_empty() {
                let _ = writeln!(text, "  relations = {{ {} }};", relations.join(", "));
            }
            rules.iter().for_each(|rule| text.extend(["  ", rule, "\n"]));
            text.push_str("}\n");
        }
        outside.iter().for_each(|rule| text.extend([rule, "\n"]));
        text
    }

    /// For each block its first rules: most policies let roles lead to permissions, and chance alone seldom
    /// does.
    fn wires(&self) -> Vec<Vec<String>> {
        let wires = |at: usize| -> &[&str] {
            let block = &self.words.blocks[at];
            match (self.is_wired, self.words.is_fixed, at) {
                (false, ..) | (true, true, 2..) => &[],
                (true, true, 0) => &["\"p0\" if \"r0\";", "\"p1\" if \"r1\";", "\"p2\" if \"owner\";"],
                (true, true, 1) => &["\"p0\" if \"r0\";", "\"p1\" if \"r1\";"],
                (true, false, _) if block.permissions.is_empty() || block.parent.is_some() => &[],
                (true, false, _) if block.permissions.len() > 1 && block.roles.len() > 1 => {
                    &["\"p0\" if \"r0\";", "\"p1\" if \"r1\";"]
                }
                (true, false, _) => &["\"p0\" if \"r0\";"],
            }
        };
        let of = |at| wires(at).iter().map(|rule| (*rule).to_owned()).collect();
        (0..self.words.blocks.len()).map(of).collect()
    }
}

/// A known id of a type.
pub fn id_of(ty: &str, choices: &mut Choices<'_>) -> &'static str {
    let ids = Vocabulary::ids(ty);
    choices.of(&ids[..ids.len() - 1])
}
