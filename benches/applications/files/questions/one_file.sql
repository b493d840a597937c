-- May the user read this file, and what else?

--- ask check read File :file
--- case owner user=c9cfbeca-08a9-2e09-d3b1-73c063c81d19 file=92a974e0-0f9c-8a3a-3e3b-5c711d6f03e0
--- case heavy user=bb9836f5-e2ce-756d-059b-9a4556283bc0 file=9bbfa40b-d1f7-ca70-05ab-2797306329d7
--- case stranger user=fa4c5984-5f8d-7540-5565-c1b5cc19b3cb file=9bbfa40b-d1f7-ca70-05ab-2797306329d7
--- case public user=fa4c5984-5f8d-7540-5565-c1b5cc19b3cb file=855419cf-4ae4-5283-b861-e23c969e2245

--- expert
-- Up from the file and up from the user. CASE stops at the first arm that grants, and a walk that no arm asks
-- for does not happen.
WITH RECURSIVE
  file AS MATERIALIZED (
    SELECT id, folder_id, owner_id, public, locked_by FROM files WHERE id = ':file'
  ),
  above (folder_id, owner_id, parent_id) AS (
    SELECT f.id, f.owner_id, f.parent_id FROM file JOIN folders AS f ON f.id = file.folder_id
    UNION
    SELECT f.id, f.owner_id, f.parent_id FROM above AS a JOIN folders AS f ON f.id = a.parent_id
  ),
  around (group_id) AS (
    SELECT group_id FROM group_members WHERE user_id = ':user'
    UNION
    SELECT g.parent_id FROM around AS a JOIN groups AS g ON g.id = a.group_id
  )
SELECT CASE
  WHEN EXISTS (SELECT FROM file WHERE public OR owner_id = ':user') THEN true
  WHEN EXISTS (
    SELECT FROM file_user_grants WHERE user_id = ':user' AND file_id = (SELECT id FROM file)
  ) THEN true
  WHEN EXISTS (SELECT FROM above WHERE owner_id = ':user') THEN true
  WHEN EXISTS (
    SELECT FROM file_group_grants
    WHERE group_id = ANY (ARRAY(SELECT group_id FROM around)) AND file_id = (SELECT id FROM file)
  ) THEN true
  WHEN EXISTS (
    SELECT FROM folder_user_grants
    WHERE user_id = ':user' AND folder_id = ANY (ARRAY(SELECT folder_id FROM above))
  ) THEN true
  WHEN EXISTS (
    SELECT FROM folder_group_grants
    WHERE group_id = ANY (ARRAY(SELECT group_id FROM around))
      AND folder_id = ANY (ARRAY(SELECT folder_id FROM above))
  ) THEN true
  ELSE false
END AS allowed;

--- ask actions File :file
--- case owner user=c9cfbeca-08a9-2e09-d3b1-73c063c81d19 file=92a974e0-0f9c-8a3a-3e3b-5c711d6f03e0
--- case heavy user=bb9836f5-e2ce-756d-059b-9a4556283bc0 file=9bbfa40b-d1f7-ca70-05ab-2797306329d7
--- case stranger user=fa4c5984-5f8d-7540-5565-c1b5cc19b3cb file=9bbfa40b-d1f7-ca70-05ab-2797306329d7
--- case public user=fa4c5984-5f8d-7540-5565-c1b5cc19b3cb file=855419cf-4ae4-5283-b861-e23c969e2245

--- expert
-- Every role that the user holds is collected once; a constant table says which action needs which.
WITH RECURSIVE
  file AS MATERIALIZED (
    SELECT id, folder_id, owner_id, public, locked_by FROM files WHERE id = ':file'
  ),
  above (folder_id, owner_id, parent_id) AS (
    SELECT f.id, f.owner_id, f.parent_id FROM file JOIN folders AS f ON f.id = file.folder_id
    UNION
    SELECT f.id, f.owner_id, f.parent_id FROM above AS a JOIN folders AS f ON f.id = a.parent_id
  ),
  around (group_id) AS (
    SELECT group_id FROM group_members WHERE user_id = ':user'
    UNION
    SELECT g.parent_id FROM around AS a JOIN groups AS g ON g.id = a.group_id
  ),
  held (role) AS MATERIALIZED (
    SELECT 'owner'::access FROM file WHERE owner_id = ':user'
    UNION ALL
    SELECT 'owner' FROM above WHERE owner_id = ':user'
    UNION ALL
    SELECT role FROM file_user_grants WHERE user_id = ':user' AND file_id = (SELECT id FROM file)
    UNION ALL
    SELECT role FROM file_group_grants
    WHERE group_id = ANY (ARRAY(SELECT group_id FROM around)) AND file_id = (SELECT id FROM file)
    UNION ALL
    SELECT role FROM folder_user_grants
    WHERE user_id = ':user' AND folder_id = ANY (ARRAY(SELECT folder_id FROM above))
    UNION ALL
    SELECT role FROM folder_group_grants
    WHERE group_id = ANY (ARRAY(SELECT group_id FROM around))
      AND folder_id = ANY (ARRAY(SELECT folder_id FROM above))
  )
SELECT a.action AS actions
FROM file, (VALUES ('read', 'reader'::access), ('write', 'writer'), ('delete', 'owner')) AS a (action, needs)
WHERE (a.action = 'read' OR file.locked_by IS NULL)
  AND (a.action = 'read' AND file.public OR a.needs <= (SELECT max(role) FROM held));
