// What the page does besides writing a plan: downloads, files that are dropped, comparison, sharing.
import { call, file, newTurn, stop } from "./api.js";
import { closeDialog, complain, onClose, openDialog } from "./dialog.js";
import { button, complaint, field, framed, make, placed, saveFile, sentence, table, word, words } from "./dom.js";

/** A stage of a long call in the language of the page. */
const stageName = (stage) => {
  const [, begun, name] = /^(alternative|phase) (.+)$/.exec(stage) ?? [];
  return begun ? `${words().stages[begun] ?? begun} ${name}` : words().stages[stage] ?? stage;
};

/** Run a long call with its progress and a button that stops it. Null when it failed: then the place says why, above `more`. */
export async function long(page, place, name, request, more = "") {
  const bar = make("progress", { "aria-label": word("working") }), said = make("span", { role: "status" }, word("working"));
  place.replaceChildren(make("div", { className: "row" }, bar, said, button(word("stop"), stop)));
  complain(null);
  onClose(() => bar.isConnected && stop());
  try {
    return await call(name, { ...page.request, ...request, turn: newTurn() }, (progress) => {
      const { stage, done, of } = progress;
      if (of) Object.assign(bar, { max: of, value: done });
      const name = stageName(stage);
      said.textContent = of ? word("said", name, `${done} / ${of}`) : name;
    });
  } catch (error) {
    const problems = error.data?.problems ?? [];
    // A newer call may have the place by now.
    const complained = problems.length ? word("problems", problems.length) : complaint(error);
    if (bar.isConnected) place.replaceChildren(make("p", { className: "error" }, complained), make("ul", {}, ...problems.map((problem) => make("li", {}, placed(problem)))), more);
    return null;
  }
}

// downloads ----------------------------------------------------------------------------------------------------------

/** Download a file of the plan, and say its name, or what is wrong. */
async function download(page, format, say) {
  say(word("working"));
  try {
    const { name, content } = await file("download", { ...page.request, format, turn: newTurn() });
    saveFile(name, content);
    say(name);
  } catch (error) {
    if (error.data?.error !== "cancelled") say(complaint(error)); // a newer download has begun
  }
}

const UNPRICED = "unpriced-csv";

/** Buttons for the parts without a price: to enter prices here, or in a list that is dropped on the page afterwards. */
export function unpricedButton(page) {
  const said = make("span", { role: "status" });
  const ask = () => download(page, UNPRICED, (text) => { said.textContent = text; });
  return make("div", { className: "row" }, button(word("enter-prices"), () => enterPrices(page)), button(word("unpriced"), ask), said);
}

/** Rows of a CSV file as bomgen writes it, and such a row. */
const csvRows = (text) => text.trim().split(/\r?\n/).map((line) => [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain));
const csvRow = (values) => values.map((value) => `"${value.replaceAll('"', '""')}"`).join(",");

/** Ask for prices of the parts without one. They become a list, as if it were dropped; each time one of its own. */
async function enterPrices(page) {
  const list = make("div", {}, word("working")), place = make("div");
  openDialog(word("enter-prices"), list, place);
  try {
    const { content } = await file("download", { ...page.request, format: UNPRICED, turn: newTurn() });
    const [head, ...rows] = csvRows(await content.text());
    const [description, price, currency] = ["description", "price", "currency"].map((name) => head.indexOf(name));
    const inputs = rows.map((row) => make("input", { inputMode: "decimal", autocomplete: "off", size: 10, ariaLabel: row[description] }));
    const done = async () => {
      rows.forEach((row, at) => { row[price] = inputs[at].value.trim(); });
      const priced = rows.filter((row) => row[price]), first = rows.findIndex((row) => !row[price]);
      if (!priced.length) return inputs[first].focus();
      takePrices(page, place, { name: `${page.name}-prices.csv`, entered: true, base64: await base64(new Blob([[head, ...priced].map(csvRow).join("\n")])) }, []);
    };
    list.replaceChildren(
      table([word("description"), word("in-brackets", word("unit-price"), rows[0][currency])], rows.map((row, at) => [row[description], inputs[at]])),
      make("div", { className: "row" }, button(word("answer"), done, { className: "main" })));
    inputs[0].focus();
  } catch (error) {
    list.replaceChildren(make("p", { className: "error" }, complaint(error)));
  }
}

