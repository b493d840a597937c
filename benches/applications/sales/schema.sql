-- Deals of a sales organisation, and the people who make them. Users have logins, regions short codes, deals
-- UUIDs. Times that a policy compares are seconds since 1970.
CREATE TABLE sellers (
  login text PRIMARY KEY,
  boss text, -- NULL: at the top
  region varchar(6) NOT NULL,
  grade smallint, -- NULL: not graded
  locked boolean NOT NULL
);

CREATE TABLE stand_ins (
  id serial PRIMARY KEY,
  absent text NOT NULL,
  login text NOT NULL,
  starts_at bigint NOT NULL,
  ends_at bigint NOT NULL
);

CREATE TABLE ceilings ( -- up to which value somebody signs off in a region
  login text NOT NULL,
  region varchar(6) NOT NULL,
  most bigint NOT NULL,
  PRIMARY KEY (login, region)
);

CREATE TABLE pay_offices ( -- who handles the pay of a region
  login text NOT NULL,
  region varchar(6) NOT NULL,
  PRIMARY KEY (login, region)
);

CREATE TABLE deals (
  id uuid PRIMARY KEY,
  seller text, -- NULL: of the house
  region varchar(6) NOT NULL,
  value bigint, -- NULL: not known yet
  closed boolean NOT NULL,
  opened_at timestamptz NOT NULL
);

CREATE TABLE signatures (
  deal_id uuid NOT NULL,
  login text NOT NULL,
  PRIMARY KEY (deal_id, login)
);
