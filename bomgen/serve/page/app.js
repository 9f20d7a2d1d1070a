// The page of bomgen serve: the plan beside its result.
import { call, CallError, newTurn } from "./api.js";
import { byId, button, complaint, field, grouped, languageCode, make, placed, saveFile, sentence, setLanguage, showDocument, tabList, table, word, words } from "./dom.js";
import { showDrawings, watchDrawings } from "./drawings.js";
import { createEditor } from "./editor.js";
import { closeDialog, complain, openDialog } from "./dialog.js";
import { fieldOf, fill, nameOf, question, showNotes } from "./questions.js";
import { searchDialog } from "./search.js";
import { forgetPictures, showStart } from "./start.js";
import { compareDialog, downloadDialog, importDialog, paletteDialog, shareDialog, unpricedButton } from "./tools.js";

const TABS = ["quote", "report", "network", "racks", "bill", "cables", "prices", "margin"];
const GONE = ["lost", "token"]; // the server has ended, or another one has its place
const NEW = "my-cluster.yaml"; // until it is saved under another name
const PAUSE = 50; // milliseconds without typing before a build
const SLUG = /^[a-z0-9][a-z0-9-]*$/; // the name of a plan

// `saved` is the text on disk, null for a new plan; `opened` the text that the page began with; `end` ends its lines.
let plan = { path: "plan.yaml", version: "", saved: null, opened: "", end: "\n" };
let shownTab = "quote", shown = { tab: "", html: "" }, timer = 0;

const editor = createEditor(byId("text"), {
  label: word("plan"), phrases: {}, changed: edited,
  complete: (text, line, column) => call("complete", { path: plan.path, text, line, column }).catch(() => null),
});

const stem = (path) => path.split("/").pop().replace(/\.ya?ml$/i, "");
const unsaved = () => editor.text !== (plan.saved ?? "");
const typed = () => unsaved() && editor.text !== plan.opened;
const store = (name, value) => { try { localStorage.setItem(name, value); } catch { /* private windows have none */ } };
const stored = (name) => { try { return localStorage.getItem(name); } catch { return null; } };

/** A text of the editor, whose lines end with a line feed, as the file has it. */
const asFile = (text) => text.replaceAll("\n", plan.end);

/** What the tools need of the page. */
const page = {
  get request() { return { path: plan.path, text: asFile(editor.text) }; },
  get name() { return stem(plan.path); },
  tell, report, load, beginPlan, store, stored, newPath: NEW,
  importBill: () => importDialog(page),
  setText(text) { editor.text = text; edited(); },
  /** Begin with the plan of an inquiry. */
  begin(text) { if (mayLeave()) { take({ path: NEW, text, version: "" }); showView("form"); } },
};

function tell(text, bad = false, gone = false) {
  byId("state").textContent = text;
  byId("copy").hidden = !gone;
  byId("state").className = bad ? "bad" : "";
}

/** Say what went wrong; calls that a newer one ended say nothing. */
function report(error) {
  if (!(error instanceof CallError)) throw error;
  if (error.data.error !== "cancelled") tell(complaint(error), true, GONE.includes(error.data.error));
}

/** Say what went wrong where somebody looks: in the dialog if it is open, or at the start. */
function refuse(error) {
  if (byId("dialog").open) complain(error);
  else if (document.body.dataset.view === "start") byId("start-failed").textContent = complaint(error);
  else report(error);
}

function showFile() {
  byId("file").textContent = plan.saved === null && !editor.text ? "" : unsaved() ? word("in-brackets", plan.path, word("unsaved")) : plan.path;
  byId("save").disabled = !unsaved();
  document.title = `${unsaved() ? "• " : ""}${plan.path} – bomgen`;
}

function edited() {
  showFile();
  tell(word("working"));
  clearTimeout(timer);
  timer = setTimeout(() => { build(); if (!byId("form").hidden) showForm(); }, PAUSE);
}

// result -------------------------------------------------------------------------------------------------------------

