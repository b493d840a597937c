//! Policies and triggers on folders that lie in folders of the same table.
//!
//! Whatever leads from a folder to its parent reads other rows of the table, in a policy as they were before
//! the statement. `docs/local-checks/README.md` says what to use instead, and what that does not prevent.

use super::before::is_accepted;
use super::service::{Service, column};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::caller::Caller;

pub(crate) const NESTED_POLICY: &str = r#"
actor User {}
resource Folder {
  roles = ["writer"];
  permissions = ["edit"];
  relations = { parent: Folder };
  "edit" if "writer";
  role if role on "parent";
}
"#;

pub(crate) const NESTED_PARENTS: &str = "
  has_relation(Folder:_, parent, Folder:_):
    query: SELECT id, parent_id FROM all_nested";

/// The document for nested folders, with the parents or without.
pub(crate) fn nested_document(parents: &str) -> String {
    format!(
        "facts:
  has_role(User:_, writer, Folder:_):
    query: SELECT user_id, folder_id FROM writers{parents}
sql_types: {{ User: integer, Folder: integer }}
tables: {{ Folder: nested.id }}
"
    )
}

/// The folders that user 1 may edit.
fn nested(parents: &str, over: &str) -> String {
    Service::new(NESTED_POLICY, "", &nested_document(parents))
        .filter(r#"allow(User:1, "edit", Folder:?)"#, over)
}

/// Folder 1 is the user's own, and 2 lies in it; 9 is another's, and 3 with a role of the user lies in 9.
fn nested_folders(role: &str) -> Caller {
    let caller = Caller::new(Dialect::Postgresql).unwrap();
    caller
        .script(&format!(
            "CREATE TEMPORARY TABLE writers (user_id INTEGER, folder_id INTEGER);
             INSERT INTO writers VALUES (1, 1), (1, 3), (2, 9);
             CREATE TEMPORARY TABLE nested (id INTEGER PRIMARY KEY, parent_id INTEGER, name TEXT);
             INSERT INTO nested VALUES (1, NULL), (2, 1), (9, NULL), (3, 9);
             CREATE TEMPORARY VIEW all_nested AS SELECT * FROM nested;
             ALTER TABLE nested ENABLE ROW LEVEL SECURITY;
             CREATE ROLE {role};
             GRANT SELECT ON writers, all_nested TO {role};
             GRANT ALL ON nested TO {role};"
        ))
        .unwrap();
    caller
}

/// Statements on nested folders, and whether user 1 may do that.
const NESTED_CHANGES: [(&str, bool); 18] = [
    ("UPDATE nested SET name = 'a' WHERE id = 2", true),
    ("UPDATE nested SET parent_id = 9 WHERE id = 2", false),
    ("UPDATE nested SET parent_id = NULL WHERE id = 2", false),
    ("UPDATE nested SET parent_id = 3 WHERE id = 2", true),
    ("UPDATE nested SET parent_id = 404 WHERE id = 2", false),
    // A role on the row itself stays, wherever the row is moved.
    ("UPDATE nested SET name = 'a' WHERE id = 1", true),
    ("UPDATE nested SET name = 'a' WHERE id = 3", true),
    ("UPDATE nested SET parent_id = NULL WHERE id = 3", true),
    ("INSERT INTO nested VALUES (4, 1)", true),
    ("INSERT INTO nested VALUES (4, 2) RETURNING id", true),
    (IN_NEW_ONE, false),
    ("INSERT INTO nested VALUES (4, 9)", false),
    ("INSERT INTO nested VALUES (4, NULL)", false),
    ("INSERT INTO nested VALUES (4, 4)", false),
    ("INSERT INTO nested VALUES (2, 9) ON CONFLICT (id) DO UPDATE SET parent_id = 9", false),
    // Nor does the policy refuse cycles, or other ids, by which the folders inside lose their parent.
    (INTO_ITSELF, true),
    ("UPDATE nested SET parent_id = 2 WHERE id = 1", true),
    ("UPDATE nested SET id = 77 WHERE id = 2", true),
];

const INTO_ITSELF: &str = "UPDATE nested SET parent_id = 2 WHERE id = 2";

/// The second folder lies in the first, which is not there before the statement.
const IN_NEW_ONE: &str = "INSERT INTO nested VALUES (4, 1), (5, 4)";

/// The policy for nested folders asks for the parent that the new row names, or for a role on the row.
#[test]
fn a_policy_over_the_parent_refuses_to_move_a_folder_to_where_it_may_not_be() {
    let caller = nested_folders("mover_of_folders");
    let accepted = |change: &str| {
        let as_user = format!("SET LOCAL ROLE mover_of_folders; {change}");
        is_accepted(&caller, "nested", &as_user, "new row violates row-level security policy")
    };
    let ours = format!("{} OR {}", nested(NESTED_PARENTS, "nested.parent_id"), nested("", "nested.id"));
    let expert = "parent_id IN (
          WITH RECURSIVE mine AS (
            SELECT folder_id AS id FROM writers WHERE user_id = 1
            UNION SELECT all_nested.id FROM all_nested JOIN mine ON all_nested.parent_id = mine.id)
          SELECT id FROM mine)
        OR id IN (SELECT folder_id FROM writers WHERE user_id = 1)";
    for condition in [&*ours, expert] {
        caller.script(&format!("CREATE POLICY allowed ON nested USING ({condition})")).unwrap();
        for (change, is_allowed) in NESTED_CHANGES {
            assert_eq!(accepted(change), is_allowed, "{change}: {condition}");
        }
        caller.script("BEGIN; SET LOCAL ROLE mover_of_folders").unwrap();
        assert_eq!(column(&caller, "SELECT id FROM nested ORDER BY id"), "1 2 3", "{condition}");
        caller.script("ROLLBACK; DROP POLICY allowed ON nested").unwrap();
    }
    // A view checks new rows by the same condition, for everyone.
    caller
        .script(&format!("CREATE TEMPORARY VIEW mine AS SELECT * FROM nested WHERE {ours} WITH CHECK OPTION"))
        .unwrap();
    for (change, is_allowed) in NESTED_CHANGES {
        let of_view = change.replace("nested", "mine");
        let accepted = is_accepted(&caller, "nested", &of_view, "new row violates check option for view");
        assert_eq!(accepted, is_allowed, "{of_view}: {ours}");
    }
    caller.script("DROP VIEW mine").unwrap();
    // By its id alone, a folder stays the user's own wherever it is moved, and a new one is nobody's.
    let by_id = nested(NESTED_PARENTS, "nested.id");
    caller.script(&format!("CREATE POLICY allowed ON nested USING ({by_id})")).unwrap();
    for (change, of_old_row) in [(NESTED_CHANGES[1].0, true), (NESTED_CHANGES[8].0, false)] {
        assert_eq!(accepted(change), of_old_row, "{change}: {by_id}");
    }
    // As a policy for reading it hides the new row from `RETURNING`.
    let both = "DROP POLICY allowed ON nested; CREATE POLICY shown ON nested FOR SELECT USING (SHOWN);
                CREATE POLICY added ON nested FOR INSERT WITH CHECK (OURS)";
    caller.script(&both.replace("SHOWN", &by_id).replace("OURS", &ours)).unwrap();
    for (change, is_allowed) in [NESTED_CHANGES[8], (NESTED_CHANGES[9].0, false)] {
        assert_eq!(accepted(change), is_allowed, "{change}: {by_id}");
    }
    caller.script("DROP OWNED BY mover_of_folders; DROP ROLE mover_of_folders").unwrap();
}

