// The first screen: what the cluster should do, the quotes of the folder, and designs to start from.
import { call } from "./api.js";
import { byId, button, complaint, make, table, word, words } from "./dom.js";
import { fill, nameOf, question } from "./questions.js";
import { searchDialog } from "./search.js";
import { long, searched, unlisted } from "./tools.js";

const ACTIONS = { bill: (page) => page.importBill() }; // goals without questions
const DESIGNS = 6;
const COLUMNS = ["total", "difference", "workload.requests_per_minute", "workload.latency.ttft_seconds", "workload.cost_per_million_tokens", "design"]; // of designs with other GPUs

const pictures = new Map();
let turn = 0; // of the start that is shown; one that a newer has overtaken adds nothing
export const forgetPictures = () => pictures.clear();

/** Show the start. `page` has `begin(text)` for the plan of an inquiry, `load(request)` for one that exists, and `importBill()`. */
export async function showStart(page) {
  const mine = ++turn, place = byId("start"), inquiry = make("div", { className: "inquiry", hidden: true });
  const cards = Object.entries(words().goals).map(([goal, title]) => {
    const card = make("button", { type: "button", ariaExpanded: "false", onclick: choose }, title, make("small", {}, words().hints[goal]));
    function choose() {
      for (const each of cards) each.ariaExpanded = String(each === card && !(goal in ACTIONS));
      inquiry.hidden = goal in ACTIONS;
      if (goal in ACTIONS) ACTIONS[goal](page);
      else showInquiry(page, inquiry, goal);
    }
    return card;
  });
  place.replaceChildren(make("p", { id: "start-failed", className: "error", role: "alert" }), make("div", {}, make("h2", {}, word("goal")), make("div", { className: "goals" }, ...cards), inquiry));
  try {
    const found = await call("files"), { gallery } = found;
    if (mine !== turn) return;
    place.append(plansOf(page, found), designsOf(page, gallery), linkOf(page));
    drawDesigns(place, gallery);
  } catch (error) {
    place.append(make("p", { className: "error", role: "alert" }, complaint(error)));
  }
}

/** Show the questions of a goal over a plan that is written as they are answered, and below them the designs that meet it. */
function showInquiry(page, place, goal) {
  const fields = make("div", { className: "fields" }), failed = make("p", { className: "error", role: "alert" }), offers = make("div");
  let text = "", last = Promise.resolve();
  const answer = (answers) => { last = last.then(() => write(answers)); };
  async function write(answers) {
    try {
      const found = await call("form", { path: page.newPath, text, answers, goal }), shown = found.questions;
      ({ text } = found);
      failed.textContent = "";
      offers.replaceChildren();
      if ([...fields.querySelectorAll("[name]")].map((input) => input.name).join() !== shown.map(nameOf).join()) {
        fields.replaceChildren(...shown.map((asked) => question(asked, (name, value) => answer({ [name]: value }))));
        fields.querySelector("[name]").focus();
      }
      for (const asked of shown) fill(fields.querySelector(`[name="${nameOf(asked)}"]`), asked);
    } catch (error) {
      failed.textContent = complaint(error);
    }
  }
  const answered = async (then) => {
    const input = document.activeElement;
    if (fields.contains(input) && input.value !== input.dataset.known) input.dispatchEvent(new Event("change"));
    await last;
    if (text) then();
  };
  const form = make("form", { onsubmit: (event) => { event.preventDefault(); answered(() => showOffers(page, offers, text)); } }, fields, failed,
    make("div", { className: "said" }, make("span", {}, word("assumed")), make("button", { className: "main" }, word("show-offers"))));
  place.replaceChildren(form, offers);
  answer({});
}

