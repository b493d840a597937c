"""The extension of SQLAlchemy, whose calls are recorded, with models over tables of its own."""

import enum
import uuid
from typing import Optional

import oso_cloud
import sqlalchemy_oso_cloud as oso
from recorder import Recorder
from sqlalchemy import BigInteger, ForeignKey, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from world import KEY, URL

recorder = Recorder()
for each in (oso, oso.orm, oso.Session, oso.Query, oso.Select):
    recorder.patch(each)

POLICY = """
actor User {}

resource Organization { roles = ["admin", "member"]; }

resource Document {
  roles = ["author"];
  permissions = ["read", "write"];
  relations = { organization: Organization };

  "read" if "author";
  "read" if "admin" on "organization";
  "read" if "member" on "organization" and has_state(resource, "published");
  "read" if is_public(resource);
  "write" if "author";
  "write" if "admin" on "organization" and is_short(resource);
}

is_short(document: Document) if has_pages(document, pages) and pages < 10;

resource Chunk {
  permissions = ["read"];
  relations = { document: Document };

  "read" if "read" on "document";
}
"""


class Base(DeclarativeBase):
    pass


class State(enum.Enum):
    draft = "draft"
    published = "published"


class Document(Base, oso.orm.Resource):
    __tablename__ = "documents"
    # A plain UUID calls itself CHAR(32) towards the service, although PostgreSQL holds a uuid.
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    title: Mapped[str]
    state: Mapped[State] = oso.orm.attribute()
    is_public: Mapped[bool] = oso.orm.attribute(default=False)
    pages: Mapped[int] = oso.orm.attribute(default=1)
    organization_id: Mapped[Optional[str]] = oso.orm.remote_relation("Organization")


class Chunk(Base, oso.orm.Resource):
    __tablename__ = "chunks"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    document_id: Mapped[uuid.UUID] = mapped_column(ForeignKey("documents.id"))
    document: Mapped[Document] = oso.orm.relation()


class Note(Base):
    """Nothing that the policy knows."""

    __tablename__ = "notes"
    id: Mapped[int] = mapped_column(primary_key=True)


def user(id):
    return oso_cloud.Value("User", id)


DRAFT, PUBLISHED, PUBLIC, FOREIGN = (uuid.UUID(int=n) for n in range(1, 5))

ROWS = [
    Document(id=DRAFT, title="draft", state=State.draft, organization_id="acme", pages=12),
    Document(id=PUBLISHED, title="published", state=State.published, organization_id="acme"),
    Document(id=PUBLIC, title="public", state=State.draft, is_public=True),
    Document(id=FOREIGN, title="foreign", state=State.published, organization_id="globex"),
    *(Chunk(id=n, document_id=uuid.UUID(int=n)) for n in range(1, 5)),
    Note(id=1),
]

FACTS = [
    ("has_role", user("ada"), "member", oso_cloud.Value("Organization", "acme")),
    ("has_role", user("root"), "admin", oso_cloud.Value("Organization", "acme")),
    ("has_role", user("ada"), "author", oso_cloud.Value("Document", str(DRAFT))),
]


def opened():
    """The database with its rows and the service with its facts."""
    engine = create_engine("postgresql+psycopg://")
    Base.metadata.create_all(engine)
    with oso.Session(engine) as session:
        session.add_all(ROWS)
        session.commit()
    service = oso_cloud.Oso(url=URL, api_key=KEY)
    service.api.clear_data()
    service.policy(POLICY)
    with service.batch() as tx:
        for fact in FACTS:
            tx.insert(fact)
    oso.init(Base.registry, url=URL, api_key=KEY)
    return engine
