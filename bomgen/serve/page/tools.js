// What the page does besides writing a plan: downloads, files that are dropped, comparison, sharing.
import { call, file, newTurn, stop } from "./api.js";
import { closeDialog, onClose, openDialog } from "./dialog.js";
import { button, complaint, field, framed, make, saveFile, table, word } from "./dom.js";

/** Run a long call with its progress and a button that stops it. Returns null when it failed. */
export async function long(page, place, name, request) {
  const bar = make("progress", { "aria-label": word("working") }), said = make("span", { role: "status" }, word("working"));
  place.replaceChildren(make("div", { className: "row" }, bar, said, button(word("stop"), stop)));
  onClose(stop);
  try {
    return await call(name, { ...page.request, ...request, turn: newTurn() }, (progress) => {
      const { stage, done, of } = progress;
      if (of) Object.assign(bar, { max: of, value: done });
      said.textContent = of ? `${stage}: ${done} / ${of}` : stage;
    });
  } catch (error) {
    const problems = error.data?.problems ?? [];
    place.replaceChildren(make("p", { className: "error" }, complaint(error)),
      make("ul", {}, ...problems.map((problem) => make("li", {}, `${word("line", problem.line)}: ${problem.message}; ${problem.remedy}`))));
    return null;
  } finally {
    onClose(() => {});
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
    say(complaint(error));
  }
}

/** A button for the list of parts without a price, to be filled in and dropped on the page. */
export function unpricedButton(page) {
  const said = make("span", { role: "status" });
  const ask = () => download(page, "unpriced-csv", (text) => { said.textContent = text; });
  return make("div", { className: "row" }, button(word("unpriced"), ask), said);
}

