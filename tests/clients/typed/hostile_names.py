"""Names that could end a literal, or that have a meaning in the language, work like any other name."""

from typing import List

from oso_cloud import Oso

from hostile import Relation, Role, typed, value

thing = value("constructor", "1")
roles: List[Role] = [
    "it's \"quoted\"", "back\\slash", "new\nline", "${process.exit(1)}", "*/", "Prüfer", "😀"
]
relations: List[Relation] = ["Actor", "Resource", "self"]


def facts(client: Oso) -> None:
    oso = typed(client)
    oso.insert(("has_role", value("class", "a"), "new\nline", thing))
    oso.insert(("has_role", value("None", "a"), "*/", thing))
    oso.insert(("has_relation", thing, "Actor", value("None", "a")))
    oso.insert(("has_relation", thing, "Resource", value("Value", "a")))
    oso.insert(("__proto__", value("class", "a"), "any text", 7, False, value("None", "a")))
    oso.authorize(value("class", "a"), "any action", value("Value", "a"))
    oso.authorize(value("class", "a"), "\"\"\"", thing)