/** Show the quote and open the print dialog of the browser, which may save it as PDF. */
async function printQuote(page, place, say) {
  say(word("working"));
  try {
    const { tabs } = await call("build", { ...page.request, tabs: ["quote"] });
    place.replaceChildren(framed(tabs.quote, word("quote"), (frame) => frame.contentWindow.print()));
  } catch (error) {
    say(complaint(error));
  }
}

export async function downloadDialog(page) {
  const place = make("div", { role: "status" }, word("working")), list = make("div");
  const say = (text) => { place.textContent = text; };
  openDialog(word("download"), place, list);
  try {
    const { formats, missing } = await call("formats", page.request);
    const lacks = missing.map((name) => words().questions[name]).join(word("and"));
    place.replaceChildren(lacks ? make("p", { className: "warning" }, word("unaddressed", lacks)) : "");
    const print = button("", () => printQuote(page, place, say));
    print.append(make("span", {}, word("print"), make("small", {}, word("print-hint"))));
    const tile = (each) => button("", () => download(page, each.format, say)).appendChild(make("span", {}, each.format, make("small", {}, words().formats[each.format.split("/").pop()] ?? each.about))).parentNode;
    list.append(...Object.entries(formats).flatMap(([reader, files], at) => [make("h3", {}, words().readers[reader]), make("div", { className: "list" }, at ? "" : print, ...files.map(tile))]));
  } catch (error) {
    say(complaint(error));
  }
}

// places and actions ---------------------------------------------------------------------------------------------------

/** Offer what the page has to go to or to do by its words: actions, tabs and fields. Enter takes the first. */
export function paletteDialog() {
  const shown = [...document.querySelectorAll("header button:not(#theme), [role=tab], #questions [name]")].filter((each) => each.checkVisibility() || each.form);
  const go = (target) => { closeDialog(); if (target.form) { document.getElementById("view-form").click(); target.focus(); } else target.click(); };
  const entries = shown.map((target) => [target.labels?.[0]?.firstChild.textContent ?? target.textContent, target]).map(([label, target]) => button(label, () => go(target)));
  const list = make("div", { className: "list" }, ...entries), filter = searched(entries);
  openDialog(word("go-to"), make("form", { onsubmit: (event) => { event.preventDefault(); entries.find((each) => !each.hidden)?.click(); } }, filter), list);
  filter.focus();
}

/** A field that shows only what has all its words; without words the first `most`. */
export function searched(things, most = Infinity) {
  const filter = make("input", { type: "search", ariaLabel: word("filter"), placeholder: word("filter") });
  filter.oninput = () => {
    const wanted = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    things.forEach((each, at) => { each.hidden = wanted.length ? !wanted.every((part) => each.textContent.toLowerCase().includes(part)) : at >= most; });
  };
  filter.oninput();
  return filter;
}

// files that are dropped ---------------------------------------------------------------------------------------------

function base64(chosen) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.split(",")[1] ?? "");
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(chosen);
  });
}

