-- Deals that the user may withdraw: takes back those without a value.

--- ask list withdraw Deal over deals.id
--- case light user=seller-900
--- case heavy user=seller-2

--- statement update
UPDATE deals SET closed = true WHERE value IS NULL AND :filter RETURNING id;

--- filter
deals.seller = ':user'
AND NOT deals.closed
AND NOT (SELECT u.locked FROM sellers AS u WHERE u.login = ':user');
