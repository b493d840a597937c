//! The words of a random policy: its types with their roles, permissions and relations, and its own
//! predicates.
//!
//! Half of the policies have the fixed words, for which there are [fixed rules](super::longhand::template) of
//! every kind of recursion. The others have words of their own: three to five types of resources with any
//! relations between them, and predicates of up to five arguments. All words come from short lists, so that a
//! [`Spelling`](super::spelling::Spelling) knows them.

use super::generate::Choices;

/// A block.
#[derive(Clone, Debug)]
pub struct Block {
    /// The text before its `{`, as `resource Doc`.
    pub head: &'static str,
    /// The name of its type.
    pub name: &'static str,
    /// The block that it extends.
    pub parent: Option<&'static str>,
    /// The roles that it declares.
    pub roles: Vec<&'static str>,
    /// The permissions that it declares.
    pub permissions: Vec<&'static str>,
    /// Name and related type.
    pub relations: Vec<(&'static str, &'static str)>,
}

/// A predicate of the policy's own with its arguments' types.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// Its name.
    pub name: &'static str,
    /// The types of its arguments.
    pub types: Vec<&'static str>,
}

/// All words of a policy.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// The blocks, less the global one and that of `User`.
    pub blocks: Vec<Block>,
    /// Stored predicates first, then derived ones.
    pub predicates: Vec<Predicate>,
    /// How many predicates are stored.
    pub n_stored: usize,
    /// Whether they are the fixed words.
    pub is_fixed: bool,
}

/// Those of the fixed words.
const STORED: &[(&str, &[&str])] = &[
    ("f0", &["Doc"]),
    ("f1", &["User"]),
    ("f2", &["Doc", "Doc"]),
    ("f3", &["User", "Doc"]),
    ("f4", &["Doc", "Integer"]),
    ("f5", &["Org"]),
    ("f6", &["Doc"]),
    ("f7", &["User", "Doc"]),
    ("f8", &["User", "String"]),
    ("f9", &["Doc", "Boolean"]),
    ("f10", &["User", "User"]),
];
const DERIVED: &[(&str, &[&str])] = &[
    ("d0", &["Doc"]),
    ("d1", &["Doc", "Doc"]),
    ("d2", &["User", "Doc"]),
    ("d3", &["Org"]),
    ("d4", &["User", "Org"]),
    ("d5", &["Doc", "Integer"]),
    ("d6", &["User", "String"]),
    ("d7", &[]),
    ("d8", &["User", "User"]),
];

/// The words of random policies.
const RESOURCES: [(&str, &str); 5] = [
    ("R0", "resource R0"),
    ("R1", "resource R1"),
    ("R2", "resource R2"),
    ("R3", "resource R3"),
    ("R4", "resource R4"),
];
const EXTENDING: [(&str, &str); 5] = [
    ("R0", "resource R0"),
    ("R1", "resource R1"),
    ("R2", "resource R2 extends R0"),
    ("R3", "resource R3 extends R0"),
    ("R4", "resource R4 extends R0"),
];
const ROLES: [&str; 3] = ["r0", "r1", "r2"];
const PERMISSIONS: [&str; 3] = ["p0", "p1", "p2"];
const TO_RESOURCES: [&str; 5] = ["in0", "in1", "in2", "in3", "in4"];
const STORED_NAMES: [&str; 9] = ["f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8"];
const DERIVED_NAMES: [&str; 7] = ["d0", "d1", "d2", "d3", "d4", "d5", "d6"];

/// Which arguments the random predicates have: a letter each for a user, a group, three types of resources,
/// and the primitive types. Stored ones first.
const STORED_SHAPES: [&[&str]; 9] = [
    &["ug"],
    &["a", "b"],
    &["ua", "ub"],
    &["aa", "ab", "bb"],
    &["aab", "uab", "gab", "aaa", "abc", "uai", "ubi"],
    &["uabc", "aabb", "uaab", "uabs", "abcs", "aaai"],
    &["uabca", "aabbc", "ugabc", "aaaaa", "uabsi"],
    &["ai", "bi", "as"],
    &["a", "ab", "us", "uu", "uu", "uu"],
];
const DERIVED_SHAPES: [&[&str]; 7] = [
    &["a", "b"],
    &["aa", "bb"],
    &["ua", "ub", "ga"],
    &["ab", "ba", "uab", "aai"],
    &["uab", "aab", "aaa"],
    &["uabc", "aabb", "uaab", "aaaa"],
    &["uaabc", "aaaab", "uabcs", "b", "", "uu", "uu", "uu"],
];

impl Vocabulary {
    /// The words that these bytes choose; without any, the fixed ones.
    pub fn of(bytes: &[u8]) -> Self {
        let mut choices = Choices::new(bytes);
        if choices.below(2) == 0 { Self::fixed() } else { Self::random(&mut choices) }
    }

