# Samples of studies in a laboratory. Whoever is away can use nothing.

allow(user: User, action: String, study: Study) if
  has_permission(user, action, study) and is_present(user);

allow(user: User, action: String, sample: Sample) if
  has_permission(user, action, sample) and
  is_present(user) and
  not is_denied(sample, user);

actor User {}

resource Crew {
  roles = ["member"];
}

resource Study {
  roles = ["analyst", "guest", "responder"];
  permissions = ["view", "annotate"];

  "view" if "analyst" or "guest" or "responder";
  "annotate" if "analyst" and not is_sealed(resource);
}

# A role through a crew that works on the study now.
has_role(user: User, "analyst", study: Study) if
  has_role(user, "member", crew) and
  is_booked(study, crew, start, end) and
  start <= @current_unix_time and
  end > @current_unix_time and
  not has_conflict(user, study);

has_role(user: User, "guest", study: Study) if
  has_permit(user, study, "full", end) and
  end > @current_unix_time and
  not has_conflict(user, study);

# In an emergency a conflict does not count.
has_role(user: User, "responder", study: Study) if
  has_alarm(user, study, end) and end > @current_unix_time;

resource Sample {
  permissions = ["read", "relabel"];
  relations = { study: Study, collector: User };

  "read" if "view" on "study" and not is_infectious(resource);
  "read" if "analyst" on "study" and is_trained(actor, resource);
  "read" if "responder" on "study";
  "read" if "collector";
  "relabel" if "collector" and "annotate" on "study";
}

# A sample that nobody rated is for nobody.
is_trained(user: User, sample: Sample) if
  has_clearance(user, most) and has_hazard(sample, level) and level <= most;
