-- 300,000 files in a sixth as many folders, about ten levels deep, and 1,000 groups, about seven levels deep.
-- Users 1 to 3 are those who ask: user 1 writes in 300 folders with everything below, user 2 in thirty, and
-- user 3 is like everybody else.
\if :{?rows}
\else
  \set rows 300000
\endif

CREATE FUNCTION pg_temp.id (kind text, n bigint) RETURNS uuid
  IMMUTABLE LANGUAGE sql RETURN md5(kind || ' ' || n)::uuid;

INSERT INTO groups
  SELECT pg_temp.id('group', n), CASE WHEN n > 50 THEN pg_temp.id('group', 1 + n * 7919::bigint % (n - 1)) END
  FROM generate_series(1, :rows / 300) AS n;

INSERT INTO group_members
  SELECT pg_temp.id('group', 1 + n * 613::bigint % (:rows / 300)), pg_temp.id('user', 1 + n % (:rows / 20))
  FROM generate_series(1, :rows / 10) AS n
  ON CONFLICT DO NOTHING;

-- Folders near the root belong to nobody, so that most users own little.
INSERT INTO folders
  SELECT pg_temp.id('folder', n),
    CASE WHEN n > 500 THEN pg_temp.id('folder', 1 + n * 104729::bigint % (n - 1)) END,
    CASE WHEN n > :rows / 12 THEN pg_temp.id('user', 1 + n * 31::bigint % (:rows / 20)) END
  FROM generate_series(1, :rows / 6) AS n;

INSERT INTO folder_user_grants
  SELECT pg_temp.id('folder', :rows / 12 + n * 6151::bigint % (:rows / 12)),
    pg_temp.id('user', 3 + n % (:rows / 20 - 3)),
    CASE n % 3 WHEN 0 THEN 'writer' ELSE 'reader' END::access
  FROM generate_series(1, :rows / 10) AS n
  ON CONFLICT DO NOTHING;
INSERT INTO folder_user_grants
  SELECT pg_temp.id('folder', 600 + n * 20), pg_temp.id('user', 1), 'writer'::access
  FROM generate_series(1, 300) AS n
  UNION ALL
  SELECT pg_temp.id('folder', 2000 + n * 20), pg_temp.id('user', 2), 'writer'
  FROM generate_series(1, 30) AS n;

INSERT INTO folder_group_grants
  SELECT pg_temp.id('folder', :rows / 12 + n * 7907::bigint % (:rows / 12)),
    pg_temp.id('group', 1 + n * 31::bigint % (:rows / 300)),
    CASE n % 4 WHEN 0 THEN 'writer' ELSE 'reader' END::access
  FROM generate_series(1, :rows / 60) AS n
  ON CONFLICT DO NOTHING;

INSERT INTO files
  SELECT pg_temp.id('file', n),
    CASE WHEN n % 10 > 0 THEN pg_temp.id('folder', 1 + n * 15485863::bigint % (:rows / 6)) END,
    CASE WHEN n % 8 > 0 THEN pg_temp.id('user', 1 + n * 37::bigint % (:rows / 20)) END,
    CASE WHEN n % 100 = 0 THEN true WHEN n % 3 = 0 THEN false END,
    CASE WHEN n % 25 = 0 THEN pg_temp.id('user', 1 + n * 41::bigint % (:rows / 20)) END,
    CASE WHEN n % 7 > 0 THEN n * 1000::bigint END,
    timestamptz '2024-01-01' + n * 7919::bigint % :rows * interval '1 minute'
  FROM generate_series(1, :rows) AS n;

INSERT INTO file_user_grants
  SELECT pg_temp.id('file', 1 + n * 7907::bigint % :rows),
    pg_temp.id('user', 1 + n * 43::bigint % (:rows / 20)),
    CASE n % 3 WHEN 0 THEN 'writer' ELSE 'reader' END::access
  FROM generate_series(1, :rows / 3) AS n
  ON CONFLICT DO NOTHING;

INSERT INTO file_group_grants
  SELECT pg_temp.id('file', 1 + n * 6151::bigint % :rows),
    pg_temp.id('group', 1 + n * 29::bigint % (:rows / 300)),
    CASE n % 5 WHEN 0 THEN 'writer' ELSE 'reader' END::access
  FROM generate_series(1, :rows / 30) AS n
  ON CONFLICT DO NOTHING;
