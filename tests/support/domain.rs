//! The active domain: the values over which the oracle grounds a program.
//!
//! In: a program, facts, the values that questions will mention, the clock. Out: every one of those values,
//! the policy's literals, the neighbours of every known Integer, and two *fresh* ids of each concrete type
//! and of one type that the policy does not mention. What holds for a fresh id holds for any id that is not
//! stored: that is how a wildcard is exact here. (Two, not one: `x != y` over unconstrained variables has
//! answers only if two unknown values exist.)

use super::notation::{Cell, Fact, Value};
use portcullis_compiler::ir::{CompareOp, Program, TypeId, VarType};
use std::collections::{BTreeSet, HashMap};

/// A type's name that no policy mentions.
pub const FOREIGN: &str = "Unmentioned";

/// The values, by number.
pub struct ActiveDomain {
    values: Vec<Value>,
    types: Vec<TypeId>,
    n_known: usize,
    numbers: HashMap<Value, usize>,
}

impl ActiveDomain {
    /// All values that matter to these facts and questions.
    pub fn new<'a>(
        program: &Program,
        facts: &[Fact],
        mentioned: impl IntoIterator<Item = &'a Value>,
    ) -> Self {
        let mut known: BTreeSet<Value> = mentioned.into_iter().cloned().collect();
        known.extend(facts.iter().flat_map(|fact| fact.args.iter().cloned()));
        let name = |ty: TypeId| program.types[ty].name.as_str();
        known.extend(program.constants.iter().map(|literal| Value::new(name(literal.ty), &literal.text)));
        known.extend(["true", "false"].map(|text| Value::new("Boolean", text)));
        let integers: Vec<i64> = known.iter().filter_map(Value::integer).collect();
        let neighbours = integers.iter().flat_map(|&known| [known.checked_sub(1), known.checked_add(1)]);
        known.extend(neighbours.flatten().map(|near| Value::new("Integer", &near.to_string())));

        let mut concrete: BTreeSet<&str> = known.iter().map(|value| value.ty.as_str()).collect();
        concrete.extend(program.types.iter().flat_map(|ty| &ty.admits).map(|&ty| name(ty)));
        concrete.insert(FOREIGN);
        let mut fresh = Vec::new();
        for ty in concrete.into_iter().filter(|ty| !ty.is_empty() && *ty != "Boolean") {
            let far = ["-4611686018427387904", "4611686018427387904"];
            let ids = if ty == "Integer" { far } else { ["fresh 1", "fresh 2"] };
            fresh.extend(ids.map(|id| Value::new(ty, id)));
        }
        let n_known = known.len();
        let values: Vec<Value> = known.into_iter().chain(fresh).collect();
        let types =
            values.iter().map(|value| program.type_id(&value.ty).unwrap_or(TypeId::FOREIGN)).collect();
        let numbers = values.iter().cloned().zip(0..).collect();
        Self { values, types, n_known, numbers }
    }

    /// The number of a value.
    pub fn number(&self, value: &Value) -> usize {
        *self.numbers.get(value).unwrap_or_else(|| panic!("the oracle was not told of {value}"))
    }

    /// The value of a number.
    pub fn value(&self, number: usize) -> &Value {
        &self.values[number]
    }

    /// Whether the comparison holds; an order only ever holds of two Integers.
    pub fn compare(&self, op: CompareOp, left: usize, right: usize) -> bool {
        let ordered = self.values[left].integer().zip(self.values[right].integer());
        match op {
            CompareOp::Equal => left == right,
            CompareOp::NotEqual => left != right,
            CompareOp::Less => ordered.is_some_and(|(left, right)| left < right),
            CompareOp::LessOrEqual => ordered.is_some_and(|(left, right)| left <= right),
            CompareOp::Greater => ordered.is_some_and(|(left, right)| left > right),
            CompareOp::GreaterOrEqual => ordered.is_some_and(|(left, right)| left >= right),
        }
    }

    /// The type of a number's value.
    pub fn type_of(&self, number: usize) -> TypeId {
        self.types[number]
    }

    /// All numbers whose value a variable of this type may take.
    pub fn admitted<'a>(&'a self, ty: &'a VarType) -> impl Iterator<Item = usize> + 'a {
        (0..self.values.len()).filter(|&number| self.admits(ty, number))
    }

    /// Whether a variable of this type may take this value.
    pub fn admits(&self, ty: &VarType, number: usize) -> bool {
        match ty {
            VarType::Any => true,
            VarType::OneOf(types) => types.contains(&self.types[number]),
        }
    }

    /// All values of concrete types that a policy may mention.
    pub fn all(&self) -> BTreeSet<Value> {
        self.values.iter().filter(|value| value.ty != FOREIGN).cloned().collect()
    }

    /// All values of these types.
    pub fn all_of(&self, types: &[&str]) -> BTreeSet<Value> {
        self.values.iter().filter(|value| types.contains(&value.ty.as_str())).cloned().collect()
    }

    /// The value as a cell of an answer: a fresh one means any.
    pub fn cell(&self, number: usize) -> Cell {
        match &self.values[number] {
            value if number < self.n_known => Cell::Value(value.clone()),
            fresh if fresh.ty == FOREIGN => Cell::Any,
            fresh => Cell::AnyOf(fresh.ty.clone()),
        }
    }

    /// For each number, whether a cell covers its value.
    pub fn covered(&self, cell: &Cell) -> Vec<bool> {
        self.values.iter().map(|value| cell.covers(&Cell::Value(value.clone()))).collect()
    }

    /// Every tuple of the domain that some row covers.
    pub fn expand(&self, rows: &BTreeSet<Vec<Cell>>) -> BTreeSet<Vec<usize>> {
        let mut all = BTreeSet::new();
        for row in rows {
            let mut tuples = vec![Vec::new()];
            for cell in row {
                let covered = self.covered(cell);
                let covered: Vec<usize> = (0..covered.len()).filter(|number| covered[*number]).collect();
                let longer = |tuple: &Vec<usize>| {
                    covered.iter().map(|&number| [tuple.as_slice(), &[number]].concat()).collect::<Vec<_>>()
                };
                tuples = tuples.iter().flat_map(longer).collect();
            }
            all.extend(tuples);
        }
        all
    }
}
