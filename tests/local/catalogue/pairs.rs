//! Rules that compare several columns of the row with the user's.

use super::Pattern;

pub(super) const PAIRS: &[Pattern] = &[Pattern {
    shape: "pattern-pairs-of-the-user",
    title: "Two columns against pairs of the user's",
    why: "An array of the folders finds the rows, and a hash table of the pairs, made once, tests them.",
    reads_each_row: false,
    shorthand: r#""read" if "owner";"#,
    rule: "has_permission(u: User, \"read\", d: Document) if quota(u, f, s, _) and has_relation(d, \"folder\", f)
  and status(d, s);",
    expert: "(d.owner_id = ? OR (d.folder_id, d.status) IN (
               SELECT folder_id, kind FROM quotas WHERE user_id = ? AND most IS NOT NULL))",
}];
