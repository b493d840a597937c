//! Rules by which the user may do what another user may.

use super::Pattern;

pub(super) const DEPUTIES: &[Pattern] = &[
    Pattern {
        shape: "pattern-two-choices-of-a-deputy",
        title: "Documents that a user whose deputy the user is can see and use, which depends on several columns",
        why: "For each such user, the sets of that user are made once, and an index finds that user's documents: LATERAL lists them as if the other user asked. A test of each document would look the other user's rows up again.",
        reads_each_row: false,
        shorthand: r#""read" if "owner";"#,
        rule: "sees(u: User, d: Document) if has_relation(d, \"folder\", f) and has_role(u, \"viewer\", f);
usable(u: User, d: Document) if has_relation(d, \"owner\", u);
usable(u: User, d: Document) if has_relation(d, \"folder\", f) and has_role(u, \"editor\", f);
usable(u: User, d: Document) if blocked(d, u);
has_permission(u: User, \"read\", d: Document) if deputy(v, u) and sees(v, d) and usable(v, d);",
        expert: "(d.owner_id = ? OR EXISTS (
                   SELECT 1 FROM deputies x
                   JOIN folder_roles v ON v.user_id = x.user_id AND v.role = 'viewer' AND v.folder_id = d.folder_id
                   WHERE x.deputy_id = ? AND x.active = 1 AND (
                     d.owner_id = x.user_id
                     OR EXISTS (SELECT 1 FROM folder_roles e
                       WHERE e.user_id = x.user_id AND e.role = 'editor' AND e.folder_id = d.folder_id)
                     OR EXISTS (SELECT 1 FROM blocks b WHERE b.document_id = d.id AND b.user_id = x.user_id))))",
    },
    Pattern {
        shape: "pattern-inherited-role-of-a-deputy-under-a-guard",
        title: "Documents in or below a folder that a user whose deputy the user is edits, unless that user owns them",
        why: "The folders of all such users are followed once, before. LATERAL lists the documents of each of these users, by that user's folders.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_role(u: User, \"editor\", f: Folder) if has_relation(f, \"parent\", p) and has_role(u, \"editor\", p);
has_permission(u: User, \"read\", d: Document) if deputy(v, u) and has_relation(d, \"folder\", f)
  and has_role(v, \"editor\", f) and not has_relation(d, \"owner\", v);",
        expert: "EXISTS (
                   WITH RECURSIVE edited AS (
                     SELECT user_id, folder_id FROM folder_roles WHERE role = 'editor'
                     UNION SELECT e.user_id, p.folder_id FROM edited e JOIN parents p ON p.parent_id = e.folder_id)
                   SELECT 1 FROM edited e JOIN deputies x ON x.user_id = e.user_id AND x.deputy_id = ? AND x.active = 1
                   WHERE e.folder_id = d.folder_id AND (d.owner_id IS NULL OR d.owner_id <> x.user_id))",
    },
];
