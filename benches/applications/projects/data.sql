-- 600,000 tasks of 40,000 projects of 2,000 tenants, one in fifty of them suspended. Users 1 to 3 are those
-- who ask: user 1 is an admin of every seventh tenant, user 2 a member of twenty with 500 projects of other
-- tenants, user 3 like everybody else.
\if :{?rows}
\else
  \set rows 600000
\endif

INSERT INTO tenants
  SELECT 'tenant-' || n, n % 50 = 49 FROM generate_series(1, :rows / 300) AS n;

INSERT INTO memberships
  SELECT 'tenant-' || 1 + (n * 7919::bigint + k * 613) % (:rows / 300), n,
    CASE (n + k) % 6 WHEN 0 THEN 'owner' WHEN 1 THEN 'admin' ELSE 'member' END
  FROM generate_series(3, :rows / 12) AS n, generate_series(1, 2) AS k
  ON CONFLICT DO NOTHING;
INSERT INTO memberships
  SELECT 'tenant-' || n * 7, 1, 'admin' FROM generate_series(1, :rows / 2100) AS n
  UNION ALL
  SELECT 'tenant-' || n, 2, 'member' FROM generate_series(1, 20) AS n;

INSERT INTO projects
  SELECT n, 'tenant-' || 1 + n % (:rows / 300),
    CASE WHEN n % 5 > 0 THEN 3 + n * 31::bigint % (:rows / 12 - 2) END, n % 3 = 0
  FROM generate_series(1, :rows / 15) AS n;

INSERT INTO project_members
  SELECT 1 + n * 104729::bigint % (:rows / 15), 3 + n * 15485863::bigint % (:rows / 12 - 2),
    CASE n % 2 WHEN 0 THEN 'editor' ELSE 'viewer' END
  FROM generate_series(1, :rows / 5) AS n
  ON CONFLICT DO NOTHING;
INSERT INTO project_members
  SELECT n * 3, 2, 'editor' FROM generate_series(1, :rows / 1200) AS n;

INSERT INTO tasks
  SELECT n, p.id, p.tenant, 1 + n * 6151::bigint % (:rows / 12),
    CASE WHEN n % 4 > 0 THEN 1 + n * 7907::bigint % (:rows / 12) END,
    CASE n % 3 WHEN 0 THEN 'open' ELSE 'done' END,
    timestamptz '2024-01-01' + n * 7919::bigint % :rows * interval '1 minute'
  FROM generate_series(1, :rows) AS n JOIN projects AS p ON p.id = 1 + n * 7919::bigint % (:rows / 15);
