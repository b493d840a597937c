-- Tasks that the user may read.

--- ask list read Task over tasks.id
--- case light user=3
--- case medium user=2
--- case heavy user=1

--- statement page
SELECT id FROM tasks WHERE :filter ORDER BY created_at DESC, id DESC LIMIT 50;

--- statement keyset
SELECT id FROM tasks
WHERE (created_at, id) < (timestamptz '2024-02-15', 300000) AND :filter
ORDER BY created_at DESC, id DESC LIMIT 50;

--- statement page of a tenant
SELECT id FROM tasks WHERE tenant = 'tenant-14' AND :filter ORDER BY created_at DESC, id DESC LIMIT 50;

--- statement count of open
SELECT count(*) FROM tasks WHERE state = 'open' AND :filter;

--- filter
-- The readable projects of tenants that are not suspended become an array, and the OR is one of bare columns:
-- if it held the guard too, each task that the index finds would be compared with the array again. An
-- assignee's tasks are few, so each looks for its tenant: in a scalar subquery, as EXISTS would be hashed and
-- read all projects.
(
  tasks.project_id = ANY (ARRAY(
    SELECT p.id
    FROM memberships AS m JOIN tenants AS t ON t.slug = m.tenant JOIN projects AS p ON p.tenant = m.tenant
    WHERE m.user_id = :user AND NOT t.suspended AND (m.role IN ('owner', 'admin') OR NOT p.private)
    UNION ALL
    SELECT p.id
    FROM project_members AS m JOIN projects AS p ON p.id = m.project_id JOIN tenants AS t ON t.slug = p.tenant
    WHERE m.user_id = :user AND NOT t.suspended
    UNION ALL
    SELECT p.id FROM projects AS p JOIN tenants AS t ON t.slug = p.tenant
    WHERE p.lead_id = :user AND NOT t.suspended
  ))
  OR tasks.assignee_id = :user
)
AND (
  tasks.assignee_id IS DISTINCT FROM :user
  OR (
    SELECT NOT t.suspended FROM projects AS p JOIN tenants AS t ON t.slug = p.tenant
    WHERE p.id = tasks.project_id
  )
);
