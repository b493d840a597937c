-- May the actor close this issue?
--
-- Up from the issue and up from the actor: eight folders and a few groups, however much either of them has
-- below. CASE stops at the first arm that grants, cheapest first; the two walks are evaluated only when an
-- arm asks for them, and only once. The issue with its repository is read once, for all arms.
WITH RECURSIVE
  issue AS MATERIALIZED (
    SELECT i.creator_id, r.id AS repository_id, r.folder_id, r.organization_id
    FROM issues AS i JOIN repositories AS r ON r.id = i.repository_id
    WHERE i.id = :issue
  ),
  above (folder_id, organization_id) AS (
    SELECT folder_id, organization_id FROM issue
    UNION
    SELECT f.parent_id, f.organization_id FROM above AS a JOIN folders AS f ON f.id = a.folder_id
  ),
  around (group_id) AS (
    SELECT group_id FROM group_members WHERE user_id = :actor
    UNION
    SELECT g.parent_id FROM around AS a JOIN groups AS g ON g.id = a.group_id
  )
SELECT CASE
  WHEN EXISTS (SELECT FROM banned_users WHERE user_id = :actor) THEN false
  WHEN EXISTS (SELECT FROM issue WHERE creator_id = :actor) THEN true
  WHEN EXISTS (
    SELECT FROM repository_user_grants
    WHERE repository_id = (SELECT repository_id FROM issue) AND user_id = :actor
      AND role IN ('maintainer', 'admin')
  ) THEN true
  WHEN EXISTS (
    SELECT FROM organization_members
    WHERE user_id = :actor AND role IN ('maintainer', 'admin')
      AND organization_id = ANY (ARRAY(SELECT organization_id FROM above))
  ) THEN true
  WHEN EXISTS (
    SELECT FROM repository_group_grants
    WHERE repository_id = (SELECT repository_id FROM issue)
      AND group_id = ANY (ARRAY(SELECT group_id FROM around)) AND role IN ('maintainer', 'admin')
  ) THEN true
  WHEN EXISTS (
    SELECT FROM folder_group_grants
    WHERE folder_id = ANY (ARRAY(SELECT folder_id FROM above))
      AND group_id = ANY (ARRAY(SELECT group_id FROM around)) AND role IN ('maintainer', 'admin')
  ) THEN true
  ELSE false
END AS allowed
