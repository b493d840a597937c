"""A correct application: it passes the type checker, and runs against a real service."""

import os

from oso_cloud import Oso, ValueOfType, typed_var

import policy
from policy import TypedOso, typed, value

alice = value("User", "alice")
acme = value("Organization", "acme")
docs = value("Repository", "docs")


def main() -> None:
    oso: TypedOso = typed(Oso(os.environ["OSO_URL"], os.environ["OSO_AUTH"]))
    oso.insert(("has_role", alice, "member", acme))
    with oso.batch() as tx:
        tx.insert(("has_relation", docs, "organization", acme))
        tx.insert(("has_stars", docs, 120))
        tx.insert(("is_archived", docs, True))
        tx.insert(("has_role", alice, "auditor"))
        tx.insert(("is_public", value("Repository", "site")))
        tx.delete(("is_public", value("Repository", "site")))
    assert oso.authorize(alice, "read", docs)
    assert not oso.authorize(alice, "write", docs)
    maintains: policy.PolicyFact = ("has_role", alice, "maintainer", docs)
    assert oso.authorize(alice, "write", docs, [maintains])
    assert oso.authorize(alice, "write", docs, [("has_role", alice, "maintainer", docs)])
    assert oso.authorize(alice, "visit", acme)
    assert oso.list(alice, "read", "Repository") == ["docs"]
    assert oso.list_paginated(alice, "read", "Repository", 10000).results == ["docs"]
    assert oso.actions(alice, docs) == ["read"]
    assert [fact[1] for fact in oso.get(("has_role", alice, None, acme))] == [alice]
    assert len(oso.get(("has_stars", ValueOfType("Repository"), None))) == 1
    assert oso.build_query(("allow", alice, "audit")).evaluate()
    repository = typed_var("Repository")
    query = oso.build_query(("allow", alice, "read", repository)).and_(("popular", repository))
    assert query.evaluate(repository) == ["docs"]
    oso.delete(("has_role", alice, None, ValueOfType("Organization")))
    assert not oso.authorize(alice, "read", docs)


if __name__ == "__main__":
    main()
