// The page of bomgen serve: the plan beside its result.
import { call, CallError, newTurn } from "./api.js";
import { byId, button, field, languageCode, make, setLanguage, tabList, table, word, words } from "./dom.js";
import { createEditor } from "./editor.js";
import { closeDialog, openDialog } from "./dialog.js";
import { compareDialog, downloadDialog, importDialog, searchDialog, shareDialog } from "./tools.js";

const TABS = ["quote", "report", "network", "racks", "bill", "cables", "prices"];
const PAUSE = 350; // milliseconds without typing before a build

const plan = { path: "plan.yaml", version: "", saved: null };
let shownTab = "quote", timer = 0, built = "", problemCount = null;

const editor = createEditor(byId("text"), {
  label: word("plan"), phrases: {}, changed: edited,
  complete: (text, line, column) => call("complete", { path: plan.path, text, line, column }).catch(() => null),
});

const unsaved = () => editor.text !== (plan.saved ?? "");
const store = (name, value) => { try { localStorage.setItem(name, value); } catch { /* private windows have none */ } };
const stored = (name) => { try { return localStorage.getItem(name); } catch { return null; } };

/** What the tools need of the page. */
const page = {
  get request() { return { path: plan.path, text: editor.text, language: languageCode() }; },
  plan, load, save, tell, report,
  setText(text) { editor.text = text; edited(); },
};

function tell(text, bad = false) {
  byId("state").textContent = text;
  byId("state").className = bad ? "bad" : "";
}

/** Say what went wrong; calls that a newer one ended say nothing. */
function report(error) {
  if (error instanceof CallError && error.data.error === "cancelled") return;
  tell(error instanceof TypeError ? word("lost") : word("failed", error.message), true);
}

function showFile() {
  byId("file").textContent = plan.path + (unsaved() ? ` (${word("unsaved")})` : "");
  byId("save").disabled = !unsaved();
  document.title = `${unsaved() ? "• " : ""}${plan.path} – bomgen`;
}

function edited() {
  showFile();
  clearTimeout(timer);
  timer = setTimeout(() => { build(); if (!byId("form").hidden) showForm(); }, PAUSE);
}

// result -------------------------------------------------------------------------------------------------------------

async function build() {
  clearTimeout(timer);
  newTurn();
  tell(word("working"));
  byId("headline").className = "old";
  const tab = shownTab, text = editor.text;
  try {
    const answer = await call("build", { ...page.request, base: plan.saved, tabs: [tab] });
    if (text !== editor.text || tab !== shownTab) return;
    showProblems(answer.problems);
    if (!(tab in answer.tabs)) return tell(word("not-built"), true);
    built = text;
    byId("headline").replaceChildren(...answer.headline.map(([label, value]) => make("div", {}, make("dt", {}, label), make("dd", {}, value))));
    byId("headline").className = "";
    showDelta(answer.delta);
    if (byId("frame").srcdoc !== answer.tabs[tab]) byId("frame").srcdoc = answer.tabs[tab];
    tell(word("built"));
  } catch (error) {
    report(error);
  }
}

function showProblems(problems) {
  editor.setProblems(problems.filter((problem) => !problem.file));
  problemCount = problems.length;
  showProblemCount();
  byId("problems").replaceChildren(...problems.map((problem) => {
    const place = problem.file ? `${problem.file}:${problem.file_line}` : word("line", problem.line);
    const text = `${place}: ${[problem.message, problem.remedy].filter(Boolean).join("; ")}`;
    return make("li", {}, button(text, () => { showView("text"); editor.show(problem.line, problem.column); }, { className: problem.severity }));
  }));
}

function showProblemCount() {
  byId("problems-title").textContent = problemCount ? word("problems", problemCount) : problemCount === 0 ? word("no-problems") : "";
}

const money = (amount, currency) => {
  if (amount === null) return "";
  const sign = amount.startsWith("-") ? "−" : Number(amount) ? "+" : "";
  const [whole, part] = amount.replace("-", "").split(".");
  return `${sign}${whole.replace(/\B(?=(\d{3})+$)/g, ",")}${part ? `.${part}` : ""} ${currency}`;
};

function showDelta(delta) {
  byId("delta").hidden = !delta || !delta.lines.length;
  if (!delta) return;
  const [summary, body] = byId("delta").children;
  summary.textContent = word("delta", delta.amount === null ? delta.lines.length : money(delta.amount, delta.currency));
  body.replaceChildren(table(
    [word("description"), word("before"), word("after"), word("amount")],
    delta.lines.map((line) => [line.description, line.before, line.after, money(line.amount, delta.currency)]),
  ));
}

// files --------------------------------------------------------------------------------------------------------------

async function load(request) {
  if (unsaved() && plan.saved !== null && !confirm(word("leave"))) return;
  try {
    take(await call("open", request));
    closeDialog();
  } catch (error) {
    report(error);
  }
}

function take(file) {
  Object.assign(plan, { path: file.path, version: file.version, saved: file.version ? file.text : null });
  editor.text = file.text;
  byId("frame").srcdoc = "";
  edited();
}
page.take = take;

async function save() {
  if (!unsaved()) return;
  if (!plan.version) return nameFile();
  return write();
}

async function write() {
  const text = editor.text;
  try {
    const { version } = await call("save", { path: plan.path, text, version: plan.version });
    Object.assign(plan, { version, saved: text });
    edited();
    tell(word("saved", plan.path));
  } catch (error) {
    if (error.data?.error === "changed") showChanged(error.data);
    else report(error);
  }
}

