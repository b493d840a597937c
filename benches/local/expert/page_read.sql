-- The newest fifty issues that the actor may read.
--
-- A tenth of all is public, so everybody finds fifty among the newest few hundred: walk by date and test
-- each issue. The test is a scalar subquery, which PostgreSQL cannot turn into a join with all repositories;
-- the sets are hashed (IN), as some are large and each is probed for each issue.
WITH RECURSIVE
  around (group_id) AS (
    SELECT group_id FROM group_members WHERE user_id = :actor
    UNION
    SELECT g.parent_id FROM around AS a JOIN groups AS g ON g.id = a.group_id
  ),
  joined (organization_id) AS MATERIALIZED (
    SELECT organization_id FROM organization_members WHERE user_id = :actor
  ),
  below (folder_id) AS (
    SELECT id FROM folders WHERE organization_id = ANY (ARRAY(SELECT organization_id FROM joined))
    UNION ALL
    SELECT folder_id FROM folder_group_grants
    WHERE group_id = ANY (ARRAY(SELECT group_id FROM around))
    UNION
    SELECT f.id FROM below AS b JOIN folders AS f ON f.parent_id = b.folder_id
  ),
  granted (repository_id) AS (
    SELECT repository_id FROM repository_group_grants WHERE group_id = ANY (ARRAY(SELECT group_id FROM around))
    UNION ALL
    SELECT repository_id FROM repository_user_grants WHERE user_id = :actor
  )
SELECT i.id
FROM issues AS i
WHERE NOT EXISTS (SELECT FROM banned_users WHERE user_id = :actor)
  AND (
    SELECT r.public
      OR r.organization_id = ANY (ARRAY(SELECT organization_id FROM joined))
      OR r.folder_id IN (SELECT folder_id FROM below)
      OR r.id IN (SELECT repository_id FROM granted)
    FROM repositories AS r
    WHERE r.id = i.repository_id
  )
ORDER BY i.created_at DESC
LIMIT 50
