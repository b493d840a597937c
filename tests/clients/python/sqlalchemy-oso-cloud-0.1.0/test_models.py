"""Queries over models return the rows that the actor may see."""

import pytest
import sqlalchemy
import sqlalchemy_oso_cloud as oso
from client import PUBLISHED, Base, Chunk, Document, Note, opened, recorder, user
from oso_cloud import Value
from sqlalchemy.orm import joinedload


@pytest.fixture(scope="module")
def engine():
    engine = opened()
    yield engine
    engine.dispose()


@pytest.fixture
def session(engine):
    with oso.Session(engine) as session:
        yield session


def titles(documents):
    return sorted(document.title for document in documents)


@pytest.mark.parametrize(
    ("actor", "action", "expected"),
    [
        ("ada", "read", ["draft", "public", "published"]),
        ("ada", "write", ["draft"]),
        ("root", "read", ["draft", "public", "published"]),
        ("root", "write", ["published"]),
        ("nobody", "read", ["public"]),
        ("nobody", "frob", []),
        ("'; DROP TABLE documents; --", "read", ["public"]),
        ("50% :of {all}", "read", ["public"]),
    ],
)
def test_every_way_to_ask_returns_the_rows_that_the_actor_may_act_on(session, actor, action, expected):
    selected = oso.select(Document).authorized(user(actor), action)
    assert titles(session.execute(selected).scalars()) == expected
    plain = sqlalchemy.select(Document).options(oso.authorized(user(actor), action, Document))
    assert titles(session.execute(plain).scalars()) == expected
    assert titles(session.query(Document).authorized(user(actor), action)) == expected


def test_conditions_orders_and_limits_of_the_caller_stand_beside_it(session):
    readable = oso.select(Document).where(Document.title.like("pu%")).authorized(user("ada"), "read")
    newest = readable.order_by(Document.title.desc()).limit(1)
    assert titles(session.execute(newest).scalars()) == ["published"]
    count = session.query(Document).filter(Document.pages > 5).authorized(user("ada"), "read").count()
    assert count == 1


def test_a_relation_is_followed_and_loaded(session):
    chunks = oso.select(Chunk).options(joinedload(Chunk.document)).authorized(user("ada"), "read")
    found = session.execute(chunks).unique().scalars().all()
    assert {chunk.id: chunk.document.title for chunk in found} == {1: "draft", 2: "published", 3: "public"}


def test_each_model_of_a_join_has_its_own_condition(session):
    joined = session.query(Chunk, Document).join(Document, Chunk.document_id == Document.id)
    pairs = joined.authorized(user("nobody"), "read").all()
    assert [(chunk.id, document.title) for chunk, document in pairs] == [(3, "public")]
    of_documents = joined.authorized(user("ada"), "write", Document).all()
    assert [(chunk.id, document.title) for chunk, document in of_documents] == [(1, "draft")]


def test_a_column_alone_is_filtered_too(session):
    ids = session.query(Document.id).authorized(user("root"), "write").all()
    assert ids == [(PUBLISHED,)]


def test_what_is_no_resource_cannot_be_asked_for(session):
    with pytest.raises(ValueError, match="No Resource models found"):
        session.query(Note).authorized(user("ada"), "read")
    with pytest.raises(ValueError, match="must inherit from Resource"):
        oso.authorized(user("ada"), "read", Note)


def test_the_client_underneath_explains_single_rows(session):
    service = oso.get_oso()
    query = service.authorize_local(user("root"), "write", Value("Document", str(PUBLISHED)))
    assert session.execute(sqlalchemy.text(query)).scalar() is True
    actions = service.actions_local(user("ada"), Value("Document", str(PUBLISHED)))
    assert session.execute(sqlalchemy.text(actions)).scalars().all() == ["read"]


def test_there_is_one_client_only():
    with pytest.raises(RuntimeError, match="already been initialized"):
        oso.init(Base.registry)


def test_no_public_method_of_the_client_is_left_out():
    assert recorder.missing() == set()