function nameFile() {
  const name = make("input", { value: plan.path, required: true });
  const done = () => { plan.path = name.value.trim() || plan.path; closeDialog(); write(); };
  name.onkeydown = (event) => { if (event.key === "Enter") done(); };
  openDialog(word("save"), make("div", { className: "fields" }, field(word("name-file"), name)), button(word("save"), done, { className: "main" }));
  name.select();
}

/** Another program wrote the file: nothing is lost until the user has chosen. */
function showChanged(theirs) {
  const text = make("pre", { className: "wide", tabIndex: 0 }, theirs.text ?? "");
  openDialog(word("changed"), make("p", {}, word("changed-why", plan.path)), make("div", { className: "row" },
    button(word("mine"), () => { plan.version = theirs.version; closeDialog(); write(); }),
    button(word("theirs"), () => { closeDialog(); take({ path: plan.path, ...theirs }); }, { className: "main" })), text);
}

async function openFiles() {
  try {
    const found = await call("files");
    const item = (request, title, name) => button("", () => load(request), {}).appendChild(
      make("span", {}, title, make("small", {}, name))).parentNode;
    const plans = found.plans.map((each) => item({ path: each.path }, each.title, each.path));
    const link = make("input", { "aria-label": word("share-link") });
    const openLink = () => load({ packed: link.value.split("#plan=").pop().trim() });
    openDialog(word("open"),
      make("h3", {}, word("plans", found.root)), make("div", { className: "list" }, ...(plans.length ? plans : [word("no-plans")])),
      make("h3", {}, word("gallery")),
      make("div", { className: "list" }, ...found.gallery.map((each) => item({ gallery: each.name }, each.title, each.name))),
      make("h3", {}, word("share-link")), make("div", { className: "row" }, link, button(word("open"), openLink)));
  } catch (error) {
    report(error);
  }
}

// form ---------------------------------------------------------------------------------------------------------------

function showView(name) {
  for (const view of ["text", "form"]) {
    byId(view).hidden = view !== name;
    byId(`view-${view}`).setAttribute("aria-selected", String(view === name));
    byId(`view-${view}`).tabIndex = view === name ? 0 : -1;
  }
  if (name === "form") showForm();
}

async function showForm(answers) {
  try {
    const request = answers ? { ...page.request, answers } : page.request;
    const found = await call("form", request);
    if (request.text !== editor.text) return;
    if (answers) page.setText(found.text);
    const focused = document.activeElement?.name;
    byId("form").replaceChildren(...found.questions.map(question));
    if (focused) byId("form").elements[focused]?.focus();
  } catch (error) {
    byId("form").replaceChildren(make("p", { className: "error" }, error.data?.error === "refused" ? error.message : word("form-waits")));
    if (error.data?.error !== "refused") report(error);
  }
}

function question(asked) {
  const label = words().questions[asked.id] ?? asked.title;
  const value = asked.value === null ? "" : String(asked.value);
  const name = asked.id === "purpose" ? "purpose" : asked.key;
  const change = (event) => { if (event.target.value !== "") showForm({ [name]: event.target.value }); };
  let input;
  if (asked.kind === "choice" && asked.choices.length && asked.choices.length < 12) {
    const known = asked.choices.some((choice) => String(choice.value) === value);
    const options = asked.choices.map((choice) => make("option", { value: choice.value }, words().values[choice.value] ?? choice.label));
    if (!known) options.unshift(make("option", { value: "" }, value || word("not-set")));
    input = make("select", { name, onchange: change }, ...options);
    input.value = known ? value : "";
  } else {
    const id = `choices-${name}`;
    input = make("input", { name, value, onchange: change, placeholder: word("not-set"), autocomplete: "off", inputMode: asked.kind === "number" ? "decimal" : "text" });
    if (asked.choices.length) {
      input.setAttribute("list", id);
      const list = make("datalist", { id }, ...asked.choices.map((choice) => make("option", { value: choice.value })));
      return make("div", {}, field(label, input), list);
    }
  }
  return field(label, input);
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
  byId("shown").setAttribute("aria-labelledby", `tab-${shownTab}`);
  editor.setWords(word("plan"), words().editor);
  showFile();
  showProblemCount();
  if (!byId("form").hidden) showForm();
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  if (theme) store("bomgen-theme", theme);
}

tabList(byId("tabs"), (tab) => {
  shownTab = tab.id.replace("tab-", "");
  byId("frame").title = word(shownTab);
  byId("shown").setAttribute("aria-labelledby", tab.id);
  byId("frame").srcdoc = "";
  build();
});
tabList(byId("views"), (tab) => showView(tab.id.replace("view-", "")));
byId("form").onsubmit = (event) => event.preventDefault();
byId("language").onchange = (event) => { speak(event.target.value); build(); };
byId("theme").onclick = () => {
  const now = document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  setTheme(now === "dark" ? "light" : "dark");
};
byId("open").onclick = openFiles;
byId("save").onclick = save;
byId("download").onclick = () => downloadDialog(page);
byId("import").onclick = () => importDialog(page);
byId("search").onclick = () => searchDialog(page);
byId("compare").onclick = () => compareDialog(page);
byId("share").onclick = () => shareDialog(page);

addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey)) return;
  const action = { s: save, o: openFiles, Enter: build }[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});
addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("over"); });
addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("over"); });
addEventListener("drop", (event) => {
  document.body.classList.remove("over");
  const [dropped] = event.dataTransfer.files;
  if (!dropped) return;
  event.preventDefault();
  importDialog(page, dropped);
}, true);
addEventListener("beforeunload", (event) => { if (unsaved() && built) event.preventDefault(); });

setTheme(stored("bomgen-theme"));
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
