//! Looks up the names of shorthand, and reports unknown ones.

use super::{Desugar, Refused};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::TypeId;
use crate::resolve::blocks::{Declared, NameKind};
use crate::resolve::tables::Replace;
use crate::source::Span;
use crate::spelling::quoted;
use crate::syntax::ast::Name;

impl Desugar<'_, '_, '_> {
    /// A name of the block itself.
    pub(super) fn own(&mut self, name: &str, span: Span) -> Result<Declared, Refused> {
        if let Some(&declared) = self.block.names.get(name) {
            return Ok(declared);
        }
        let block = &self.block.ast.name;
        let diagnostic = Diagnostic::new(
            Code::UndeclaredTerm,
            format!("`{name}` is not declared in `{}`", block.value),
            span,
            "no role, permission or relation of this name",
        )
        .with_label(block.span, format!("`{}` begins here", block.value))
        .with_help(format!(
            "declare it in `{}`, for example with `roles = [{}];`",
            block.value,
            quoted(name)
        ));
        let names = self.block.names.keys().copied();
        self.tables.report_near(diagnostic, name, names, Replace::string(span));
        Err(Refused)
    }

    /// The type that a relation of the block leads to.
    pub(super) fn relation(&mut self, relation: &Name) -> Result<TypeId, Refused> {
        let (name, block) = (relation.value.as_str(), self.block);
        if self.is_global() {
            let title = "`on` has no meaning in the `global` block";
            let diagnostic = Diagnostic::new(
                Code::RelationInGlobal,
                title,
                relation.span,
                "the `global` block has no relations",
            );
            self.tables.report(
                diagnostic.with_help("move the rule into the block of the type that has the relation"),
            );
            return Err(Refused);
        }
        let found = block.names.get(name).copied();
        if let Some(Declared { kind: NameKind::Relation(ty), .. }) = found {
            return Ok(ty);
        }
        let in_block = &block.ast.name;
        let title = format!("unknown relation `{name}` on `{}`", in_block.value);
        let diagnostic = match found {
            Some(other) => {
                let noun = other.kind.noun();
                Diagnostic::new(Code::UnknownRelation, title, relation.span, format!("this is a {noun}"))
                    .with_label(other.span, format!("declared here as a {noun}"))
                    .with_help("name a relation of the block after `on`")
            }
            None => Diagnostic::new(Code::UnknownRelation, title, relation.span, "no relation of this name")
                .with_label(in_block.span, format!("`{}` begins here", in_block.value))
                .with_help(format!("declare it in `{}`: `relations = {{ {name}: Type }};`", in_block.value)),
        };
        let relations =
            block.names.iter().filter(|(_, declared)| matches!(declared.kind, NameKind::Relation(_)));
        let names = relations.map(|(&name, _)| name);
        self.tables.report_near(diagnostic, name, names, Replace::string(relation.span));
        Err(Refused)
    }

    /// A name of the block that a relation leads to.
    pub(super) fn on_related(
        &mut self,
        name: &str,
        span: Span,
        relation: &Name,
        ty: TypeId,
    ) -> Result<Declared, Refused> {
        let Some(related) = self.blocks.of(ty) else { return Err(self.no_block(relation, ty)) };
        if let Some(&declared) = related.names.get(name) {
            return Ok(declared);
        }
        let block = &related.ast.name;
        // What the asking block calls a permission is one there, too.
        let is_permission =
            self.block.names.get(name).is_some_and(|own| matches!(own.kind, NameKind::Permission));
        let list = if is_permission { "permissions" } else { "roles" };
        let diagnostic = Diagnostic::new(
            Code::UndeclaredOnRelated,
            format!("`{name}` is not declared in `{}`, which `{}` leads to", block.value, relation.value),
            span,
            format!("no role, permission or relation of `{}`", block.value),
        )
        .with_label(block.span, format!("`{}` begins here", block.value))
        .with_help(format!(
            "declare it in `{}`, for example with `{list} = [{}];`",
            block.value,
            quoted(name)
        ));
        self.tables.report_near(diagnostic, name, related.names.keys().copied(), Replace::string(span));
        Err(Refused)
    }

    /// Reports `on` a relation to a type without a block.
    pub(super) fn no_block(&mut self, relation: &Name, ty: TypeId) -> Refused {
        let ty = &self.tables.types[ty].name;
        let name = &relation.value;
        let mut diagnostic = Diagnostic::new(
            Code::UnknownRelatedBlock,
            format!("`{name}` leads to `{ty}`, which has no block"),
            relation.span,
            format!("nothing is declared for `{ty}`"),
        )
        .with_help(format!("add a block `resource {ty} {{ … }}` that declares its roles and permissions"));
        if let Some(declared) = self.block.names.get(name.as_str()) {
            diagnostic = diagnostic.with_label(declared.span, "the relation is declared here");
        }
        self.tables.report(diagnostic);
        Refused
    }

    /// Reports a name that the global block does not declare.
    pub(super) fn undeclared_global(&mut self, name: &str, span: Span) -> Refused {
        let Some(global) = &self.blocks.global else {
            let title = format!("`{name}` is not declared, because there is no `global` block");
            let help = format!("add `global {{ roles = [\"{name}\"]; }}`");
            let label = "no `global` block declares it";
            self.tables
                .report(Diagnostic::new(Code::UndeclaredGlobalTerm, title, span, label).with_help(help));
            return Refused;
        };
        let diagnostic = Diagnostic::new(
            Code::UndeclaredGlobalTerm,
            format!("`{name}` is not declared in the `global` block"),
            span,
            "no global role or permission of this name",
        )
        .with_label(global.ast.name.span, "the `global` block begins here")
        .with_help(format!("declare it there, for example with `roles = [{}];`", quoted(name)));
        self.tables.report_near(diagnostic, name, global.names.keys().copied(), Replace::string(span));
        Refused
    }
}