export async function importDialog(page, chosen, ...more) {
  if (!chosen) {
    const input = document.getElementById("chosen");
    input.onchange = () => { if (input.files[0]) importDialog(page, ...input.files); input.value = ""; };
    return openDialog(word("import"), make("p", {}, word("import-hint")), button(word("choose-file"), () => input.click(), { className: "main" }),
      make("p", {}, word("unpriced-hint")), unpricedButton(page));
  }
  const place = make("div");
  const outputs = { "is-outputs": takeOutputs }; // the only files of which several belong together
  const kinds = more.length ? outputs : { "is-prices": takePrices, "is-bill": takeBill, "is-quote": takeQuote, ...outputs };
  const sent = async (file) => ({ name: file.name, base64: await base64(file) });
  const buttons = Object.entries(kinds).map(([name, action]) => button(word(name), async () => {
    try {
      const [first, ...others] = await Promise.all([chosen, ...more].map(sent));
      action(page, place, first, [], others);
    } catch (error) {
      complain(error);
    }
  }));
  if (!more.length && /\.ya?ml$/i.test(chosen.name)) {
    const open = async () => page.take({ path: chosen.name, text: await chosen.text(), version: "" });
    buttons.unshift(button(word("is-plan"), open));
  }
  openDialog(word("import"), make("p", {}, word("import-what", [chosen, ...more].map((file) => file.name).join(", "))), make("div", { className: "row" }, ...buttons), place);
}

/** Ask what a file leaves open: `again` gets the answers, in steps. Going back asks the last ones anew, with their answers. */
function ask(questions, steps, again) {
  const kept = steps.kept ?? {};
  const inputs = questions.map((question) => {
    const input = question.choices.length
      ? make("select", {}, make("option", { value: "" }, word("choose")), ...question.choices.map((choice) => make("option", { value: choice.value }, choice.label)))
      : make("input", {});
    input.value = kept[question.key] ?? "";
    return [question, input];
  });
  const done = () => {
    const open = inputs.find(([, input]) => !input.value);
    if (open) return open[1].focus();
    again(withAnswers(steps, Object.fromEntries(inputs.map(([question, input]) => [question.key, input.value]))));
  };
  return make("div", { className: "fields" }, ...inputs.map(([question, input]) => field(question.message, input)),
    make("div", { className: "row" }, button(word("answer"), done, { className: "main" }), goBack(steps, again)));
}

/** A button back to the last questions; nothing before the first. */
function goBack(steps, again) {
  if (!steps.length) return "";
  const kept = Object.assign({}, steps.kept, ...steps);
  return button(word("back"), () => again(Object.assign(steps.slice(0, -1), { kept })));
}

const withAnswers = (steps, answers) => Object.assign([...steps, answers], { kept: steps.kept });
const answersOf = (steps) => Object.assign({}, ...steps);

/** List problems, with a button for each choice that one leaves: `again` gets it as the next step. */
const listed = (problems, steps, again) => make("ul", {}, ...problems.map((each) => make("li", { className: each.severity }, sentence(each),
  ...each.questions.flatMap(({ key, choices }) => choices.map(({ value, label }) => button(word("instead", label), () => again(withAnswers(steps, { [key]: value }))))))));

const MOST_NAMED = 10; // rows of a price list
const PART_OF = "part."; // begins the answers that are kept: what an unknown number of a list is
const ANSWERED = "bomgen-parts", MOST_ANSWERED = 500;

/** The parts that were chosen for numbers of any list. */
function chosenParts(page, steps) {
  const chosen = Object.entries(answersOf(steps)).filter(([key]) => key.startsWith(PART_OF));
  const parts = { ...JSON.parse(page.stored(ANSWERED) ?? "{}"), ...Object.fromEntries(chosen) };
  const kept = Object.fromEntries(Object.entries(parts).slice(-MOST_ANSWERED));
  if (chosen.length) page.store(ANSWERED, JSON.stringify(kept));
  return kept;
}