    fn fixed() -> Self {
        let predicate =
            |(name, types): &(&'static str, &[&'static str])| Predicate { name, types: types.to_vec() };
        let doc = Block {
            head: "resource Doc",
            name: "Doc",
            parent: None,
            roles: ROLES.to_vec(),
            permissions: PERMISSIONS.to_vec(),
            relations: vec![
                ("parent", "Doc"),
                ("org", "Org"),
                ("owner", "User"),
                ("team", "Group"),
                ("any", "Actor"),
            ],
        };
        let org = Block {
            head: "resource Org",
            name: "Org",
            parent: None,
            roles: vec!["r0", "r1"],
            permissions: vec!["p0", "p1"],
            relations: vec![("parent", "Org"), ("owner", "User"), ("group", "Group")],
        };
        let memo = Block {
            head: "resource Memo extends Doc",
            name: "Memo",
            parent: Some("Doc"),
            roles: vec!["r3"],
            permissions: vec!["p3"],
            relations: Vec::new(),
        };
        Self {
            blocks: vec![doc, org, group(vec![("parent", "Group"), ("owner", "User")]), memo],
            predicates: STORED.iter().chain(DERIVED).map(predicate).collect(),
            n_stored: STORED.len(),
            is_fixed: true,
        }
    }

    fn random(choices: &mut Choices<'_>) -> Self {
        let n = 3 + choices.below(3);
        let extends = choices.rarely(4);
        let mut blocks = Vec::new();
        for at in 0..n {
            let is_last = at + 1 == n;
            let (name, head) = if extends && is_last { EXTENDING[at] } else { RESOURCES[at] };
            if extends && is_last {
                let (roles, permissions) = (vec!["r3"], vec!["p3"]);
                let relations = vec![(TO_RESOURCES[1], RESOURCES[1].0)];
                blocks.push(Block { head, name, parent: Some("R0"), roles, permissions, relations });
                continue;
            }
            let mut relations = Vec::new();
            if choices.below(3) == 0 {
                relations.push(("parent", name));
            }
            for (to, relation) in TO_RESOURCES.iter().enumerate().take(n).filter(|(to, _)| *to != at) {
                // Most lead to the next type, as folders to projects and projects to tenants.
                if choices.rarely(if to == at + 1 { 2 } else { 5 }) {
                    relations.push((*relation, RESOURCES[to].0));
                }
            }
            for (relation, ty) in [("owner", "User"), ("team", "Group"), ("any", "Actor")] {
                if choices.rarely(3) {
                    relations.push((relation, ty));
                }
            }
            // Most have two.
            let some = |names: [&'static str; 3], choices: &mut Choices<'_>| {
                names[..=choices.of(&[0, 1, 2, 1])].to_vec()
            };
            let roles = some(ROLES, choices);
            let permissions = some(PERMISSIONS, choices);
            blocks.push(Block { head, name, parent: None, roles, permissions, relations });
        }
        let of_group = if choices.rarely(2) { vec![("parent", "Group")] } else { vec![("member", "User")] };
        blocks.push(group(of_group));
        let [a, b, c] = [(); 3].map(|()| RESOURCES[choices.below(n)].0);
        let ty = |letter: char| match letter {
            'u' => "User",
            'g' => "Group",
            's' => "String",
            'i' => "Integer",
            'a' => a,
            'b' => b,
            _ => c,
        };
        let mut predicates = Vec::new();
        let stored = STORED_NAMES.iter().zip(STORED_SHAPES);
        for (name, shapes) in stored.chain(DERIVED_NAMES.iter().zip(DERIVED_SHAPES)) {
            predicates.push(Predicate { name, types: choices.of(shapes).chars().map(ty).collect() });
        }
        Self { blocks, predicates, n_stored: STORED_NAMES.len(), is_fixed: false }
    }

    /// The block of a type.
    pub fn block(&self, name: &str) -> Option<&Block> {
        self.blocks.iter().find(|block| block.name == name)
    }

    /// The blocks of resources.
    pub fn resources(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(|block| block.head.starts_with("resource"))
    }

    /// A resource that has roles and permissions of its own; some come more often than others.
    pub fn resource(&self, choices: &mut Choices<'_>) -> &Block {
        if self.is_fixed {
            return &self.blocks[choices.of(&[0, 0, 1])];
        }
        let own: Vec<&Block> = self.resources().filter(|block| block.parent.is_none()).collect();
        choices.of(&[&own[..1], &own].concat())
    }

    /// The number of a block for a rule of shorthand.
    pub fn block_of_rule(&self, choices: &mut Choices<'_>) -> usize {
        if self.is_fixed { choices.of(&[0, 0, 0, 1, 1, 2, 3]) } else { choices.below(self.blocks.len()) }
    }

    /// What a block declares, and then what it inherits.
    pub fn all<T: Copy>(&self, block: &Block, of: impl Fn(&Block) -> Vec<T>) -> Vec<T> {
        let inherited = block.parent.and_then(|parent| self.block(parent)).map_or_else(Vec::new, &of);
        [of(block), inherited].concat()
    }

    /// The block's relations to other blocks, inherited ones instead of its own if there are any.
    pub fn related(&self, block: &Block) -> Vec<(&'static str, &Block)> {
        let of = block.parent.and_then(|parent| self.block(parent)).unwrap_or(block);
        of.relations.iter().filter_map(|(name, ty)| Some((*name, self.block(ty)?))).collect()
    }

    /// A relation from one resource to another.
    pub fn edge(&self, choices: &mut Choices<'_>) -> Option<(&Block, &'static str, &Block)> {
        let is_resource = |block: &Block| block.head.starts_with("resource");
        let edges: Vec<(&Block, &'static str, &Block)> = self
            .resources()
            .flat_map(|from| self.related(from).into_iter().map(move |(name, to)| (from, name, to)))
            .filter(|(from, _, to)| from.parent.is_none() && is_resource(to))
            .collect();
        (!edges.is_empty()).then(|| choices.of(&edges))
    }

    /// The known ids of a type; the last is never stored.
    pub fn ids(ty: &str) -> &'static [&'static str] {
        match ty {
            "Doc" => &["a", "b", "c", "zz"],
            "Memo" | "Bot" => &["a", "zz"],
            _ => &["a", "b", "zz"],
        }
    }
}

fn group(relations: Vec<(&'static str, &'static str)>) -> Block {
    Block {
        head: "actor Group",
        name: "Group",
        parent: None,
        roles: vec!["r0"],
        permissions: Vec::new(),
        relations,
    }
}
