-- Deals that the user may read.

--- ask list read Deal over deals.id
--- case light user=seller-900
--- case medium user=seller-30
--- case heavy user=seller-2

--- statement page
SELECT id FROM deals WHERE :filter ORDER BY opened_at DESC, id DESC LIMIT 50;

--- expert page
-- In the order of the page, where each deal is tested in hashed sets: arrays would be searched for each deal.
WITH RECURSIVE
  below (login) AS (
    SELECT login FROM sellers WHERE login = ':user'
    UNION ALL
    SELECT s.login
    FROM below AS b, LATERAL (SELECT login FROM sellers WHERE boss = b.login OFFSET 0) AS s
  ),
  acting (login) AS (
    SELECT ':user'
    UNION ALL
    SELECT absent FROM stand_ins
    WHERE login = ':user' AND starts_at <= extract(epoch FROM now())::bigint
      AND ends_at > extract(epoch FROM now())::bigint
  )
SELECT id FROM deals
WHERE (
    seller IN (SELECT login FROM below)
    OR seller <> ':user'
      AND region IN (SELECT region FROM acting JOIN ceilings USING (login))
      AND EXISTS (
        SELECT FROM ceilings AS c
        WHERE c.region = deals.region AND c.most >= deals.value AND c.login <> deals.seller
          AND c.login = ANY (ARRAY(SELECT login FROM acting))
          AND NOT EXISTS (
            SELECT FROM signatures AS s WHERE s.deal_id = deals.id AND s.login IN (':user', c.login)
          )
      )
  )
  AND NOT (SELECT u.locked FROM sellers AS u WHERE u.login = ':user')
ORDER BY opened_at DESC, id DESC LIMIT 50;

--- statement page of a seller
SELECT id FROM deals WHERE seller = 'seller-240' AND :filter ORDER BY opened_at DESC, id DESC LIMIT 50;

--- statement count of large
SELECT count(*) FROM deals WHERE value > 95000 AND :filter;

--- expert count of large
-- Two halves, each joined with few rows: the expected rows of an OR would be compiled to machine code.
SELECT count(*)
FROM (
  SELECT id FROM deals
  WHERE value > 95000
    AND seller IN (
      WITH RECURSIVE below (login) AS (
        SELECT login FROM sellers WHERE login = ':user'
        UNION ALL
        SELECT s.login
        FROM below AS b, LATERAL (SELECT login FROM sellers WHERE boss = b.login OFFSET 0) AS s
      )
      SELECT login FROM below
    )
  UNION
  SELECT d.id
  FROM ceilings AS c JOIN deals AS d ON d.region = c.region AND d.value <= c.most AND d.seller <> c.login
  WHERE d.value > 95000 AND d.seller <> ':user'
    AND c.login = ANY (ARRAY(
      SELECT ':user'
      UNION ALL
      SELECT absent FROM stand_ins
      WHERE login = ':user' AND starts_at <= extract(epoch FROM now())::bigint
        AND ends_at > extract(epoch FROM now())::bigint
    ))
    AND NOT EXISTS (SELECT FROM signatures AS s WHERE s.deal_id = d.id AND s.login IN (':user', c.login))
) AS found
WHERE NOT (SELECT u.locked FROM sellers AS u WHERE u.login = ':user');

--- filter
-- Down from the user, as an array: the recursion's size is not estimated. Whoever may sign may read, too.
(
  deals.seller = ':user'
  OR deals.seller = ANY (ARRAY(
    WITH RECURSIVE below (login) AS (
      SELECT login FROM sellers WHERE boss = ':user'
      UNION ALL
      SELECT s.login
      FROM below AS b, LATERAL (SELECT login FROM sellers WHERE boss = b.login OFFSET 0) AS s
    )
    SELECT login FROM below
  ))
  OR
    deals.region = ANY (ARRAY(
      SELECT region FROM ceilings
      WHERE login = ':user'
        OR login = ANY (ARRAY(
          SELECT absent FROM stand_ins
          WHERE login = ':user' AND starts_at <= extract(epoch FROM now())::bigint
            AND ends_at > extract(epoch FROM now())::bigint
        ))
    ))
    AND deals.seller <> ':user'
    AND NOT EXISTS (SELECT FROM signatures AS s WHERE s.deal_id = deals.id AND s.login = ':user')
    AND EXISTS (
      SELECT FROM ceilings AS c
      WHERE c.region = deals.region AND c.most >= deals.value AND c.login <> deals.seller
        AND c.login = ANY (ARRAY(
          SELECT ':user'
          UNION ALL
          SELECT absent FROM stand_ins
          WHERE login = ':user' AND starts_at <= extract(epoch FROM now())::bigint
            AND ends_at > extract(epoch FROM now())::bigint
        ))
        AND NOT EXISTS (SELECT FROM signatures AS s WHERE s.deal_id = deals.id AND s.login = c.login)
    )
)
AND NOT (SELECT u.locked FROM sellers AS u WHERE u.login = ':user');
