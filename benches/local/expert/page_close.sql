-- The newest fifty issues that the actor may close.
--
-- list_issues.sql, sorted. Who may close few issues is answered at once, who may close fifty thousand pays
-- for all of them. Walking by date and testing each issue would be the reverse, a few milliseconds for the
-- latter and seconds for an actor with few issues; one query serves both.
WITH RECURSIVE
  around (group_id) AS (
    SELECT group_id FROM group_members WHERE user_id = :actor
    UNION
    SELECT g.parent_id FROM around AS a JOIN groups AS g ON g.id = a.group_id
  ),
  led (organization_id) AS MATERIALIZED (
    SELECT organization_id FROM organization_members
    WHERE user_id = :actor AND role IN ('maintainer', 'admin')
  ),
  below (folder_id) AS (
    SELECT id FROM folders WHERE organization_id = ANY (ARRAY(SELECT organization_id FROM led))
    UNION ALL
    SELECT folder_id FROM folder_group_grants
    WHERE group_id = ANY (ARRAY(SELECT group_id FROM around)) AND role IN ('maintainer', 'admin')
    UNION
    SELECT f.id FROM below AS b JOIN folders AS f ON f.parent_id = b.folder_id
  )
SELECT i.id
FROM issues AS i
WHERE NOT EXISTS (SELECT FROM banned_users WHERE user_id = :actor)
  AND (
    i.creator_id = :actor
    OR i.repository_id = ANY (
      ARRAY(
        SELECT id FROM repositories
        WHERE organization_id = ANY (ARRAY(SELECT organization_id FROM led))
          OR folder_id = ANY (ARRAY(SELECT folder_id FROM below))
      )
      || ARRAY(
        SELECT repository_id FROM repository_group_grants
        WHERE group_id = ANY (ARRAY(SELECT group_id FROM around)) AND role IN ('maintainer', 'admin')
      )
      || ARRAY(
        SELECT repository_id FROM repository_user_grants
        WHERE user_id = :actor AND role IN ('maintainer', 'admin')
      )
    )
  )
ORDER BY i.created_at DESC
LIMIT 50