async function takePrices(page, place, dropped, steps) {
  const again = (more) => takePrices(page, place, dropped, more);
  const found = await long(page, place, "prices", { ...dropped, answers: { ...chosenParts(page, steps), ...answersOf(steps) } }, goBack(steps, again));
  if (!found) return;
  if (found.questions.length) return place.replaceChildren(ask(found.questions, steps, again));
  const content = [listed(found.problems, steps, again)];
  if (steps.length) content.push(make("div", { className: "row" }, goBack(steps, again)));
  if (found.coverage) {
    const { before, after } = found.coverage;
    const { unused } = found;
    const named = [...unused.slice(0, MOST_NAMED), ...(unused.length > MOST_NAMED ? ["…"] : [])].join(word("and"));
    content.push(make("p", {}, word("coverage", before.priced, before.lines, after.priced, after.lines)),
      make("p", {}, `${before.priced ? `${before.amount} → ` : ""}${after.amount}`),
      unused.length ? make("p", { className: "warning" }, word("unused", unused.length, named)) : "",
      found.near.length ? make("div", { className: "warning" }, word("near"), make("ul", {}, ...found.near.slice(0, MOST_NAMED).map((each) => make("li", {}, `${each.part} ≈ ${each.parts.join(word("and"))}`)))) : "",
      found.file.version ? make("p", { className: "warning" }, word("replaces", found.file.path)) : "", make("p", {}, word("whose-prices")),
      make("div", { className: "row" }, button(word("use-prices"), () => use(page, [found.file], found.text), { className: "main" }), button(word("use-costs"), () => use(page, [found.file], found.as_costs))));
  }
  if (found.html) content.push(framed(found.html, word("is-prices")));
  place.replaceChildren(...content);
}

/** A choice among the plans of the folder, the open one as it is edited; `take` gets one with its text. */
async function planChoice(page, taken, take) {
  const { plans } = await call("files");
  const choice = make("select", { ariaLabel: word("against-plan") }, make("option", { value: "" }, word("against-plan")),
    ...plans.map(({ path, title }) => make("option", { value: path, selected: path === taken?.path }, title)));
  choice.onchange = async () => {
    try {
      const { path, text } = choice.value === page.request.path ? page.request : await call("open", { path: choice.value });
      take({ path, text });
    } catch (error) {
      complain(error);
    }
  };
  return choice;
}

async function takeBill(page, place, dropped, steps, _, plan) {
  const again = (more, of = plan) => takeBill(page, place, dropped, more, _, of);
  const found = await long(page, place, "xray", { ...dropped, answers: answersOf(steps), ...(plan ? { plan } : {}) }, goBack(steps, again));
  if (!found) return;
  if (found.questions.length) return place.replaceChildren(ask(found.questions, steps, again));
  const use = found.plan ? button(word("use-plan"), () => page.take(found.plan), { className: "main" }) : "";
  const choice = found.has_cables ? await planChoice(page, plan, (chosen) => again(steps, chosen)) : "";
  place.replaceChildren(listed(found.problems, steps, again), make("div", { className: "row" }, use, choice, goBack(steps, again)), found.html ? framed(found.html, word("is-bill")) : "");
}

async function takeOutputs(page, place, first, _, others) {
  const found = await long(page, place, "verify", { files: [first, ...others] });
  if (found) place.replaceChildren(framed(found.html, word("is-outputs")));
}

const KEPT = { plan: "choice-plan", force: "choice-force" };

async function takeQuote(page, place, dropped, steps) {
  const again = (more) => takeQuote(page, place, dropped, more);
  const found = await long(page, place, "apply", { ...dropped, choices: answersOf(steps) }, goBack(steps, again));
  if (!found) return;
  const labelled = ({ value, label }) => ({ value, label: label || (value in KEPT ? word(KEPT[value]) : value) });
  const open = found.conflicts.filter((conflict) => !conflict.chosen)
    .map((conflict) => ({ key: conflict.key, message: sentence(conflict), choices: conflict.choices.map(labelled) }));
  const said = (each) => make("li", {}, each);
  place.replaceChildren(
    make("p", {}, word("edits", found.changes.length)), make("ul", {}, ...found.changes.map(said), ...found.follows.map(said)),
    ...(found.passed_over.length ? [make("h3", {}, word("passed-over")), make("ul", {}, ...found.passed_over.map(said))] : []),
    found.after && !open.length ? make("p", {}, `${found.before} → ${found.after}`) : "",
    ...(open.length
      ? [make("h3", {}, word("conflicts")), ask(open, steps, again)]
      : [make("div", { className: "row" }, button(word("use-edits"), () => use(page, found.files, found.text), { className: "main" }), goBack(steps, again))]));
}

