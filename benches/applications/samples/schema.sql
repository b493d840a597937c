-- Samples of studies in a laboratory. People have UUIDs, studies codes, crews small numbers and samples large
-- ones. Times that a policy compares are seconds since 1970.
CREATE TABLE people (
  id uuid PRIMARY KEY,
  clearance smallint, -- NULL: not trained
  present boolean NOT NULL
);

CREATE TABLE crew_members (
  crew_id smallint NOT NULL,
  person_id uuid NOT NULL,
  PRIMARY KEY (person_id, crew_id)
);

CREATE TABLE studies (
  code varchar(12) PRIMARY KEY,
  site smallint NOT NULL,
  sealed boolean NOT NULL
);

CREATE TABLE bookings ( -- a crew works on a study for a time
  study varchar(12) NOT NULL,
  crew_id smallint NOT NULL,
  starts_at bigint NOT NULL,
  ends_at bigint NOT NULL,
  PRIMARY KEY (crew_id, study)
);

CREATE TABLE permits ( -- granted by the donors of a study
  id bigint PRIMARY KEY,
  study varchar(12) NOT NULL,
  person_id uuid NOT NULL,
  extent text NOT NULL,
  ends_at bigint NOT NULL,
  withdrawn boolean NOT NULL
);

CREATE TABLE alarms ( -- somebody on duty opened a study
  person_id uuid NOT NULL,
  study varchar(12) NOT NULL,
  ends_at bigint NOT NULL
);

CREATE TABLE conflicts ( -- of interest
  study varchar(12) NOT NULL,
  person_id uuid NOT NULL,
  PRIMARY KEY (person_id, study)
);

CREATE TABLE samples (
  id bigint PRIMARY KEY,
  study varchar(12) NOT NULL,
  collector_id uuid, -- NULL: sent in
  infectious boolean NOT NULL,
  hazard smallint, -- NULL: not rated
  kind text NOT NULL,
  taken_at timestamptz NOT NULL
);

CREATE TABLE sample_denials (
  sample_id bigint NOT NULL,
  person_id uuid NOT NULL,
  PRIMARY KEY (sample_id, person_id)
);
