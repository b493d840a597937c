//! What the ids of a type look like, which columns hold them, and what the document says of those columns.
//!
//! Applications hold one id in columns of several types, and what they write in `sql_types` is seldom the
//! type of all of them: `integer` over `bigint`, `numeric` over `integer`, `text` over `varchar`. So columns
//! and declarations vary by themselves. A declaration of the columns' own [`Family`] changes no answer; one
//! of another is a mistake, over which the database may refuse the statement, and no more.

use portcullis_compiler::Dialect;

/// The ids of a type, and how they are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The ids.
    pub ids: Ids,
    /// What the document says of them, and which columns there are: numbers that choose among the lists
    /// below.
    declared: usize,
    columns: usize,
}

/// What ids look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// As the page has them.
    Text,
    /// Integers of 16, of 32 and of 64 bits, some at the ends of the range, and longer ones.
    Small,
    Middle,
    Big,
    Huge,
    /// Integers a little beyond 32 bits, and small ones.
    Long,
    /// UUIDs.
    Uuid,
    /// Short texts that differ in their case.
    Words,
}

/// What may be compared without a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Integers,
    Texts,
    Uuids,
}

/// A type of column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// What it is called.
    pub name: &'static str,
    /// The type under a domain of that name.
    pub domain_of: Option<&'static str>,
    /// Whether its literals have no quotes.
    pub is_number: bool,
    /// Whether it consists of the labels that it contains.
    pub is_enum: bool,
}

impl Live {
    /// Whether ids that differ in their case only are one to the column.
    pub fn ignores_case(&self) -> bool {
        self.name.contains("NOCASE") || self.name == "CITEXT"
    }
}

const fn number(name: &'static str) -> Live {
    Live { name, domain_of: None, is_number: true, is_enum: false }
}

const fn quoted(name: &'static str) -> Live {
    Live { name, domain_of: None, is_number: false, is_enum: false }
}

const fn domain(name: &'static str, of: &'static str, is_number: bool) -> Live {
    Live { name, domain_of: Some(of), is_number, is_enum: false }
}

const SMALL: &[Live] = &[
    number("SMALLINT"),
    number("INTEGER"),
    number("BIGINT"),
    number("NUMERIC(20,0)"),
    domain("small_number", "SMALLINT", true),
];
const MIDDLE: &[Live] = &[
    number("INTEGER"),
    number("BIGINT"),
    number("INTEGER"),
    number("NUMERIC"),
    domain("middle_number", "INTEGER", true),
];
const BIG: &[Live] =
    &[number("BIGINT"), number("NUMERIC"), number("NUMERIC(30,0)"), domain("big_number", "BIGINT", true)];
const HUGE: &[Live] = &[number("NUMERIC"), number("NUMERIC(40,0)")];
const UUIDS: &[Live] = &[quoted("UUID"), quoted("UUID"), domain("a_uuid", "UUID", false)];
const TEXTS: &[Live] =
    &[quoted("TEXT"), quoted("VARCHAR(255)"), quoted("VARCHAR"), domain("some_text", "TEXT", false)];
const WORDS: &[Live] = &[
    quoted("CHAR(8)"),
    quoted("CITEXT"),
    Live { name: "words", domain_of: None, is_number: false, is_enum: true },
    quoted("VARCHAR(8)"),
    domain("short_text", "VARCHAR(20)", false),
    quoted("BPCHAR"),
];

/// On SQLite a type is an affinity; without one a value stays what it is.
const NUMBERS_ON_SQLITE: &[Live] =
    &[number("INTEGER"), number("BIGINT"), number("NUMERIC"), number("SMALLINT"), number("")];
const TEXTS_ON_SQLITE: &[Live] =
    &[quoted("TEXT"), quoted("VARCHAR(40)"), quoted(""), quoted("CHAR(40)"), quoted("TEXT COLLATE NOCASE")];
const UUIDS_ON_SQLITE: &[Live] = &[quoted("UUID"), quoted("TEXT"), quoted("CHAR(36)")];

/// What documents say of integers, of texts and of UUIDs. The last of each are of a different family.
const OF_INTEGERS: &[&str] = &[
    "",
    "integer",
    "bigint",
    "smallint",
    "INTEGER",
    "serial",
    "numeric",
    "numeric(20,0)",
    "int",
    "bigserial",
    "decimal",
    "text",
    "uuid",
];
const OF_TEXTS: &[&str] =
    &["", "text", "varchar", "varchar(255)", "VARCHAR(2)", "citext", "char(40)", "bpchar", "integer", "uuid"];
const OF_UUIDS: &[&str] = &["uuid", "", "UUID", "text", "integer"];
/// An enumeration is not a text to the database.
const OF_WORDS: &[&str] = &["", "words", "citext", "text", "char(8)"];
/// How many at the end of a list are of a different family.
const OTHERS: usize = 2;
/// The same for words, some of which are in an enumeration.
const OTHERS_OF_WORDS: usize = 3;
/// One in `MISTAKES` of those is taken: over a mistake the database refuses most statements.
const MISTAKES: usize = 8;