async function build() {
  clearTimeout(timer);
  tell(word("working"));
  byId("summary").classList.add("old");
  const tab = shownTab, text = editor.text, phase = byId("phase").value;
  if (!text.trim()) return showEmpty();
  try {
    const answer = await call("build", { ...page.request, turn: newTurn(), base: plan.saved && asFile(plan.saved), tabs: [tab], phase });
    if (text !== editor.text || tab !== shownTab || phase !== byId("phase").value) return;
    showProblems(answer.problems);
    if (!(tab in answer.tabs)) {
      if (tab !== shown.tab) showResult({ tab, html: "" });
      return tell(shown.html ? word("not-built") : words().errors.problems, true);
    }
    showFigures(byId("headline"), answer.headline);
    showFigures(byId("figures"), answer.figures);
    byId("more").hidden = !answer.figures.length;
    byId("summary").classList.remove("old");
    showDelta(answer.delta);
    showPhases(answer.phases);
    showResult({ tab, html: answer.tabs[tab] });
    tell(word("built"));
  } catch (error) {
    report(error);
  }
}

/** Nothing is written yet: say how to begin. */
function showEmpty() {
  showProblems([]);
  for (const list of ["headline", "figures"]) byId(list).replaceChildren();
  for (const list of ["more", "delta", "phase"]) byId(list).hidden = true;
  showResult({ tab: "", html: "" });
  tell(word("begin"));
}

const showFigures = (list, figures) => list.replaceChildren(...figures.map(([label, value, range]) =>
  make("div", {}, make("dt", {}, label), make("dd", {}, value, range ? make("small", {}, range) : null))));

/** Let a phase of the plan be chosen, as long as it has some; without a choice the result is that of the whole. */
function showPhases(phases) {
  const picker = byId("phase"), { value } = picker;
  picker.replaceChildren(new Option(word("all-phases"), ""), ...phases.map((name) => new Option(name)));
  picker.value = phases.includes(value) ? value : "";
  picker.hidden = !phases.length;
}

function showResult(result) {
  byId("unpriced").hidden = result.tab !== "prices" || !result.html;
  const same = result.tab === shown.tab;
  if (same && result.html === shown.html) return;
  shown = result;
  showDocument(byId("frame"), result.html, same, result.tab === "quote").then(() => showDrawings(["network", "racks"].includes(result.tab)));
}

let problems = null; // of the plan that is shown; null before there is one
function showProblems(found) {
  problems = found;
  editor.setProblems(problems.filter((problem) => !problem.file).map((problem) => ({ ...problem, message: sentence(problem) })));
  byId("problems").replaceChildren(...problems.map((problem) =>
    make("li", {}, button(placed(problem), () => showPlace(problem), { className: problem.severity }))));
  showProblemCount();
  showFieldNotes();
}

/** Lead to the field of a problem if the form shows one, else to its line. */
function showPlace(problem) {
  byId("notes-list").hidePopover();
  showPane("plan");
  const input = byId("form").hidden ? null : fieldOf(byId("questions"), problem);
  if (input) return input.focus();
  showView("text");
  editor.show(problem.line, problem.column);
}

const showFieldNotes = () => showNotes(byId("questions"), problems ?? [], (key, fix) => showForm({ [key]: fix }));

function showProblemCount() {
  const count = problems?.length ?? 0, worst = problems?.some((problem) => problem.severity === "error") ? "error" : "warning";
  Object.assign(byId("notes"), { hidden: !count, textContent: word("problems", count), className: `chip ${worst}` });
  byId("notes-below").textContent = count ? word("problems", count) : word("no-problems");
}

const money = (amount, currency) => {
  if (amount === null) return "";
  const sign = amount.startsWith("-") ? "−" : Number(amount) ? "+" : "";
  return `${sign}${grouped(amount.replace("-", ""))} ${currency}`;
};

