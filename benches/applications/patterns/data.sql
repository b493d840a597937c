-- Half a million documents in a tenth as many folders. Users 1 to 3 are those who ask: user 1 is a viewer of
-- a twenty-fifth of the folders, user 2 of a thousandth, user 3 of five like everybody else.
\if :{?rows}
\else
  \set rows 500000
\endif

INSERT INTO folders
  SELECT n, n % 50 = 0 FROM generate_series(1, :rows / 10) AS n;

INSERT INTO documents
  SELECT n,
    1 + n * 7919::bigint % (:rows / 25),
    1 + n * 104729::bigint % (:rows / 10),
    CASE WHEN n % 4 = 0 THEN 1 + n * 15485863::bigint % (:rows / 10) END,
    n % 20 = 0,
    n % 100 = 0,
    CASE n % 3 WHEN 0 THEN 'draft' WHEN 1 THEN 'review' ELSE 'final' END,
    n % 1000,
    timestamptz '2024-01-01' + n * interval '1 minute'
  FROM generate_series(1, :rows) AS n;

INSERT INTO folder_roles
  SELECT user_id, 1 + (user_id * 31::bigint + n * 977) % (:rows / 10), 'viewer'
  FROM generate_series(3, :rows / 25) AS user_id, generate_series(1, 5) AS n
  ON CONFLICT DO NOTHING;
INSERT INTO folder_roles
  SELECT 1, n * 25, 'viewer' FROM generate_series(1, :rows / 250) AS n
  UNION ALL
  SELECT 2, n * 991, 'viewer' FROM generate_series(1, :rows / 10000) AS n;

INSERT INTO document_blocks
  SELECT 1 + n * 17 % :rows, 1 + n % (:rows / 25) FROM generate_series(1, :rows / 10) AS n
  ON CONFLICT DO NOTHING;

INSERT INTO limits
  SELECT n, 100 + n * 7 % 900 FROM generate_series(1, :rows / 25) AS n;
