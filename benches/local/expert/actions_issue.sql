-- What may the actor do with this issue?
--
-- The walks of authorize_close.sql, but every role that the actor holds is collected once, and a constant
-- table says which action needs which. A copy of the walks for each action would plan five times as long.
-- The roles are a CTE of their own: as a subquery of the aggregate, the UNION ALL plans twice as long.
WITH RECURSIVE
  issue AS MATERIALIZED (
    SELECT i.creator_id, r.id AS repository_id, r.public, r.folder_id, r.organization_id
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
  ),
  held (role) AS MATERIALIZED (
    SELECT role FROM repository_user_grants
    WHERE repository_id = (SELECT repository_id FROM issue) AND user_id = :actor
    UNION ALL
    SELECT role FROM organization_members
    WHERE user_id = :actor AND organization_id = ANY (ARRAY(SELECT organization_id FROM above))
    UNION ALL
    SELECT role FROM repository_group_grants
    WHERE repository_id = (SELECT repository_id FROM issue)
      AND group_id = ANY (ARRAY(SELECT group_id FROM around))
    UNION ALL
    SELECT role FROM folder_group_grants
    WHERE folder_id = ANY (ARRAY(SELECT folder_id FROM above))
      AND group_id = ANY (ARRAY(SELECT group_id FROM around))
  )
SELECT a.action AS actions
FROM (
  VALUES ('close', 2, false, true), ('comment', 1, true, false), ('delete', 3, false, false),
    ('edit', 2, false, true), ('read', 1, true, false)
) AS a (action, rank, if_public, if_own)
WHERE NOT EXISTS (SELECT FROM banned_users WHERE user_id = :actor)
  AND (
    a.if_public AND EXISTS (SELECT FROM issue WHERE public)
    OR a.if_own AND EXISTS (SELECT FROM issue WHERE creator_id = :actor)
    OR a.rank <= (SELECT max(CASE role WHEN 'admin' THEN 3 WHEN 'maintainer' THEN 2 ELSE 1 END) FROM held)
  )
ORDER BY a.action
