-- A page of the application: the newest open issues that the signed-in user may read.
--
-- `filter` is a condition over issues.id, made by Portcullis for that user; it stands in the query like any
-- other condition, and PostgreSQL plans both together:
--
--   psql -d codehost -v filter="$(portcullis compile policy.polar 'allow(User:1, "read", Issue:?)' \
--     --bindings bindings.yaml --filter issues.id)" -f application.sql

SELECT issues.id, issues.title, issues.created_at, repositories.name AS repository
FROM issues
JOIN repositories ON repositories.id = issues.repository_id
WHERE NOT issues.closed
  AND :filter
ORDER BY issues.created_at DESC
LIMIT 50;