function showDelta(delta) {
  byId("delta").hidden = !delta || !delta.lines.length;
  if (!delta) return;
  byId("delta").textContent = word("delta", delta.amount === null ? delta.lines.length : money(delta.amount, delta.currency));
  byId("delta-list").replaceChildren(table(
    [word("description"), word("before"), word("after"), word("amount")],
    delta.lines.map((line) => [line.description, line.before, line.after, money(line.amount, delta.currency)]),
  ));
}

// files --------------------------------------------------------------------------------------------------------------

const mayLeave = () => !typed() || confirm(word("leave"));

async function load(request) {
  if (!mayLeave()) return;
  try {
    take(await call("open", request));
    closeDialog();
  } catch (error) {
    refuse(error);
  }
}

/** Begin with the text of a file, which `show` puts into the editor. */
function take({ path, text, version }, show = (text) => editor.open(text)) {
  show(text);
  plan = { path, version, saved: version ? editor.text : null, opened: editor.text, end: text.includes("\r\n") ? "\r\n" : "\n" };
  byId("phase").replaceChildren();
  showResult({ tab: "", html: "" });
  showWork();
  edited();
}

/** Begin with an empty text and the form, whose first answer writes a plan. */
async function beginPlan() {
  if (!mayLeave()) return;
  closeDialog();
  take({ path: NEW, text: "", version: "" });
  showView("form");
  await showForm();
  byId("questions").elements.purpose?.focus();
}
page.take = (file) => { if (mayLeave()) { closeDialog(); take(file); } };

let saving = Promise.resolve();
/** Save the plan, but only after the last save: until it ends, the version of the file is not known. */
function save() {
  const next = () => unsaved() && (!plan.version ? nameFile() : changesSent() ? nameVersion() : write(plan.path, plan.version));
  saving = saving.then(next, next);
}

/** Write a text into a file; once it is there, it is that of the editor, too. */
async function write(path, version, text = editor.text) {
  const file = plan, given = editor.text;
  try {
    const saved = await call("save", { path, text: asFile(text), version });
    Object.assign(file, { path, version: saved.version, saved: text, opened: text });
    if (file !== plan) return true; // another one was opened meanwhile
    if (text !== given) editor.text = text;
    edited();
    tell(word("saved", path));
    return true;
  } catch (error) {
    if (error.data?.error === "changed" && file === plan) showChanged(path, error.data, text);
    else refuse(error);
    return false;
  }
}

/** Whether the text changes a quote that the customer has, other than its state. */
function changesSent() {
  const rest = (text) => text.replace(/^ +state:.*$/m, "");
  return /^ +state: *(sent|ordered)\b/m.test(plan.saved) && rest(plan.saved) !== rest(editor.text);
}

/** Save a quote that was sent as its next version, a draft in a file of its own. */
async function nameVersion() {
  const next = Number(/^ +revision: *(\d+)/m.exec(plan.saved)?.[1] ?? 1) + 1;
  const { text } = await call("set", { text: editor.text, set: { "quote.revision": next, "quote.state": "draft" } });
  editor.text = text;
  nameFile(plan.path.replace(/(-r\d+)?(\.ya?ml)$/i, `-r${next}$2`));
}

