// The text editor of the page: CodeMirror 6 with YAML, completion, problems and search.
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, isolateHistory } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, indentService, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const fromPage = Annotation.define();

// Colours are variables of the page's style sheet, so that light and dark need no second theme.
const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--code-key)" },
  { tag: [tags.string, tags.special(tags.string), tags.content, tags.number, tags.bool], color: "var(--code-value)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--code-comment)" },
  { tag: [tags.meta, tags.punctuation, tags.separator], color: "var(--muted)" },
]);

// Lines and columns of the engine count from 1, in code points; the editor counts UTF-16 units.
function offset(doc, line, column) {
  const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return at.from + Array.from(at.text).slice(0, column - 1).join("").length;
}

function position(doc, offset) {
  const line = doc.lineAt(offset);
  return { line: line.number, column: Array.from(doc.sliceString(line.from, offset)).length + 1 };
}

// A new line begins as the one before it, and deeper after a key without a value or in an item of a list. That of the
// language would continue the value, which is hardly ever meant.
const indented = indentService.of((context, at) => {
  const { text } = context.lineAt(at, -1);
  const deeper = /:\s*(#.*)?$/.test(text) || /^\s*- [\w.-]+:/.test(text);
  return /^ */.exec(text)[0].length + (deeper ? 2 : 0);
});

/** Create an editor. `changed(text)` is called after typing, `complete(text, line, column)` answers options. */
export function createEditor(parent, { label, phrases, changed, complete }) {
  const words = new Compartment(), undo = new Compartment();
  const worded = (label, phrases) => [
    EditorState.phrases.of(phrases),
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", spellcheck: "false", autocapitalize: "off" }),
  ];
  async function source(context) {
    const before = context.matchBefore(/[\w.\-]+|[:\-]\s/);
    if (!context.explicit && !before) return null;
    const { line, column } = position(context.state.doc, context.pos);
    const found = await complete(context.state.doc.toString(), line, column);
    if (!found || !found.options.length || context.aborted) return null;
    const types = { key: "property", part: "class", value: "constant" };
    return {
      from: offset(context.state.doc, line, found.from),
      options: found.options.map((option) => ({
        label: option.label,
        detail: option.detail || undefined,
        info: option.info || undefined,
        type: types[option.type],
        apply: option.type === "key" ? `${option.label}:${option.opens ? "" : " "}` : option.label,
      })),
      validFor: /^[\w.\-]*$/,
    };
  }
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: "",
      extensions: [
        lineNumbers(), foldGutter(), lintGutter(), undo.of(history()), drawSelection(), indentOnInput(), bracketMatching(),
        highlightActiveLine(), highlightActiveLineGutter(), highlightSelectionMatches(), EditorView.lineWrapping, indented,
        yaml(), syntaxHighlighting(colours), autocompletion({ override: [source], closeOnBlur: true }),
        // Tab is left to the browser: it leads out of the editor, for those who have no mouse.
        keymap.of([...completionKeymap, ...lintKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...defaultKeymap]),
        words.of(worded(label, phrases)),
        EditorView.updateListener.of((update) => {
          const own = update.transactions.some((transaction) => transaction.annotation(fromPage));
          if (update.docChanged && !own) changed(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    get text() {
      return view.state.doc.toString();
    },
    /** Replace what differs, so that cursor and scroll position stay and it is undone by itself. Lines end with a line feed. */
    set text(given) {
      const old = view.state.doc.toString(), text = given.replace(/\r\n?/g, "\n");
      if (old === text) return;
      let start = 0;
      const most = Math.min(old.length, text.length);
      while (start < most && old[start] === text[start]) start++;
      let end = 0;
      while (end < most - start && old[old.length - 1 - end] === text[text.length - 1 - end]) end++;
      view.dispatch({
        changes: { from: start, to: old.length - end, insert: text.slice(start, text.length - end) },
        annotations: [fromPage.of(true), isolateHistory.of("full")],
      });
    },
    /** Take the text of another plan, whose history is its own. */
    open(text) {
      this.text = text;
      view.dispatch({ effects: undo.reconfigure([]) });
      view.dispatch({ effects: undo.reconfigure(history()) });
    },
    setProblems(problems) {
      const doc = view.state.doc;
      const shown = problems.map((problem) => {
        const from = offset(doc, problem.line, problem.column);
        const to = Math.max(from, offset(doc, problem.end_line, problem.end_column));
        const severity = problem.severity === "note" ? "info" : problem.severity;
        return { from, to, severity, message: problem.message };
      });
      view.dispatch(setDiagnostics(view.state, shown));
    },
    setWords(label, phrases) {
      view.dispatch({ effects: words.reconfigure(worded(label, phrases)) });
    },
    show(line, column) {
      const anchor = offset(view.state.doc, line, column);
      view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
      view.focus();
    },
  };
}