/// After the statement a folder that has been moved is found where it is now, and the new ones are there.
#[test]
fn a_trigger_after_the_statement_sees_new_rows_and_those_above_them() {
    let caller = nested_folders("user_of_a_trigger");
    let all = format!("{}aliases: {{ new: nested }}\n", nested_document(NESTED_PARENTS));
    let declared = Service::new(NESTED_POLICY, "", &all);
    let question = r#"allow(User:1, "edit", Folder:?)"#;
    let ours = [nested(NESTED_PARENTS, "new.id"), declared.filter(question, "new.id")];
    let allowed =
        NESTED_CHANGES.map(|(change, by_policy)| by_policy != [INTO_ITSELF, IN_NEW_ONE].contains(&change));
    for condition in &ours {
        let accepted = |time: &str, change: &str| {
            is_accepted(&caller, "nested", &format!("{}; {change}", trigger(time, condition)), "not allowed")
        };
        for ((change, _), is_allowed) in NESTED_CHANGES.into_iter().zip(allowed) {
            assert_eq!(accepted("AFTER", change), is_allowed, "{change}: {condition}");
        }
        assert!(accepted("BEFORE", INTO_ITSELF), "{condition}");
        assert!(!accepted("BEFORE", IN_NEW_ONE), "{condition}");
    }
    // The same under policies that leave the new rows to the trigger. The one for reading does not see them,
    // and other ids are not among those that it lists.
    let by_id = nested(NESTED_PARENTS, "nested.id");
    let script = format!(
        "CREATE POLICY reads ON nested FOR SELECT USING ({by_id});
         CREATE POLICY changes ON nested FOR UPDATE USING ({by_id}) WITH CHECK (true);
         CREATE POLICY inserts ON nested FOR INSERT WITH CHECK (true);
         {}; SET LOCAL ROLE user_of_a_trigger",
        trigger("AFTER", &ours[0])
    );
    for ((change, _), is_allowed) in NESTED_CHANGES.into_iter().zip(allowed) {
        let is_hidden = change.contains("RETURNING") || change.contains("SET id");
        let expected = if is_hidden { "new row violates row-level security policy" } else { "not allowed" };
        let accepted = is_accepted(&caller, "nested", &format!("{script}; {change}"), expected);
        assert_eq!(accepted, is_allowed && !is_hidden, "{change}: {by_id}");
    }
    caller.script("DROP OWNED BY user_of_a_trigger; DROP ROLE user_of_a_trigger").unwrap();
}

