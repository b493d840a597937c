"""The language server through a client that checks every message against the protocol's model.

`pytest-lsp` has the capabilities of real editors. The session is the same with each: what an author of a policy
does from the first mistake to a renamed role.
"""

import os
import sqlite3
import tempfile

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

URI = "file:///policies/app.polar"
POLICY = """actor User {}
resource Repo {
  roles = ["reader"];
  permissions = ["read"];
  relations = { parent: Repo };
  "read" if "raeder";
  "reader" if "reader" on "parent";
}
test "readers read" {
  setup { has_role(User{"ada"}, "reader", Repo{"site"}); }
  assert allow(User{"ada"}, "read", Repo{"site"});
}
"""
GOOD = POLICY.replace("raeder", "reader")
DOCUMENT = types.TextDocumentIdentifier(uri=URI)

# The database that the data bindings are for.
FOLDER = tempfile.TemporaryDirectory()
DATABASE = os.path.join(FOLDER.name, "app.db")
with sqlite3.connect(DATABASE) as connection:
    connection.execute("CREATE TABLE repos (id INTEGER, owner_id INTEGER)")
connection.close()
BINDINGS_URI = "file:///policies/bindings.yaml"
BINDINGS = """facts:
    has_role(User:_, reader, Repo:_):
        query: SELECT owner_id, id FROM repos
"""


@pytest_lsp.fixture(
    params=["neovim", "visual_studio_code", "emacs"],
    config=ClientServerConfig(server_command=[os.environ["PORTCULLIS"], "lsp", "--stdio", "--database", f"sqlite:{DATABASE}"]),
)
async def client(request, lsp_client: LanguageClient):
    capabilities = client_capabilities(request.param)
    result = await lsp_client.initialize_session(types.InitializeParams(capabilities=capabilities))
    assert result.server_info.name == "portcullis"
    yield
    await lsp_client.shutdown_session()


def pulls(client: LanguageClient) -> bool:
    return client.capabilities.text_document.diagnostic is not None


async def opened(client: LanguageClient, text: str):
    """The diagnostics of a text, as this editor gets them."""
    item = types.TextDocumentItem(uri=URI, language_id="polar", version=1, text=text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
    if pulls(client):
        params = types.DocumentDiagnosticParams(text_document=DOCUMENT)
        return (await client.text_document_diagnostic_async(params)).items
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    return client.diagnostics[URI]


def at(line: int, character: int):
    return {"text_document": DOCUMENT, "position": types.Position(line=line, character=character)}


async def test_a_mistake_has_a_page_and_a_fix(client: LanguageClient):
    found = await opened(client, POLICY)
    errors = [item for item in found if item.severity == types.DiagnosticSeverity.Error]
    assert [error.code for error in errors] == ["P0201"]
    assert errors[0].code_description.href.endswith("/P0201-undeclared-term.md")
    params = types.CodeActionParams(
        text_document=DOCUMENT, range=errors[0].range, context=types.CodeActionContext(diagnostics=errors)
    )
    [action] = await client.text_document_code_action_async(params)
    [edit] = action.edit.changes[URI]
    assert edit.new_text == '"reader"'


async def test_what_is_offered_before_and_after_on(client: LanguageClient):
    await opened(client, POLICY)
    labels = lambda items: [item.label for item in items]
    after = await client.text_document_completion_async(types.CompletionParams(**at(6, 29)))
    assert labels(after) == ["parent"]
    before = await client.text_document_completion_async(types.CompletionParams(**at(6, 16)))
    assert labels(before) == ["reader", "read", "parent"]


async def test_a_rule_is_explained_and_its_names_are_found(client: LanguageClient):
    await opened(client, POLICY)
    hover = await client.text_document_hover_async(types.HoverParams(**at(6, 4)))
    assert "has_relation(resource, \"parent\", parent: Repo)" in hover.contents.value
    [definition] = await client.text_document_definition_async(types.DefinitionParams(**at(6, 16)))
    assert definition.range.start == types.Position(line=2, character=11)
    context = types.ReferenceContext(include_declaration=True)
    references = await client.text_document_references_async(types.ReferenceParams(context=context, **at(2, 13)))
    assert [place.range.start.line for place in references] == [2, 6, 6, 9]
    symbols = await client.text_document_document_symbol_async(types.DocumentSymbolParams(text_document=DOCUMENT))
    assert [symbol.name for symbol in symbols] == ["actor User", "resource Repo", 'test "readers read"']
    folds = await client.text_document_folding_range_async(types.FoldingRangeParams(text_document=DOCUMENT))
    assert [(fold.start_line, fold.end_line) for fold in folds] == [(1, 7), (8, 11)]


async def test_a_role_is_renamed_or_the_reason_is_shown(client: LanguageClient):
    await opened(client, GOOD)
    prepared = await client.text_document_prepare_rename_async(types.PrepareRenameParams(**at(2, 13)))
    assert prepared.placeholder == "reader"
    edit = await client.text_document_rename_async(types.RenameParams(new_name="viewer", **at(2, 13)))
    assert [edit.range.start.line for edit in edit.changes[URI]] == [2, 5, 6, 6, 9]
    with pytest.raises(Exception, match="`read` is already a permission of `Repo`"):
        await client.text_document_rename_async(types.RenameParams(new_name="read", **at(2, 13)))


async def test_a_test_is_run_and_a_rule_is_shown_as_sql(client: LanguageClient):
    await opened(client, GOOD)
    lenses = await client.text_document_code_lens_async(types.CodeLensParams(text_document=DOCUMENT))
    assert [lens.command.title for lens in lenses] == ["SQL", "SQL", "run test"]
    execute = lambda command: client.workspace_execute_command_async(
        types.ExecuteCommandParams(command=command.command, arguments=command.arguments)
    )
    ran = await execute(lenses[2].command)
    assert (ran["passed"], ran["total"]) == (1, 1)
    assert client.messages[-1].message == "test `readers read`: 1 of 1 assertion holds"
    shown = await execute(lenses[0].command)
    assert shown["question"] == 'has_permission(User:example, "read", Repo:?)'
    assert shown["sql"].startswith("WITH") or shown["sql"].startswith("SELECT")


async def test_a_text_is_formatted(client: LanguageClient):
    await opened(client, "actor  User{}\n")
    options = types.FormattingOptions(tab_size=2, insert_spaces=True)
    params = types.DocumentFormattingParams(text_document=DOCUMENT, options=options)
    [edit] = await client.text_document_formatting_async(params)
    assert edit.new_text == "actor User {}\n"


async def test_data_bindings(client: LanguageClient):
    await opened(client, GOOD)
    document = types.TextDocumentIdentifier(uri=BINDINGS_URI)
    item = types.TextDocumentItem(uri=BINDINGS_URI, language_id="yaml", version=1, text=BINDINGS)
    client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))

    async def labels(line: int, character: int):
        position = types.Position(line=line, character=character)
        params = types.CompletionParams(text_document=document, position=position)
        return [item.label for item in await client.text_document_completion_async(params)]

    assert await labels(2, len("        query: SELECT owner_id, id FROM ")) == ["repos"]
    assert (await labels(2, len("        query: SELECT ")))[:2] == ["id", "owner_id"]
    options = types.FormattingOptions(tab_size=2, insert_spaces=True)
    params = types.DocumentFormattingParams(text_document=document, options=options)
    [edit] = await client.text_document_formatting_async(params)
    assert edit.new_text == """facts:
  has_role(User:_, reader, Repo:_):
    query: SELECT owner_id, id FROM repos
"""
    client.text_document_did_save(types.DidSaveTextDocumentParams(text_document=document))
