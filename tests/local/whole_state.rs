//! Recursion whose rules read their own result twice, over columns of every kind, against a closure that is
//! computed here.

use super::service::{Service, shape};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::caller::{Caller, printed};
use portcullis_testkit::local::ways::Way;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// One relation; one with a column that never changes; two relations that recurse through each other.
const POLICY: &str = r#"
actor User {}
resource Doc {
  permissions = ["read", "open", "share"];
  "read" if good(resource);
  "share" if odd(resource);
}
good(doc: Doc) if base(doc);
good(doc: Doc) if gate(doc, left, right) and good(left) and good(right);
can(user: User, doc: Doc) if grant(user, doc);
can(user: User, doc: Doc) if gate(doc, left, right) and can(user, left) and can(user, right);
has_permission(user: User, "open", doc: Doc) if can(user, doc);
even(doc: Doc) if base(doc);
even(doc: Doc) if gate(doc, left, right) and odd(left) and even(right);
odd(doc: Doc) if gate(doc, left, right) and even(left) and even(right);
"#;

const BASE: &str = "  base(Doc:_):\n    query: SELECT id FROM bases\n";
const GATE: &str = "  gate(Doc:_, Doc:_, Doc:_):\n    query: SELECT id, b, c FROM gates\n";
const GRANT: &str = "  grant(User:_, Doc:_):\n    query: SELECT who, id FROM grants\n";

/// A column type, what the document says of it, and the id of each number.
struct Kind {
    column: &'static str,
    declared: Option<&'static str>,
    id: fn(usize) -> String,
}

const KINDS: [Kind; 8] = [
    Kind { column: "INTEGER", declared: Some("integer"), id: |n| n.to_string() },
    Kind { column: "BIGINT", declared: Some("bigint"), id: |n| (3_000_000_000 + n).to_string() },
    Kind { column: "NUMERIC", declared: Some("numeric"), id: |n| n.to_string() },
    Kind { column: "UUID", declared: Some("uuid"), id: |n| format!("00000000-0000-4000-8000-{n:012}") },
    Kind { column: "VARCHAR(9)", declared: Some("varchar(9)"), id: |n| format!("d{n}") },
    Kind { column: "CHAR(9)", declared: Some("char(9)"), id: |n| format!("d{n}") },
    Kind { column: "TEXT", declared: None, id: |n| format!("d{n}") },
    Kind { column: "INTEGER", declared: None, id: |n| n.to_string() },
];

impl Kind {
    fn service(&self, facts: &str, stored: &str) -> Service {
        let types = self.declared.map_or(String::new(), |ty| format!("sql_types:\n  Doc: {ty}\n"));
        Service::new(POLICY, stored, &format!("facts:\n{facts}{types}"))
    }
}

/// Which of eight documents are good at once, and gates; `None` is a NULL.
#[derive(Default)]
struct Graph {
    bases: Vec<Option<usize>>,
    gates: Vec<[Option<usize>; 3]>,
}

impl Graph {
    fn of(bases: &[usize], gates: &[[usize; 3]]) -> Self {
        let gates = gates.iter().map(|gate| gate.map(Some)).collect();
        Self { bases: bases.iter().copied().map(Some).collect(), gates }
    }

    /// A few bases and gates from a seed.
    fn random(mut seed: usize) -> Self {
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut id = |_| Some(next(9)).filter(|id| *id < 8);
        let bases = (0..3).map(&mut id).collect();
        Self { bases, gates: (0..12).map(|_| [0, 1, 2].map(&mut id)).collect() }
    }

    fn gates(&self) -> Vec<[usize; 3]> {
        self.gates.iter().filter_map(|gate| Some([gate[0]?, gate[1]?, gate[2]?])).collect()
    }

    /// `good`, which is `can` as well, and `odd`.
    fn closure(&self) -> [BTreeSet<usize>; 2] {
        let mut good: BTreeSet<usize> = self.bases.iter().flatten().copied().collect();
        let (mut even, mut odd) = (good.clone(), BTreeSet::new());
        loop {
            let before = good.len() + even.len() + odd.len();
            for [id, left, right] in self.gates() {
                if good.contains(&left) && good.contains(&right) {
                    good.insert(id);
                }
                if odd.contains(&left) && even.contains(&right) {
                    even.insert(id);
                }
                if even.contains(&left) && even.contains(&right) {
                    odd.insert(id);
                }
            }
            if before == good.len() + even.len() + odd.len() {
                return [good, odd];
            }
        }
    }

