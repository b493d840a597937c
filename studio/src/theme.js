// The look of the editor. Its colours are the page's, which reach into the shadow tree as variables.

export const theme = `
.cm-editor.cm-editor {
& { height: 100%; background: var(--surface); color: var(--text); font-size: 13px; }
&.cm-focused { outline: none; }
.cm-scroller { font-family: var(--mono); line-height: 1.6; overflow: auto; }
.cm-content { padding: 10px 0 40vh; caret-color: var(--accent); }
.cm-line { padding: 0 14px 0 8px; }
.cm-gutters { background: var(--surface); color: var(--faint); border: 0; }
.cm-lineNumbers .cm-gutterElement { padding: 0 4px 0 12px; min-width: 30px; font-variant-numeric: tabular-nums; }
.cm-lint-marker { content: normal; width: 8px; height: 8px; margin: 6px 3px; border-radius: 50%; background: var(--warn); }
.cm-lint-marker-error { background: var(--bad); }
.cm-gutter-lint { width: 14px; }
.cm-foldGutter .cm-gutterElement { color: var(--faint); cursor: pointer; }
.cm-activeLine, .cm-activeLineGutter { background: var(--hover); }
&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground,
.cm-selectionBackground { background: var(--select) !important; }
.cm-cursor { border-left: 2px solid var(--accent); }
.cm-matchingBracket { background: var(--select) !important; color: inherit !important; }
.cm-selectionMatch { background: var(--hover); }
.cm-line.lit { background: var(--lit); box-shadow: inset 3px 0 0 var(--good); }
.cm-line.miss { background: var(--lit-miss); box-shadow: inset 3px 0 0 var(--bad); }
.cm-specialChar { color: var(--bad); background: var(--lit-miss); border-radius: 3px; }
.tok-comment { color: var(--comment); font-style: italic; }
.tok-string { color: var(--string); }
.tok-atom { color: var(--atom); }
.tok-keyword { color: var(--accent); }
.tok-type { color: var(--type); }
.tok-function { color: var(--text); font-weight: 600; }
.cm-lintRange { background-image: none; }
.cm-lintRange-error { background: none; text-decoration: underline wavy var(--bad) 1px; text-underline-offset: 3px; }
.cm-lintRange-warning { background: none; text-decoration: underline wavy var(--warn) 1px; text-underline-offset: 3px; }
.cm-tooltip { background: var(--raised); color: var(--text); border: 1px solid var(--line); border-radius: 6px;
  box-shadow: var(--shadow); overflow: hidden; max-width: min(640px, 90vw); }
.cm-diagnostic { white-space: pre-wrap; padding: 8px 12px; border: 0; font: 12.5px/1.5 var(--sans); margin: 0; }
.cm-diagnostic-error { border-left: 3px solid var(--bad); }
.cm-diagnostic-warning { border-left: 3px solid var(--warn); }
.cm-diagnosticAction { margin: 4px 0 2px; padding: 2px 8px; border-radius: 4px; border: 1px solid var(--line); background: var(--hover);
  color: var(--accent); font: 12px var(--sans); cursor: pointer; }
.cm-diagnosticSource { color: var(--muted); font-size: 11.5px; opacity: 1; }
.cm-hover { padding: 8px 12px; max-height: 50vh; overflow: auto; }
.cm-hover pre { font: 12.5px/1.5 var(--mono); white-space: pre-wrap; margin: 0 0 6px; }
.cm-tooltip-autocomplete ul { font: 12.5px/1.6 var(--mono) !important; }
.cm-tooltip-autocomplete ul li { padding: 1px 10px !important; }
.cm-tooltip-autocomplete ul li[aria-selected] { background: var(--accent) !important; color: var(--on-accent) !important; }
.cm-completionDetail { color: inherit; opacity: .75; font-style: normal; }
.cm-panels { background: var(--raised); color: var(--text); border-color: var(--line); }
.cm-panel.cm-search { padding: 8px; font: 12.5px var(--sans); }
.cm-panel input, .cm-panel button, .cm-textfield, .cm-button { font: inherit; background: var(--surface); background-image: none;
  color: var(--text); border: 1px solid var(--line); border-radius: 4px; padding: 2px 6px; }
.cm-foldPlaceholder { background: var(--hover); border: 0; color: var(--muted); padding: 0 6px; }
@media (max-width: 760px) { & { font-size: 14px; } .cm-foldGutter { display: none !important; } }
}
`;
