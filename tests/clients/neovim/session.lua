-- What an author of a policy does in Neovim, without a screen. The settings are those of docs/editors.md; the
-- current buffer is a policy with a mistake. A failure ends the editor with exit code 1.

local function wait_for(what, condition)
  assert(vim.wait(30000, condition, 20), "waited in vain for " .. what)
end

local function lines()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
end

local function check(found, expected)
  assert(found == expected, string.format("found %s, expected %s", vim.inspect(found), vim.inspect(expected)))
end

local function session()
  check(vim.bo.filetype, "polar")
  wait_for("a diagnostic", function() return #vim.diagnostic.get(0) > 0 end)
  local errors = vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR })
  check(#errors, 1)
  check(errors[1].code, "P0201")
  check(errors[1].lnum, 6)

  -- The quick fix, chosen from the editor's menu.
  vim.ui.select = function(actions, _, choose) choose(actions[1], 1) end
  vim.api.nvim_win_set_cursor(0, { 7, 13 })
  vim.lsp.buf.code_action()
  wait_for("the fix", function() return lines():find("raeder") == nil end)
  wait_for("no error", function()
    return #vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR }) == 0
  end)

  -- Completion of an unfinished line, by the function that Neovim calls for it.
  vim.api.nvim_buf_set_lines(0, 7, 7, false, { '  "reader" if "reader" on "' })
  vim.api.nvim_win_set_cursor(0, { 8, 27 })
  local params = vim.lsp.util.make_position_params()
  params.position.character = 27
  local answers = vim.lsp.buf_request_sync(0, "textDocument/completion", params, 30000)
  local words = {}
  for _, answer in pairs(answers) do
    for _, item in ipairs(vim.lsp.util.text_document_completion_list_to_complete_items(answer.result, "")) do
      table.insert(words, item.word)
    end
  end
  check(table.concat(words, " "), "parent")
  vim.api.nvim_buf_set_lines(0, 7, 8, false, { '  "reader" if "reader" on "parent";' })

  -- A role is renamed everywhere; a taken name is refused with the reason.
  vim.api.nvim_win_set_cursor(0, { 4, 12 })
  vim.lsp.buf.rename("viewer")
  wait_for("the new name", function() return lines():find('"reader"', 1, true) == nil end)
  local _, n_renamed = lines():gsub('"viewer"', "")
  check(n_renamed, 5)
  local refused
  vim.notify = function(message) refused = message end
  vim.lsp.buf.rename("read")
  wait_for("a refusal", function() return refused ~= nil end)
  assert(refused:find("`read` is already a permission of `Repo`", 1, true), refused)

  -- The test is run by its lens, and the result is a message.
  local shown
  vim.lsp.handlers["window/showMessage"] = function(_, result) shown = result.message end
  vim.lsp.codelens.refresh()
  wait_for("lenses", function() return #vim.lsp.codelens.get(0) == 3 end)
  local lens = vim.lsp.codelens.get(0)[3]
  check(lens.command.title, "run test")
  vim.lsp.buf_request_sync(0, "workspace/executeCommand", lens.command, 30000)
  wait_for("the result", function() return shown ~= nil end)
  check(shown, "test `readers read`: 1 of 1 assertion holds")
end

local passed, reason = xpcall(session, debug.traceback)
if not passed then
  io.stderr:write(reason .. "\n")
  vim.cmd("cquit 1")
end
vim.cmd("qall!")