export async function downloadDialog(page) {
  const place = make("div", { role: "status" });
  const say = (text) => { place.textContent = text; };
  try {
    const { formats } = await call("formats");
    openDialog(word("download"), place, make("div", { className: "list" },
      ...formats.map((each) => button("", () => download(page, each.format, say)).appendChild(make("span", {}, each.format, make("small", {}, each.about))).parentNode)));
  } catch (error) {
    page.report(error);
  }
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

export async function importDialog(page, chosen) {
  if (!chosen) {
    const input = document.getElementById("chosen");
    input.onchange = () => { if (input.files[0]) importDialog(page, input.files[0]); input.value = ""; };
    return openDialog(word("import"), make("p", {}, word("import-hint")), button(word("choose-file"), () => input.click(), { className: "main" }),
      make("p", {}, word("unpriced-hint")), unpricedButton(page));
  }
  const dropped = { name: chosen.name, base64: await base64(chosen) };
  const place = make("div");
  const kinds = { "is-prices": takePrices, "is-bill": takeBill, "is-quote": takeQuote };
  const buttons = Object.entries(kinds).map(([name, action]) => button(word(name), () => action(page, place, dropped, {})));
  if (/\.ya?ml$/i.test(chosen.name)) {
    const open = async () => page.take({ path: chosen.name, text: await chosen.text(), version: "" });
    buttons.unshift(button(word("is-plan"), open));
  }
  openDialog(word("import"), make("p", {}, word("import-what", chosen.name)), make("div", { className: "row" }, ...buttons), place);
}

/** Ask what a file leaves open; `again` gets the answers. */
function ask(questions, answers, again) {
  const inputs = questions.map((question) => {
    const input = question.choices.length
      ? make("select", {}, make("option", { value: "" }, word("choose")), ...question.choices.map((choice) => make("option", { value: choice.value }, choice.label)))
      : make("input", {});
    return [question, input];
  });
  const done = () => {
    const open = inputs.find(([, input]) => !input.value);
    if (open) return open[1].focus();
    again({ ...answers, ...Object.fromEntries(inputs.map(([question, input]) => [question.key, input.value])) });
  };
  return make("div", { className: "fields" }, ...inputs.map(([question, input]) => field(question.message, input)), button(word("answer"), done, { className: "main" }));
}

const listed = (problems) => make("ul", {}, ...problems.map((each) => make("li", { className: each.severity }, [each.message, each.remedy].filter(Boolean).join("; "))));

const MOST_NAMED = 10; // rows of a price list

async function takePrices(page, place, dropped, answers) {
  const found = await long(page, place, "prices", { ...dropped, answers });
  if (!found) return;
  if (found.questions.length) return place.replaceChildren(ask(found.questions, answers, (more) => takePrices(page, place, dropped, more)));
  const content = [listed(found.problems)];
  if (found.coverage) {
    const { before, after } = found.coverage;
    const { unused } = found;
    const named = unused.slice(0, MOST_NAMED).join(", ") + (unused.length > MOST_NAMED ? ", …" : "");
    content.push(make("p", {}, word("coverage", before.priced, before.lines, after.priced, after.lines)),
      make("p", {}, `${before.amount} → ${after.amount} ${after.currency}`),
      unused.length ? make("p", { className: "warning" }, word("unused", unused.length, named)) : "",
      found.file.version ? make("p", { className: "warning" }, word("replaces", found.file.path)) : "", button(word("use-prices"), () => use(page, place, [found.file], found.text), { className: "main" }));
  }
  if (found.html) content.push(framed(found.html, word("is-prices")));
  place.replaceChildren(...content);
}

async function takeBill(page, place, dropped, answers) {
  const found = await long(page, place, "xray", { ...dropped, answers });
  if (!found) return;
  if (found.questions.length) return place.replaceChildren(ask(found.questions, answers, (more) => takeBill(page, place, dropped, more)));
  const use = found.plan ? button(word("use-plan"), () => page.take(found.plan), { className: "main" }) : "";
  place.replaceChildren(listed(found.problems), use, found.html ? framed(found.html, word("is-bill")) : "");
}

const KEPT = { plan: "choice-plan", force: "choice-force" };

async function takeQuote(page, place, dropped, choices) {
  const found = await long(page, place, "apply", { ...dropped, choices });
  if (!found) return;
  const open = found.conflicts.filter((conflict) => !conflict.chosen);
  const choose = open.map((conflict) => make("select", {}, make("option", { value: "" }, word("choose")), ...conflict.choices.map((choice) =>
    make("option", { value: choice.value }, choice.label || (choice.value in KEPT ? word(KEPT[choice.value]) : choice.value)))));
  const go = () => takeQuote(page, place, dropped, { ...choices, ...Object.fromEntries(open.map(({ key }, at) => [key, choose[at].value])) });
  const said = (each) => make("li", {}, each);
  place.replaceChildren(
    make("p", {}, word("edits", found.changes.length)), make("ul", {}, ...found.changes.map(said), ...found.follows.map(said)),
    ...(found.passed_over.length ? [make("h3", {}, word("passed-over")), make("ul", {}, ...found.passed_over.map(said))] : []),
    found.after && !open.length ? make("p", {}, `${found.before} → ${found.after} ${found.currency}`) : "",
    open.length
      ? make("div", { className: "fields" }, make("h3", {}, word("conflicts")),
        ...open.map((conflict, at) => field([conflict.message, conflict.remedy].filter(Boolean).join("; "), choose[at])), button(word("answer"), go, { className: "main" }))
      : button(word("use-edits"), () => use(page, place, found.files, found.text), { className: "main" }));
}

/** Save files beside the plan, and take its new text; it is saved by the user. */
async function use(page, place, files, text) {
  try {
    for (const each of files) await call("save", each);
    page.setText(text);
    closeDialog();
    if (files.length) page.tell(word("saved", files.map((each) => each.path).join(", ")));
  } catch (error) {
    place.prepend(make("p", { className: "error" }, complaint(error)));
  }
}

// comparison and sharing ---------------------------------------------------------------------------------------------

export async function compareDialog(page) {
  try {
    const { plans } = await call("files");
    const boxes = plans.filter((each) => each.path !== page.plan.path).map((each) => make("input", { type: "checkbox", value: each.path, title: each.title }));
    const place = make("div");
    const run = async () => {
      const others = [];
      for (const box of boxes.filter((each) => each.checked)) {
        const { path, text } = await call("open", { path: box.value });
        others.push({ path, text });
      }
      if (!others.length) return place.replaceChildren(make("p", { className: "error" }, word("compare-hint")));
      const { path, text } = page.request;
      const found = await long(page, place, "compare", { plans: [{ path, text }, ...others] });
      if (found) place.replaceChildren(framed(found.html, word("compare")));
    };
    openDialog(word("compare"), make("p", {}, word("compare-hint")),
      make("div", { className: "list" }, ...boxes.map((box) => make("label", {}, box, ` ${box.title} `, make("small", {}, box.value)))),
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
  const name = `${page.plan.path.split("/").pop().replace(/\.ya?ml$/, "")}.html`;
  place.replaceChildren(
    make("div", { className: "row" }, button(word("share-file"), () => saveFile(name, new Blob([found.html], { type: "text/html" })), { className: "main" })),
    field(word("share-link"), link), button(word("copy"), copy), make("p", {}, word("link-hint")));
}