/** Save files beside the plan, and take its new text; it is saved by the user. */
async function use(page, files, text) {
  try {
    for (const each of files) await call("save", each);
    page.setText(text);
    closeDialog();
    if (files.length) page.tell(word("saved", files.map((each) => each.path).join(word("and"))));
  } catch (error) {
    complain(error);
  }
}

// comparison and sharing ---------------------------------------------------------------------------------------------

/** Say that the folder has more plans than are listed. */
export const unlisted = ({ plans, whole }) => (whole ? "" : make("p", { className: "warning" }, word("unlisted", plans.length)));

export async function compareDialog(page) {
  try {
    const found = await call("files");
    const box = (title, name, request) => Object.assign(make("input", { type: "checkbox", value: name, title }), { request });
    const plans = found.plans.filter((each) => each.path !== page.request.path).map((each) => box(each.title, each.path, { path: each.path }));
    const designs = found.gallery.map((each) => box(each.title, each.name, { gallery: each.name }));
    const place = make("div"), copy = make("input", { value: page.request.path.replace(/(\.ya?ml)$/, "-2$1"), "aria-label": word("name-file") });
    const run = async () => {
      const others = [...plans, ...designs].filter((each) => each.checked);
      if (!others.length) return place.replaceChildren(make("p", { className: "error" }, word("compare-hint")));
      try {
        const opened = await Promise.all(others.map(({ request }) => call("open", request)));
        // A design opens as a new plan of its name, which may be that of the open plan, too.
        const plans = others.map(({ request }, at) => ({ ...opened[at], path: request.path ?? `${request.gallery}.yaml` }));
        const compared = await long(page, place, "compare", { plans: [page.request, ...plans] });
        if (!compared) return;
        place.replaceChildren(framed(compared.html, word("compare")));
        place.scrollIntoView();
      } catch (error) {
        complain(error);
      }
    };
    const saveCopy = async () => {
      try {
        await call("save", { path: copy.value.trim(), text: page.request.text, version: "" });
        await compareDialog(page);
      } catch (error) {
        complain(error);
      }
    };
    const list = (boxes) => make("div", { className: "list" }, ...boxes.map((each) => make("label", {}, each, ` ${each.title} `, make("small", {}, each.value))));
    openDialog(word("compare"), make("p", {}, word(plans.length ? "compare-hint" : "compare-none")), list(plans), unlisted(found),
      make("div", { className: "row" }, copy, button(word("save-copy-as"), saveCopy)),
      make("details", { open: !plans.length }, make("summary", {}, word("compare-designs")), list(designs)),
      make("div", { className: "row" }, button(word("compare"), run, { className: "main" })), place);
  } catch (error) {
    page.report(error);
  }
}

export async function shareDialog(page) {
  const place = make("div");
  openDialog(word("share"), place);
  const found = await long(page, place, "share", {});
  if (!found) return;
  // The token of this server is not in the link: whoever gets it opens it at a server of their own.
  const link = make("input", { readOnly: true, value: `${location.origin}/#plan=${found.packed}`, onfocus: (event) => event.target.select() });
  const copy = async (event) => {
    link.select();
    await navigator.clipboard.writeText(link.value);
    event.target.textContent = word("copied");
  };
  place.replaceChildren(
    make("div", { className: "row" }, button(word("share-file"), () => saveFile(`${page.name}.html`, new Blob([found.html], { type: "text/html" })), { className: "main" })),
    field(word("share-link"), link), button(word("copy"), copy), make("p", {}, word("link-hint")));
}
