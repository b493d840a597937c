-- May the user sign this deal, and what else?

--- ask check sign Deal :deal
--- case light user=seller-900 deal=db631bae-f5e1-d2bb-d433-d4b1bb68022a
--- case heavy user=seller-2 deal=db631bae-f5e1-d2bb-d433-d4b1bb68022a
--- case stranger user=seller-1234 deal=db631bae-f5e1-d2bb-d433-d4b1bb68022a

--- expert
-- The ceilings of one region by their key, each with the deal's value.
SELECT EXISTS (
  SELECT FROM deals AS k
    JOIN ceilings AS c ON c.region = k.region AND c.most >= k.value AND c.login <> k.seller
  WHERE k.id = ':deal' AND k.seller <> ':user'
    AND c.login = ANY (ARRAY(
      SELECT ':user'
      UNION ALL
      SELECT absent FROM stand_ins
      WHERE login = ':user' AND starts_at <= extract(epoch FROM now())::bigint
        AND ends_at > extract(epoch FROM now())::bigint
    ))
    AND NOT EXISTS (SELECT FROM signatures AS s WHERE s.deal_id = k.id AND s.login IN (':user', c.login))
    AND NOT (SELECT u.locked FROM sellers AS u WHERE u.login = ':user')
) AS allowed;

--- ask check read Deal :deal
--- case boss user=seller-31 deal=db631bae-f5e1-d2bb-d433-d4b1bb68022a
--- case heavy user=seller-2 deal=db631bae-f5e1-d2bb-d433-d4b1bb68022a
--- case stranger user=seller-1234 deal=db631bae-f5e1-d2bb-d433-d4b1bb68022a

--- expert
-- Up from the seller. CASE stops at the first arm that grants.
SELECT CASE
  WHEN (SELECT u.locked FROM sellers AS u WHERE u.login = ':user') THEN false
  WHEN EXISTS (SELECT FROM deals WHERE id = ':deal' AND seller = ':user') THEN true
  WHEN EXISTS (
    WITH RECURSIVE above (login) AS (
      SELECT s.boss FROM deals AS k JOIN sellers AS s ON s.login = k.seller WHERE k.id = ':deal'
      UNION ALL
      SELECT s.boss FROM above AS a JOIN sellers AS s ON s.login = a.login
    )
    SELECT FROM above WHERE login = ':user'
  ) THEN true
  ELSE EXISTS (
    SELECT FROM deals AS k
      JOIN ceilings AS c ON c.region = k.region AND c.most >= k.value AND c.login <> k.seller
    WHERE k.id = ':deal' AND k.seller <> ':user'
      AND c.login = ANY (ARRAY(
        SELECT ':user'
        UNION ALL
        SELECT absent FROM stand_ins
        WHERE login = ':user' AND starts_at <= extract(epoch FROM now())::bigint
          AND ends_at > extract(epoch FROM now())::bigint
      ))
      AND NOT EXISTS (SELECT FROM signatures AS s WHERE s.deal_id = k.id AND s.login IN (':user', c.login))
  )
END AS allowed;

--- ask actions Deal :deal
--- case light user=seller-900 deal=db631bae-f5e1-d2bb-d433-d4b1bb68022a
--- case boss user=seller-31 deal=db631bae-f5e1-d2bb-d433-d4b1bb68022a
--- case heavy user=seller-2 deal=db631bae-f5e1-d2bb-d433-d4b1bb68022a

--- expert
-- Whether the user may sign is asked once; a constant table says what else each action needs.
WITH RECURSIVE
  deal AS MATERIALIZED (
    SELECT k.id, k.seller, k.region, k.value, k.closed, k.seller IS NOT DISTINCT FROM ':user' AS sold
    FROM deals AS k
    WHERE k.id = ':deal' AND NOT (SELECT u.locked FROM sellers AS u WHERE u.login = ':user')
  ),
  above (login) AS (
    SELECT s.boss FROM deal AS k JOIN sellers AS s ON s.login = k.seller
    UNION ALL
    SELECT s.boss FROM above AS a JOIN sellers AS s ON s.login = a.login
  ),
  signing (allowed) AS MATERIALIZED (
    SELECT EXISTS (
      SELECT FROM deal AS k
        JOIN ceilings AS c ON c.region = k.region AND c.most >= k.value AND c.login <> k.seller
      WHERE k.seller <> ':user'
        AND c.login = ANY (ARRAY(
          SELECT ':user'
          UNION ALL
          SELECT absent FROM stand_ins
          WHERE login = ':user' AND starts_at <= extract(epoch FROM now())::bigint
            AND ends_at > extract(epoch FROM now())::bigint
        ))
        AND NOT EXISTS (SELECT FROM signatures AS s WHERE s.deal_id = k.id AND s.login IN (':user', c.login))
    )
  )
SELECT a.action AS actions
FROM deal, (VALUES ('read'), ('sign'), ('withdraw')) AS a (action)
WHERE CASE a.action
  WHEN 'withdraw' THEN deal.sold AND NOT deal.closed
  WHEN 'sign' THEN (SELECT allowed FROM signing)
  ELSE deal.sold OR EXISTS (SELECT FROM above WHERE login = ':user') OR (SELECT allowed FROM signing)
END;