/** The number of the quote as a file name: that of a new plan, which overwrites no other. */
const fileOfNumber = () => (/^ +number: *"?([\w-]+)/m.exec(editor.text)?.[1].toLowerCase() ?? stem(NEW)) + ".yaml";

function nameFile(path = plan.path === NEW ? fileOfNumber() : plan.path) {
  const name = make("input", { value: path, required: true });
  const done = async (event) => {
    event.preventDefault();
    const named = name.value.trim(), path = /\.ya?ml$/i.test(named) ? named : `${named}.yaml`, before = stem(plan.path), after = stem(path);
    // Files and cover of the quote have the name of the plan, which follows that of its file.
    const follows = SLUG.test(before) && SLUG.test(after);
    const text = follows ? editor.text.replace(new RegExp(`^name: ${before}(?=\\s|$)`, "m"), `name: ${after}`) : editor.text;
    if (await write(path, "", text)) closeDialog();
  };
  openDialog(word("save"), make("form", { className: "fields", onsubmit: done }, field(word("name-file"), name), make("button", { className: "main" }, word("save"))));
  name.select();
}

/** Another program wrote the file, or a new plan has its name: nothing is lost until the user has chosen. */
function showChanged(path, theirs, mine) {
  const why = word(plan.version ? "changed-why" : "replaces", path), unread = theirs.text === null;
  openDialog(word(plan.version ? "changed" : "save"), make("p", {}, why), make("div", { className: "row" },
    button(word("mine"), async () => { if (await write(path, theirs.version, mine)) closeDialog(); }),
    unread ? "" : button(word("theirs"), () => { closeDialog(); take({ path, ...theirs }, page.setText); }, { className: "main" })),
    unread ? make("p", { className: "warning" }, word("no-text")) : make("pre", { className: "wide", tabIndex: 0 }, theirs.text));
}

let left = null; // what had the focus before the start was shown
/** Show the start, which leaves the open plan as it is until another one is chosen. */
function openFiles() {
  left = document.activeElement;
  document.body.dataset.view = "start";
  byId("start").hidden = false;
  return showStart(page);
}

function showWork() {
  document.body.dataset.view = "work";
  byId("start").hidden = true;
}

/** Return from the start to the plan that is open. */
function returnToWork() {
  if (!editor.text && plan.saved === null) return;
  showWork();
  left?.focus();
}

// form ---------------------------------------------------------------------------------------------------------------

function showView(name) {
  for (const view of ["text", "form"]) {
    byId(view).hidden = view !== name;
    byId(`view-${view}`).setAttribute("aria-selected", String(view === name));
    byId(`view-${view}`).tabIndex = view === name ? 0 : -1;
  }
  store("bomgen-view", name);
  if (name === "form" && document.body.dataset.view === "work") showForm();
}

let refused; // the text of the plan that the last refusal is about
/** Show the answers of the plan, or write `answers` into it. An answer that is refused leaves the form as it is, and why
    it was stays until the plan is another one: an earlier request for the form may be answered after it. */
async function showForm(answers) {
  const form = byId("questions"), failed = byId("form-failed"), text = editor.text;
  try {
    const found = await call("form", answers ? { ...page.request, answers } : page.request);
    if (text !== editor.text) return answers && showForm(answers);
    if (answers || text !== refused) failed.textContent = "";
    if (answers) page.setText(found.text);
    const focused = document.activeElement?.name;
    Object.entries(Object.groupBy(found.questions, (asked) => asked.group)).forEach(showGroup);
    if (focused && !document.activeElement.name) form.elements[focused]?.focus();
    for (const asked of found.questions) fill(form.elements[nameOf(asked)], asked);
    showFieldNotes();
  } catch (error) {
    if (error.data?.error !== "refused") return report(error);
    failed.textContent = error.message;
    refused = text;
    if (!answers) form.replaceChildren();
  }
}

let answering = Promise.resolve();
/** Do something with the plan once it has what is typed into the form, whose fields tell only when they are left. */
const answered = (action) => async () => {
  const input = document.activeElement;
  if (input?.form === byId("questions") && input.value !== input.dataset.known) input.dispatchEvent(new Event("change"));
  await answering;
  action(page);
};

/** Show the questions of a group below its heading; where they are those that are shown, what is being typed stays. */
function showGroup([name, asked]) {
  const id = `group-${name}`, shown = byId(id)?.parentNode;
  const names = [...(shown?.querySelectorAll("[name]") ?? [])].map((input) => input.name);
  if (names.join() === asked.map(nameOf).join()) return;
  const made = make("div", { role: "group", className: "questions", "aria-labelledby": id }, make("h2", { id }, words().groups[name]), ...asked.map((each) => question(each, (key, value) => { answering = answering.then(() => showForm({ [key]: value })); })));
  if (shown) shown.replaceWith(made);
  else byId("questions").append(made);
}

// language, theme, keys ----------------------------------------------------------------------------------------------

function speak(code) {
  setLanguage(code);
  store("bomgen-language", code);
  byId("language").value = languageCode();
  byId("tabs").replaceChildren(...TABS.map((tab) => make("button", {
    type: "button", role: "tab", id: `tab-${tab}`, "aria-selected": String(tab === shownTab), "aria-controls": "shown", tabIndex: tab === shownTab ? 0 : -1,
  }, word(tab))));
  byId("frame").title = word(shownTab);
  byId("unpriced").replaceChildren(unpricedButton(page));
  byId("shown").setAttribute("aria-labelledby", `tab-${shownTab}`);
  editor.setWords(word("plan"), words().editor);
  showFile();
  showProblemCount();
  byId("questions").replaceChildren();
  forgetPictures();
  if (document.body.dataset.view === "start") showStart(page);
  else if (!byId("form").hidden) showForm();
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  if (theme) store("bomgen-theme", theme);
  if (shown.html) showDocument(byId("frame"), shown.html, true, shown.tab === "quote");
}

tabList(byId("tabs"), (tab) => {
  shownTab = tab.id.replace("tab-", "");
  byId("frame").title = word(shownTab);
  byId("shown").setAttribute("aria-labelledby", tab.id);
  build();
});
tabList(byId("views"), (tab) => showView(tab.id.replace("view-", "")));
byId("questions").onsubmit = (event) => event.preventDefault();
byId("questions").oninput = () => { byId("save").disabled = false; };
byId("language").onchange = (event) => { speak(event.target.value); build(); };
byId("theme").onclick = () => {
  const now = document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  setTheme(now === "dark" ? "light" : "dark");
};
byId("phase").onchange = build;
byId("open").onclick = openFiles;
byId("save").onclick = answered(save);
byId("copy").onclick = () => saveFile(plan.path.split("/").pop(), new Blob([page.request.text]));
byId("download").onclick = answered(downloadDialog);
byId("import").onclick = answered(importDialog);
byId("search").onclick = answered(searchDialog);
byId("compare").onclick = answered(compareDialog);
byId("share").onclick = answered(shareDialog);

for (const pane of document.querySelectorAll("nav [data-pane]")) pane.onclick = () => showPane(pane.dataset.pane);
/** Show one of the panes where there is room for one alone. */
function showPane(name) {
  document.body.dataset.pane = name;
  for (const pane of document.querySelectorAll("nav [data-pane]")) pane.toggleAttribute("aria-current", pane.dataset.pane === name);
}

addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.body.dataset.view === "start" && !byId("dialog").open) returnToWork();
  if (!(event.ctrlKey || event.metaKey)) return;
  const action = { s: answered(save), o: openFiles, k: paletteDialog, Enter: build }[event.key];
  if (!action) return;
  event.preventDefault();
  if (!byId("dialog").open) action();
}, true); // before the editor, where Ctrl-Enter begins a line
addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("over"); });
addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("over"); });
addEventListener("drop", (event) => {
  document.body.classList.remove("over");
  const dropped = event.dataTransfer.files;
  if (!dropped.length) return;
  event.preventDefault();
  importDialog(page, ...dropped);
}, true);
addEventListener("beforeunload", (event) => { if (typed()) event.preventDefault(); });

watchDrawings(byId("frame"), page);
setTheme(stored("bomgen-theme"));
showPane("plan");
showView(stored("bomgen-view") ?? "form");
speak(stored("bomgen-language") || (navigator.language.startsWith("zh") ? "zh" : "en"));
try {
  const found = await call("files");
  const packed = /^#plan=(.+)$/.exec(location.hash);
  if (packed) await load({ packed: packed[1] });
  else if (found.opened) await load({ path: found.opened });
  else await openFiles();
} catch (error) {
  report(error);
}
