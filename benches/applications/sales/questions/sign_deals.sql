-- Deals that the user may sign.

--- ask list sign Deal over deals.id
--- case light user=seller-900
--- case medium user=seller-30
--- case heavy user=seller-2

--- statement page of open
SELECT id FROM deals WHERE NOT closed AND :filter ORDER BY opened_at DESC, id DESC LIMIT 50;

--- expert page of open
-- The newest of each region, in the order of an index, and of these the newest.
SELECT id
FROM (
  SELECT DISTINCT d.opened_at, d.id
  FROM ceilings AS c, LATERAL (
    SELECT opened_at, id FROM deals
    WHERE region = c.region AND NOT closed AND value <= c.most AND seller <> ':user' AND seller <> c.login
      AND NOT EXISTS (
        SELECT FROM signatures AS s WHERE s.deal_id = deals.id AND s.login IN (':user', c.login)
      )
    ORDER BY opened_at DESC, id DESC LIMIT 50
  ) AS d
  WHERE c.login = ANY (ARRAY(
      SELECT ':user'
      UNION ALL
      SELECT absent FROM stand_ins
      WHERE login = ':user' AND starts_at <= extract(epoch FROM now())::bigint
        AND ends_at > extract(epoch FROM now())::bigint
    ))
    AND NOT (SELECT u.locked FROM sellers AS u WHERE u.login = ':user')
) AS newest
ORDER BY opened_at DESC, id DESC LIMIT 50;

--- statement page of a region
SELECT id FROM deals WHERE region = 'R020' AND :filter ORDER BY opened_at DESC, id DESC LIMIT 50;

--- statement count
SELECT count(*) FROM deals WHERE :filter;

--- expert count
-- Who has signed is looked up in hashed sets, and the ceilings are joined.
SELECT count(*) FROM deals
WHERE region = ANY (ARRAY(
    SELECT region FROM ceilings
    WHERE login = ':user'
      OR login = ANY (ARRAY(
        SELECT absent FROM stand_ins
        WHERE login = ':user' AND starts_at <= extract(epoch FROM now())::bigint
          AND ends_at > extract(epoch FROM now())::bigint
      ))
  ))
  AND seller <> ':user'
  AND id NOT IN (SELECT deal_id FROM signatures WHERE login = ':user')
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
      AND (deals.id, c.login) NOT IN (
        SELECT deal_id, login FROM signatures
        WHERE login = ANY (ARRAY(
          SELECT absent FROM stand_ins
          WHERE login = ':user' AND starts_at <= extract(epoch FROM now())::bigint
            AND ends_at > extract(epoch FROM now())::bigint
        ))
      )
  )
  AND NOT (SELECT u.locked FROM sellers AS u WHERE u.login = ':user');

--- filter
-- The regions are few and found by an index. The ceilings are joined with what is left.
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
AND NOT (SELECT u.locked FROM sellers AS u WHERE u.login = ':user');
