# Deals of a sales organisation, and the pay of those who make them. Whoever is locked out can use nothing.

allow(user: User, action: String, seller: User) if
  has_permission(user, action, seller) and not is_locked(user);

allow(user: User, action: String, deal: Deal) if
  has_permission(user, action, deal) and not is_locked(user);

actor User {
  permissions = ["see_pay"];
  relations = { boss: User };

  "see_pay" if is_above(actor, resource);
}

# A boss, and whoever is above the boss.
is_above(user: User, seller: User) if has_relation(seller, "boss", user);
is_above(user: User, seller: User) if
  has_relation(seller, "boss", boss) and is_above(user, boss);

has_permission(user: User, "see_pay", user: User);

# The pay office of the region, for lower grades.
has_permission(user: User, "see_pay", seller: User) if
  is_from(seller, region) and
  handles_pay(user, region) and
  has_grade(user, own) and
  has_grade(seller, grade) and
  grade < own;

resource Region {}

resource Deal {
  permissions = ["read", "sign", "withdraw"];
  relations = { seller: User };

  "read" if "seller";
  "read" if "sign";
  "withdraw" if "seller" and not is_closed(resource);
}

has_permission(user: User, "read", deal: Deal) if
  has_relation(deal, "seller", seller) and is_above(user, seller);

# Four eyes: neither the signer nor the one whom the signer stands in for has sold the deal or signed it.
has_permission(user: User, "sign", deal: Deal) if
  signs_for(user, other) and
  has_ceiling(other, region, most) and
  is_in(deal, region) and
  is_worth(deal, value) and
  value <= most and
  has_relation(deal, "seller", seller) and
  seller != user and
  seller != other and
  not has_signed(user, deal) and
  not has_signed(other, deal);

signs_for(user: User, user: User);
signs_for(user: User, other: User) if
  stands_in(user, other, start, end) and
  start <= @current_unix_time and
  end > @current_unix_time;