    fn script(&self, kind: &Kind) -> String {
        let column = kind.column;
        let cell = |id: &Option<usize>| id.map_or("NULL".to_owned(), |id| format!("'{}'", (kind.id)(id)));
        let mut script = format!(
            "DROP TABLE IF EXISTS docs; DROP TABLE IF EXISTS bases; DROP TABLE IF EXISTS gates;
             DROP TABLE IF EXISTS grants;
             CREATE TEMPORARY TABLE docs (id {column});
             CREATE TEMPORARY TABLE bases (id {column});
             CREATE TEMPORARY TABLE gates (id {column}, b {column}, c {column});
             CREATE TEMPORARY TABLE grants (who TEXT, id {column});"
        );
        for id in 0..8 {
            write!(script, "INSERT INTO docs VALUES ({});", cell(&Some(id))).unwrap();
        }
        for id in &self.bases {
            let id = cell(id);
            write!(script, "INSERT INTO bases VALUES ({id}), ({id});").unwrap();
            write!(script, "INSERT INTO grants VALUES ('ada', {id}), ('bob', '{}');", (kind.id)(0)).unwrap();
        }
        for [id, left, right] in &self.gates {
            write!(script, "INSERT INTO gates VALUES ({}, {}, {});", cell(id), cell(left), cell(right))
                .unwrap();
        }
        script
    }

    /// The facts of one predicate, as the store takes them.
    fn facts(&self, kind: &Kind, predicate: &str) -> String {
        let id = |id: usize| format!("Doc:\"{}\"", (kind.id)(id));
        let facts: Vec<String> = if predicate == "base" {
            self.bases.iter().flatten().map(|base| format!("base({})", id(*base))).collect()
        } else {
            self.gates().into_iter().map(|gate| format!("gate({})", gate.map(id).join(", "))).collect()
        };
        facts.join("\n")
    }
}

fn graphs() -> Vec<Graph> {
    let mut graphs = vec![
        Graph::default(),
        Graph::of(&[], &[[1, 1, 1], [2, 1, 1]]),
        Graph::of(&[0], &[[1, 0, 0], [2, 1, 0], [3, 2, 2], [4, 3, 1], [5, 6, 0], [6, 5, 0]]),
        Graph::of(&[0, 7], &[[0, 1, 7], [1, 0, 7], [2, 1, 2], [3, 2, 1], [4, 4, 4], [5, 0, 1]]),
    ];
    graphs.extend((1..4).map(Graph::random));
    graphs
}

/// Compares the filters and checks of all permissions with the closure.
fn agree(service: &Service, caller: &Caller, kind: &Kind, graph: &Graph) {
    let [good, odd] = graph.closure();
    for (permission, expected) in [("read", &good), ("open", &good), ("share", &odd)] {
        let question = format!("allow(User:ada, \"{permission}\", Doc:?)");
        let filter = service.sql_for(caller.dialect(), &question, Way::List, "docs.id");
        let sql = format!("SELECT CAST(id AS TEXT) FROM docs WHERE {filter}");
        let found = printed(caller, &sql).unwrap_or_else(|error| panic!("{error}\n{sql}"));
        let found: BTreeSet<String> = found.concat().into_iter().flatten().collect();
        let ids: BTreeSet<String> = expected.iter().map(|id| (kind.id)(*id)).collect();
        assert_eq!(found, ids, "{}: {sql}", kind.column);
        for id in [0, 2, 5] {
            let question = format!("allow(User:ada, \"{permission}\", Doc:\"{}\")", (kind.id)(id));
            let sql = service.sql_for(caller.dialect(), &question, Way::Authorize, "");
            let answer = printed(caller, &sql).unwrap_or_else(|error| panic!("{error}\n{sql}")).concat();
            let answer = answer.into_iter().flatten().next().unwrap();
            let holds = ["t", "1"].contains(&answer.as_str());
            assert_eq!(holds, expected.contains(&id), "{}, {id}: {sql}", kind.column);
        }
    }
}

#[test]
fn answers_agree_for_columns_of_every_kind() {
    for kind in KINDS {
        let service = kind.service(&[BASE, GATE, GRANT].concat(), "");
        for dialect in DIALECTS {
            let caller = Caller::new(dialect).unwrap();
            for graph in graphs() {
                caller.script(&graph.script(&kind)).unwrap();
                agree(&service, &caller, &kind, &graph);
            }
        }
    }
}