/** Show the designs that meet an inquiry side by side, and below them those with other GPUs. */
async function showOffers(page, place, text) {
  const found = await long(page, place, "offers", { path: page.newPath, text });
  if (!found) return;
  const use = (design, className) => button(word("use-design"), () => page.begin(design.text), { className });
  const shown = ([, , value, range]) => [value, range ? make("small", {}, range) : ""];
  const list = (rows = []) => make("dl", {}, ...rows.flatMap((row) => [make("dt", {}, row[1]), make("dd", {}, ...shown(row))]));
  const card = (design, at) => {
    const best = at === found.recommended, { why, total, difference, figure, design: whole } = Object.groupBy(design.rows, ([id]) => (id.includes(".") ? "figure" : id));
    return make("section", { className: best ? "card best" : "card" }, make("h3", {}, design.title, best && !design.title.startsWith(word("recommended")) ? make("span", { className: "chip accent" }, word("recommended")) : ""),
      make("p", {}, why[0][2]), make("p", { className: "total" }, ...shown(total?.[0] ?? ["", "", word("no-price")])), list(difference), list(figure), list(whole), use(design, best ? "main" : "edged"));
  };
  const columns = COLUMNS.filter((column) => found.offers.some(({ rows }) => rows.some(([id]) => id === column))), cell = ({ rows }, column) => make("div", { className: "stacked" }, ...shown(rows.find(([id]) => id === column) ?? ["", "", "–"]));
  const heads = columns.map((column) => found.offers.flatMap(({ rows }) => rows).find(([id]) => id === column)?.[1]);
  place.replaceChildren(make("div", { className: "offers" }, ...found.offers.map(card)), found.others.length ? make("details", {}, make("summary", {}, word("other-gpus", found.others.length)),
    table([words().questions.gpu, ...heads, ""], found.others.map((design) => [design.title, ...columns.map((column) => cell(design, column)), use(design, "edged")]))) : "",
    button(word("more-designs"), () => searchDialog({ ...page, request: { path: page.newPath, text: found.offers[found.recommended].text }, setText: page.begin }), { className: "edged" }));
  place.scrollIntoView({ block: "start" });
}

/** The state of a quote: one that was sent expires when its validity is over. */
const status = ({ state, date, valid_days: days }) => (state === "sent" && Date.parse(date) + days * 86400000 < Date.now() ? word("expired") : words().values[state] ?? "");

/** The plans of the folder as a table that is searched by words. */
function plansOf(page, found) {
  const open = (each) => make("button", { type: "button", onclick: () => page.load({ path: each.path }) }, make("span", {}, each.title, make("small", {}, each.path)));
  const rows = found.plans.map((each) => [open(each), each.number, each.customer, each.date, status(each)]);
  const listed = table([word("title"), word("number"), word("customer"), word("date"), words().questions.state], rows);
  for (const row of listed.rows) for (const at of [1, 3, 4]) row.cells[at].classList.add("second");
  const filter = searched([...listed.tBodies[0].rows]);
  return make("div", { id: "plans" }, make("div", { className: "heading" }, make("h3", {}, word("plans", found.root)), filter, button(word("new-plan"), page.beginPlan, { className: "edged" })),
    rows.length ? make("div", { className: "card", tabIndex: 0 }, listed) : make("p", {}, word("no-plans")), unlisted(found));
}

function designsOf(page, gallery) {
  const cards = gallery.map((each) => make("button", { type: "button", onclick: () => page.load({ gallery: each.name }) }, make("img", { alt: "" }), each.title, make("small", {}, each.name)));
  const filter = searched(cards, DESIGNS);
  return make("div", { id: "designs" }, make("div", { className: "heading" }, make("h3", {}, word("gallery")), filter), make("div", { className: "list" }, ...cards));
}

function linkOf(page) {
  const link = make("input", { ariaLabel: word("share-link") });
  return make("div", { id: "link" }, make("h3", {}, word("share-link")), make("div", { className: "row" }, link, button(word("open"), () => page.load({ packed: link.value.split("#plan=").pop().trim() }), { className: "edged" })), make("small", {}, word("link-hint")));
}

/** Draw the designs one after the other, as long as somebody looks at them. */
async function drawDesigns(place, gallery) {
  const places = [...place.querySelectorAll("#designs img")];
  for (const [at, { name }] of gallery.entries()) {
    try {
      if (!pictures.has(name) && places[at].isConnected && !document.body.matches('[data-view="work"]')) pictures.set(name, (await call("picture", { name })).svg);
    } catch (error) {
      if (error.data?.error === "lost") return;
    }
    if (pictures.has(name)) places[at].src = `data:image/svg+xml,${encodeURIComponent(pictures.get(name))}`;
  }
}
