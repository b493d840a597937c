//! The one table of diagnostic codes.
//!
//! Codes are stable and never reused. Each has a page under `fixtures/diagnostics/` that is both its
//! documentation and its test. The first two digits give the stage: P01 syntax, P02 names, P03 types and
//! binding, P04 recursion through negation, P06 limits, P07 lints. A lint is a warning; every other code
//! rejects the policy.

/// Whether a diagnostic rejects the policy or is only advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The policy is rejected.
    Error,
    /// A lint; the policy is accepted.
    Warning,
}

macro_rules! codes {
    ($($code:literal $name:ident $slug:literal $summary:literal;)+) => {
        /// A stable diagnostic code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = concat!($code, ": ", $summary)] $name,)+
        }

        impl Code {
            /// Every code, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The stable name, such as `P0203`.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)+
                }
            }

            /// The end of its page's file name, such as `unknown-relation`.
            pub fn slug(self) -> &'static str {
                match self {
                    $(Self::$name => $slug,)+
                }
            }

            /// One line that says what the code is about.
            pub fn summary(self) -> &'static str {
                match self {
                    $(Self::$name => $summary,)+
                }
            }
        }
    };
}

codes! {
    // Reading the text.
    "P0101" UnexpectedCharacter   "unexpected-character"    "a character that no part of a policy begins with";
    "P0102" UnterminatedString    "unterminated-string"     "a string that does not end on its line";
    "P0103" SingleQuotes          "single-quotes"           "a string in single quotes";
    "P0104" IntegerOutOfRange     "integer-out-of-range"    "an integer that does not fit into 64 bits";
    "P0105" FloatLiteral          "float-literal"           "a number with a fraction";
    "P0106" DoubleEquals          "double-equals"           "`==` in place of `=`";
    "P0107" ReservedWord          "reserved-word"           "a reserved word in place of a name";
    "P0108" UnknownAnnotation     "unknown-annotation"      "an `@` word other than `@current_unix_time`";
    "P0109" MissingSemicolon      "missing-semicolon"       "a statement without its `;`";
    "P0110" UnexpectedToken       "unexpected-token"        "something other than what the grammar allows here";
    "P0111" UnclosedBracket       "unclosed-bracket"        "an unmatched bracket";
    "P0112" WrongDeclarationValue "wrong-declaration-value" "the wrong kind of value for `roles`, `permissions` or `relations`";
    "P0113" TrailingComma         "trailing-comma"          "a comma after the last argument";
    "P0114" SetupNotFirst         "setup-not-first"         "a `setup` that is not the first part of its test";
    "P0115" EmptyTest             "empty-test"              "a test without an assertion";
    "P0116" MalformedName         "malformed-name"          "a name that begins with a digit or ends in `::`";
    "P0117" NotInTheLanguage      "not-in-the-language"     "an operator or construct that policies do not have";
    "P0118" MalformedObject       "malformed-object"        "an object literal with the wrong kind of value";
    "P0119" NulInString           "nul-in-string"           "a string with a NUL character";

    // Names.
    "P0201" UndeclaredTerm        "undeclared-term"         "shorthand that names no role, permission or relation of its block";
    "P0202" UnknownRelatedBlock   "unknown-related-block"   "`on` a relation whose type has no block";
    "P0203" UnknownRelation       "unknown-relation"        "`on` something that is not a relation of the block";
    "P0204" DuplicateDeclaration  "duplicate-declaration"   "the same thing declared twice in one block";
    "P0205" DuplicateBlock        "duplicate-block"         "two blocks with the same name";
    "P0206" NameUsedTwice         "name-used-twice"         "one name for two kinds of thing in a block";
    "P0207" UnknownSupertype      "unknown-supertype"       "`extends` of a type that has no block";
    "P0208" ExtendsCycle          "extends-cycle"           "a type that extends itself";
    "P0209" ExtendsOtherKind      "extends-other-kind"      "an actor block that extends a resource block, or the reverse";
    "P0210" SecondGlobal          "second-global"           "a second `global` block";
    "P0211" RelationInGlobal      "relation-in-global"      "a relation, or `on`, in the `global` block";
    "P0212" UnknownFixture        "unknown-fixture"         "a `fixture` line that names no test fixture";
    "P0213" DuplicateTest         "duplicate-test"          "two tests with the same name";
    "P0214" DuplicateFixture      "duplicate-fixture"       "two test fixtures with the same name";
    "P0215" UnknownAssertedType   "unknown-asserted-type"   "an assertion about a type that the policy never mentions";
    "P0216" BuiltInType           "built-in-type"           "a block or `extends` with the name of a built-in type";
    "P0217" UndeclaredGlobalTerm  "undeclared-global-term"  "`global` with a name that the `global` block does not declare";
    "P0218" UndeclaredOnRelated   "undeclared-on-related"   "`on` with a name that the related block does not declare";

    // Types and binding.
    "P0301" UnboundInNegation     "unbound-in-negation"     "a variable that only a negated test or a comparison could bind";
    "P0302" NotAnInteger          "not-an-integer"          "an order comparison of something other than Integers";
    "P0303" SeveralVariables      "several-variables"       "more than one variable in an assertion";
    "P0304" FactNotAccepted       "fact-not-accepted"       "a test fact that no rule or `declare` could use";
    "P0305" NotConcrete           "not-concrete"            "a test fact with a variable or the current time in it";
    "P0307" AbstractValue         "abstract-value"          "a value of type `Actor` or `Resource`";
    "P0308" NotALiteral           "not-a-literal"           "an element of an `in` list that is not a literal";
    "P0309" UntypedVariable       "untyped-variable"        "an assertion's variable without a type";
    "P0310" ForeignVariable       "foreign-variable"        "`iff` with a variable other than the assertion's";
    "P0311" IffWithoutVariable    "iff-without-variable"    "`iff` after an assertion that has no variable";

    // The order of rules.
    "P0401" NegationCycle         "negation-cycle"          "a predicate that depends on its own negation";

    // Limits.
    "P0601" SourceTooLarge        "source-too-large"        "a policy text of more than 1 MB";
    "P0602" NestedTooDeep         "nested-too-deep"         "brackets or `not` nested more than 64 deep";
    "P0603" MoreFindings          "more-findings"           "more findings than are shown";
    "P0604" TooManyRules          "too-many-rules"          "more rules than one policy may have";
    "P0605" TooManyParameters     "too-many-parameters"     "more parameters than one predicate may have";
    "P0606" TooMuchInheritance    "too-much-inheritance"    "more inherited declarations than one policy may have";
    "P0607" ConditionTooLarge     "condition-too-large"     "a condition with more tests than one rule may have";
    "P0608" TooManyCases          "too-many-cases"          "negations that have too many cases to order";

    // Lints.
    "P0701" SingletonVariable     "singleton-variable"      "a variable that is used once";
    "P0702" MixedAndOr            "mixed-and-or"            "`and` and `or` mixed without parentheses";
    "P0703" UnusedTerm            "unused-term"             "a role, permission or relation that no rule uses";
    "P0704" NeverMatches          "never-matches"           "a rule that can never match";
    "P0705" BuiltInNearMiss       "built-in-near-miss"      "a near miss of a built-in predicate";
    "P0706" MatchesUndeclared     "matches-undeclared"      "`matches` with a type that is not declared";
    "P0707" Unanswerable          "unanswerable"            "a policy that is too large for any check";
    "P0708" NeverAllowed          "never-allowed"           "a type with permissions that no rule of `allow` takes";
}

impl Code {
    /// Lints are warnings, everything else is an error.
    pub fn severity(self) -> Severity {
        if self.as_str().starts_with("P07") { Severity::Warning } else { Severity::Error }
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_and_slugs_are_unique() {
        assert!(Code::ALL.windows(2).all(|pair| pair[0].as_str() < pair[1].as_str()));
        let mut slugs: Vec<_> = Code::ALL.iter().map(|code| code.slug()).collect();
        slugs.sort_unstable();
        slugs.dedup();
        assert_eq!(slugs.len(), Code::ALL.len());
    }

    #[test]
    fn only_lints_are_warnings() {
        assert_eq!(Code::MixedAndOr.severity(), Severity::Warning);
        assert_eq!(Code::MissingSemicolon.severity(), Severity::Error);
    }
}