impl Kind {
    /// Ids as they are, of which the document says nothing.
    pub const TEXT: Self = Self { ids: Ids::Text, declared: 0, columns: 0 };

    /// The kind of a number: of its ids, columns and declaration.
    pub fn of(number: usize) -> Self {
        const ALL: [Ids; 10] = [
            Ids::Long,
            Ids::Text,
            Ids::Uuid,
            Ids::Middle,
            Ids::Big,
            Ids::Words,
            Ids::Small,
            Ids::Huge,
            Ids::Long,
            Ids::Text,
        ];
        Self {
            ids: ALL[number % ALL.len()],
            declared: number / ALL.len() % 1_009,
            columns: number / 7 % 1_013,
        }
    }

    /// The kind that a page's document declares by this name.
    pub fn named(name: &str) -> Self {
        let ids = match name.to_lowercase().as_str() {
            "int" | "integer" => Ids::Middle,
            "bigint" => Ids::Big,
            "uuid" => Ids::Uuid,
            _ => Ids::Text,
        };
        Self { ids, declared: 0, columns: 0 }
    }

    /// The same, where a policy names ids: they stay as they are.
    pub fn as_text(self) -> Self {
        Self { ids: Ids::Text, ..self }
    }

    /// What the document says, if anything.
    pub fn declared(self) -> Option<&'static str> {
        let (names, at) = self.declaration();
        Some(names[at]).filter(|name| !name.is_empty())
    }

    /// The declarations that there are, and which is taken.
    fn declaration(self) -> (&'static [&'static str], usize) {
        let names = match (self.ids, self.family()) {
            (Ids::Words, _) => OF_WORDS,
            (_, Family::Integers) => OF_INTEGERS,
            (_, Family::Texts) => OF_TEXTS,
            (_, Family::Uuids) => OF_UUIDS,
        };
        let at = self.declared % names.len();
        let is_mistake = (self.declared / names.len()).is_multiple_of(MISTAKES);
        (names, if is_mistake { at } else { at.min(names.len() - self.n_others() - 1) })
    }

    /// How many declarations at the end of their list are of a different family.
    fn n_others(self) -> usize {
        if self.ids == Ids::Words { OTHERS_OF_WORDS } else { OTHERS }
    }

    /// Whether what the document says is of a different family than the columns, or than one of them; an id
    /// that no integer type holds cannot be kept as one in a table of the statement's.
    pub fn is_contradicted(self) -> bool {
        let (names, at) = self.declaration();
        at >= names.len() - self.n_others() || self.ids == Ids::Huge && self.declared_bits().is_some()
    }

    /// Whether a database would report that it is: SQLite finds no comparison wrong, and keeps long integers
    /// as text.
    pub fn is_mistake_unseen(self, dialect: Dialect) -> bool {
        dialect == Dialect::Sqlite && (self.is_contradicted() || self.ids == Ids::Huge)
    }

    /// Whether the document declares integers of fewer bits than this id has.
    pub fn is_too_narrow(self, id: &str) -> bool {
        let Some(bits) = self.declared_bits() else { return false };
        let bound = 1_i128 << (bits - 1);
        self.family() == Family::Integers && id.parse::<i128>().is_ok_and(|n| n < -bound || n >= bound)
    }

    /// How many bits the declared integers have.
    fn declared_bits(self) -> Option<u32> {
        match self.declared()?.to_lowercase().as_str() {
            "smallint" => Some(16),
            "integer" | "int" | "serial" => Some(32),
            "bigint" | "bigserial" => Some(64),
            _ => None,
        }
    }

    /// What the ids may be compared with.
    pub fn family(self) -> Family {
        match self.ids {
            Ids::Small | Ids::Middle | Ids::Big | Ids::Huge | Ids::Long => Family::Integers,
            Ids::Text | Ids::Words => Family::Texts,
            Ids::Uuid => Family::Uuids,
        }
    }

    /// The type of the column with this number.
    pub fn column(self, dialect: Dialect, number: usize) -> Live {
        let columns = match (dialect, self.ids) {
            (Dialect::Postgresql, Ids::Small) => SMALL,
            (Dialect::Postgresql, Ids::Middle) => MIDDLE,
            (Dialect::Postgresql, Ids::Big | Ids::Long) => BIG,
            (Dialect::Postgresql, Ids::Huge) => HUGE,
            (Dialect::Postgresql, Ids::Uuid) => UUIDS,
            (Dialect::Postgresql, Ids::Text) => TEXTS,
            (Dialect::Postgresql, Ids::Words) => WORDS,
            (Dialect::Sqlite, Ids::Small | Ids::Middle | Ids::Big | Ids::Long) => NUMBERS_ON_SQLITE,
            // What is longer than 64 bits would become a floating point number.
            (Dialect::Sqlite, Ids::Huge | Ids::Text | Ids::Words) => TEXTS_ON_SQLITE,
            (Dialect::Sqlite, Ids::Uuid) => UUIDS_ON_SQLITE,
        };
        columns[(self.columns + number) % columns.len()]
    }

    /// The type of a column that has each id once: one that distinguishes all of them.
    pub fn key_column(self, dialect: Dialect) -> Live {
        let first = self.column(dialect, 0);
        if first.ignores_case() { self.column(dialect, 1) } else { first }
    }

    /// The id of the type's `n`th value; `None` if ids stay as they are.
    pub fn id(self, n: usize) -> Option<String> {
        // Undeclared, `7` is a number to PostgreSQL, which no enumeration has.
        const WORDS: [&str; 8] = ["a", "A", "7x", "07", "b c", "ab", "Ab", "true"];
        let big = i128::try_from(n).unwrap_or(i128::MAX);
        let chosen = |ends: &[i128], others: i128| ends.get(n).copied().unwrap_or(others).to_string();
        let signed = if n.is_multiple_of(2) { -big } else { 7 * big };
        Some(match self.ids {
            Ids::Text => return None,
            // The ends of the ranges are ids too, and none sorts as its text does.
            Ids::Small => chosen(&[32_767, -32_768, 0], signed),
            Ids::Middle => chosen(&[i32::MAX.into(), i32::MIN.into(), 0, 32_768, -32_769], signed),
            Ids::Long => chosen(
                &[3_000_000_000, 5, 2_147_483_648, -2_147_483_649, 0, 1_700_000_000_000],
                if n.is_multiple_of(2) { 3_000_000_000 + big } else { big },
            ),
            Ids::Big => {
                chosen(&[i64::MIN.into(), 7, i64::MAX.into(), 2_147_483_648], 9_007_199_254_740_992 + big)
            }
            Ids::Huge => chosen(
                &[
                    i128::from(i64::MAX) + 1,
                    i128::from(i64::MAX),
                    100_000_000_000_000_000_000_000_000_001,
                    i128::from(i64::MIN) - 1,
                    5,
                    100_000_000_000_000_000_000_000_000_002,
                ],
                9_223_372_036_854_775_900 + big,
            ),
            Ids::Uuid => format!("{:08x}-c0de-4abc-8def-{:012x}", n * 0x1020_3041 % 0xffff_ffff, n),
            Ids::Words => WORDS.get(n).map_or_else(|| format!("w{n}"), |word| (*word).to_owned()),
        })
    }

    /// The `n`th text that is not an id of these columns, although it looks like the one it is made from.
    pub fn look_alike(self, id: &str, n: usize) -> Option<String> {
        let of: Vec<String> = match self.family() {
            Family::Integers => vec![
                format!("0{id}"),
                format!("+{id}"),
                format!("{id}.0"),
                format!(" {id}"),
                format!("{id} "),
                format!("{id}e0"),
            ],
            Family::Uuids => {
                vec![id.to_uppercase(), id.replace('-', ""), format!("{{{id}}}"), format!("{id} ")]
            }
            Family::Texts if self.ids == Ids::Words => {
                vec![format!("{id} "), format!("{id}  "), format!(" {id}")]
            }
            Family::Texts => return None,
        };
        of.get(n % of.len()).filter(|other| *other != id).cloned()
    }

    /// Whether an id is written as the database writes it.
    pub fn is_canonical(self, id: &str) -> bool {
        match self.ids {
            Ids::Text => true,
            Ids::Small => id.parse::<i16>().is_ok_and(|n| n.to_string() == id),
            Ids::Middle => id.parse::<i32>().is_ok_and(|n| n.to_string() == id),
            Ids::Big | Ids::Long => id.parse::<i64>().is_ok_and(|n| n.to_string() == id),
            Ids::Huge => id.parse::<i128>().is_ok_and(|n| n.to_string() == id),
            Ids::Uuid => id.len() == 36 && self.might_be(id) && id.to_lowercase() == id,
            Ids::Words => true,
        }
    }

    /// Whether a text that is not an id here could be one of this kind. In a column of which the document
    /// says nothing, it could also be a literal that PostgreSQL refuses to compare with the column.
    pub fn might_be(self, id: &str) -> bool {
        let is_number = || id.trim().parse::<i128>().is_ok();
        let is_uuid = || id.len() >= 32 && id.chars().all(|c| c.is_ascii_hexdigit() || "{}-".contains(c));
        match self.family() {
            Family::Texts => true,
            Family::Integers if self.declared().is_some() => is_number(),
            Family::Uuids if self.declared().is_some() => is_uuid(),
            Family::Integers | Family::Uuids => is_number() || is_uuid(),
        }
    }
}