/// A part of the facts is stored, some of them about ids that no column of the type has.
#[test]
fn answers_agree_where_a_part_is_stored() {
    const ODD: &str = "base(Doc:hr)\nbase(Doc:\"007\")\nbase(Doc:99999999999999999999)\n";
    for kind in KINDS {
        for graph in graphs().into_iter().skip(2).step_by(2) {
            let base = graph.facts(&kind, "base");
            let stored = [
                kind.service(&[GATE, GRANT].concat(), &base),
                kind.service(&[GATE, GRANT].concat(), &format!("{ODD}{base}")),
                kind.service(&[BASE, GRANT].concat(), &graph.facts(&kind, "gate")),
            ];
            for dialect in DIALECTS {
                let caller = Caller::new(dialect).unwrap();
                caller.script(&graph.script(&kind)).unwrap();
                stored.iter().for_each(|service| agree(service, &caller, &kind, &graph));
            }
        }
    }
}

/// The steps test the caller's columns as they are, and a check starts from the document that it is about.
#[test]
fn columns_stay_bare() {
    let service = KINDS[0].service(&[BASE, GATE].concat(), "");
    shape("list-whole-state", &service.filter("allow(User:ada, \"read\", Doc:?)", "docs.id"));
    shape("authorize-whole-state", &service.sql("allow(User:ada, \"read\", Doc:7)", Way::Authorize, ""));
}

/// Many gates, and a check reads those that lead to its document.
#[test]
fn a_check_reads_what_it_needs() {
    let service = KINDS[0].service(&[BASE, GATE].concat(), "");
    let caller = Caller::new(Dialect::Postgresql).unwrap();
    caller
        .script(
            "CREATE TEMPORARY TABLE bases (id INTEGER PRIMARY KEY);
             INSERT INTO bases SELECT generate_series(0, 5000);
             CREATE TEMPORARY TABLE gates (id INTEGER PRIMARY KEY, b INTEGER, c INTEGER);
             INSERT INTO gates SELECT n, n / 2, n / 3 FROM generate_series(5001, 50000) AS g(n);
             ANALYZE bases; ANALYZE gates;",
        )
        .unwrap();
    let sql = service.sql("allow(User:ada, \"read\", Doc:40000)", Way::Authorize, "");
    let plan = printed(&caller, &format!("EXPLAIN (COSTS OFF) {sql}")).unwrap();
    let plan: Vec<String> = plan.concat().into_iter().flatten().collect();
    let plan = plan.join("\n");
    assert!(!plan.contains("Seq Scan"), "{sql}\n{plan}");
    let answer = printed(&caller, &sql).unwrap().concat();
    assert_eq!(answer, [Some("t".to_owned())], "{sql}");
}

/// A rule that needs a value twice keeps it as a column of the state.
const TWICE: &str = "
resource Doc {}
resource Tag {}
one(x: Doc, t: Tag, z: Doc) if link(z, y) and one(x, t, y);
two(x: Doc, t: Tag, w: Tag, z: Doc) if link(z, y) and link(z, v) and one(x, t, y) and two(x, t, w, v);
one(x: Doc, t: Tag, z: Doc) if link(z, y) and link(z, v) and two(x, t, t, y) and two(x, t, t, v);
";

/// The declaration contradicts the columns, and no value of the declared type is the id that is asked for.
/// The cast of the columns must not be skipped, because that would be a wrong answer.
#[test]
fn a_mistaken_declaration_is_an_error() {
    let bindings = "
facts:
  one(Doc:_, Tag:_, Doc:_):
    query: SELECT a, b, c FROM ones
  two(Doc:_, Tag:_, Tag:_, Doc:_):
    query: SELECT a, b, c, d FROM twos
  link(Doc:_, Doc:_):
    query: SELECT a, b FROM links
sql_types:
  Doc: integer
";
    let service = Service::new(TWICE, "", bindings);
    let caller = Caller::new(Dialect::Postgresql).unwrap();
    caller
        .script(
            "CREATE TEMPORARY TABLE ones (a TEXT, b TEXT, c TEXT);
             INSERT INTO ones VALUES ('x', 't', 'x');
             CREATE TEMPORARY TABLE twos (a TEXT, b TEXT, c TEXT, d TEXT);
             CREATE TEMPORARY TABLE links (a TEXT, b TEXT);",
        )
        .unwrap();
    for question in ["one(Doc:x, Tag:?, Doc:?)", "one(Doc:x, Tag:?, Doc:x)", "one(Doc:?, Tag:?, Doc:x)"] {
        let sql = service.sql(question, Way::Select, "");
        let refused = printed(&caller, &sql).expect_err(&sql);
        let is_type =
            ["invalid input syntax", "operator does not exist"].iter().any(|why| refused.contains(why));
        assert!(is_type, "{refused}");
    }
}
