-- To which repositories may the actor write?
--
-- Down from what the actor was granted. One OR over indexed columns of the listed table, each compared with
-- an array that was computed before: a BitmapOr of four index scans. A join or IN (SELECT …) instead of an
-- array would let PostgreSQL estimate the recursion, ten times too much a step, and scan whole tables.
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
SELECT r.id
FROM repositories AS r
WHERE NOT EXISTS (SELECT FROM banned_users WHERE user_id = :actor)
  AND (
    r.organization_id = ANY (ARRAY(SELECT organization_id FROM led))
    OR r.folder_id = ANY (ARRAY(SELECT folder_id FROM below))
    OR r.id = ANY (ARRAY(
      SELECT repository_id FROM repository_group_grants
      WHERE group_id = ANY (ARRAY(SELECT group_id FROM around)) AND role IN ('maintainer', 'admin')
    ))
    OR r.id = ANY (ARRAY(
      SELECT repository_id FROM repository_user_grants
      WHERE user_id = :actor AND role IN ('maintainer', 'admin')
    ))
  )
