-- May the user read, edit, delete this task?

--- ask check read Task :task
--- case assignee user=23722 task=3
--- case admin user=1 task=7
--- case stranger user=4 task=7

--- expert
-- Up from the task: everything is found by a primary key.
SELECT EXISTS (
  SELECT FROM tasks AS k JOIN projects AS p ON p.id = k.project_id JOIN tenants AS t ON t.slug = p.tenant
  WHERE k.id = :task AND NOT t.suspended
    AND (
      k.assignee_id = :user
      OR p.lead_id = :user
      OR EXISTS (
        SELECT FROM memberships AS m
        WHERE m.user_id = :user AND m.tenant = p.tenant AND (m.role IN ('owner', 'admin') OR NOT p.private)
      )
      OR EXISTS (SELECT FROM project_members AS m WHERE m.user_id = :user AND m.project_id = p.id)
    )
) AS allowed;

--- ask actions Task :task
--- case assignee user=23722 task=3
--- case admin user=1 task=7
--- case stranger user=4 task=7

--- expert
-- Every role is looked up once; a constant table says which of them each action needs.
SELECT a.action AS actions
FROM (
  SELECT
    k.assignee_id IS NOT DISTINCT FROM :user AS assigned,
    k.creator_id = :user AS created,
    coalesce(p.lead_id = :user OR m.role IN ('owner', 'admin') OR pm.role = 'editor', false) AS writes,
    pm.role IS NOT NULL OR m.role IS NOT NULL AND NOT p.private AS reads
  FROM tasks AS k JOIN projects AS p ON p.id = k.project_id JOIN tenants AS t ON t.slug = p.tenant
    LEFT JOIN memberships AS m ON m.user_id = :user AND m.tenant = p.tenant
    LEFT JOIN project_members AS pm ON pm.user_id = :user AND pm.project_id = p.id
  WHERE k.id = :task AND NOT t.suspended
) AS held,
  LATERAL (
    VALUES ('read', assigned OR writes OR reads), ('edit', assigned OR writes), ('delete', created OR writes)
  ) AS a (action, allowed)
WHERE a.allowed;