/// A trigger that refuses folders for which a condition does not hold.
fn trigger(time: &str, condition: &str) -> String {
    format!(
        "CREATE FUNCTION pg_temp.check_folder() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
           SET search_path = public, pg_temp AS $check$
           BEGIN IF ({condition}) IS NOT TRUE THEN RAISE 'not allowed'; END IF; RETURN new; END $check$;
         CREATE TRIGGER check_folder {time} INSERT OR UPDATE ON nested
           FOR EACH ROW EXECUTE FUNCTION pg_temp.check_folder()"
    )
}

/// A test of the folder itself is made of the parent by the first filter, which must read it from the view.
#[test]
fn a_policy_over_the_parent_reads_every_fact_of_a_folder_from_the_view() {
    let caller = nested_folders("reader_of_archived");
    let policy =
        NESTED_POLICY.replace("\"edit\" if \"writer\"", "\"edit\" if \"writer\" and not archived(resource)");
    let condition = |parents: &str, table: &str, over: &str| {
        let archived = format!(
            "{parents}
  archived(Folder:_):
    query: SELECT id FROM {table} WHERE name = 'archived'"
        );
        Service::new(&policy, "", &nested_document(&archived))
            .filter(r#"allow(User:1, "edit", Folder:?)"#, over)
    };
    let of_row = condition("", "nested", "nested.id");
    let shown = |table: &str, change: &str| {
        let of_parent = condition(NESTED_PARENTS, table, "nested.parent_id");
        let script = format!(
            "BEGIN; {change}; CREATE POLICY allowed ON nested
               USING (({of_parent} OR {of_row}) AND (name = 'archived') IS NOT TRUE);
             SET LOCAL ROLE reader_of_archived"
        );
        caller.script(&script).unwrap();
        let rows = caller.run("SELECT string_agg(id::text, ' ' ORDER BY id) FROM nested");
        caller.script("ROLLBACK").unwrap();
        rows.map(|rows| rows.rows[0][0].clone().unwrap_or_default())
    };
    let error = shown("nested", "").unwrap_err();
    assert!(error.contains("infinite recursion detected in policy for relation \"nested\""), "{error}");
    assert_eq!(shown("all_nested", "").unwrap(), "1 2 3");
    let archive = |id: i32| format!("UPDATE nested SET name = 'archived' WHERE id = {id}");
    assert_eq!(shown("all_nested", &archive(2)).unwrap(), "1 3");
    // A folder in an archived one is not archived itself, but the policy hides it.
    assert_eq!(shown("all_nested", &archive(1)).unwrap(), "3");
    caller.script("DROP OWNED BY reader_of_archived; DROP ROLE reader_of_archived").unwrap();
}
