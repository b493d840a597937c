"""Uses that the policy does not allow. Each line ends with the error that the checker must report."""

from oso_cloud import Oso, Value

from policy import Action, Role, typed, value

oso = typed(Oso("http://127.0.0.1:8081", "key"))
user = value("User", "alice")
repo = value("Repository", "docs")
org = value("Organization", "acme")

oso.authorize(user, "raed", repo)  # call-overload
oso.authorize(user, "invite", repo)  # call-overload
oso.authorize(repo, "read", user)  # call-overload
oso.authorize(Value("User", "alice"), "read", repo)  # call-overload
oso.list(user, "read", "Repositories")  # call-overload
oso.list(user, "read", "Organization")  # call-overload
oso.actions(repo, org)  # arg-type
oso.insert(("has_role", user, "maintainer", org))  # arg-type
oso.insert(("has_role", user, "raeder", repo))  # arg-type
oso.insert(("has_role", user, "auditor", repo))  # arg-type
oso.insert(("has_rloe", user, "reader", repo))  # arg-type
oso.insert(("has_relation", repo, "organization", user))  # arg-type
oso.insert(("has_stars", repo, "many"))  # arg-type
oso.insert(("is_archived", repo, 1))  # arg-type
oso.insert(("is_public",))  # arg-type
oso.delete(("has_role", user, "maintainer", org))  # arg-type
oso.get(("has_role", user, "mainteiner", repo))  # arg-type
oso.authorize(user, "read", repo, [("has_role", user, "owner", repo)])  # call-overload
oso.build_query(("allow", user, "raed", repo))  # arg-type
oso.build_query(("allow", user, "read"))  # arg-type
value("Usr", "alice")  # call-overload
action: Action = "raed"  # assignment
role: Role = "raeder"  # assignment
