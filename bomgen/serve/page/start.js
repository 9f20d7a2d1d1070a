// The first screen: what the cluster should do, the quotes of the folder, and designs to start from.
import { call } from "./api.js";
import { byId, button, complaint, make, table, word, words } from "./dom.js";
import { fill, nameOf, question } from "./questions.js";
import { unlisted } from "./tools.js";

/** Goals in the order of their cards: by purpose the questions in the words of the customer, at most five, the purpose
    itself included where there is a choice. A goal without questions is an action of the page. */
const GOALS = {
  serve: { inference: ["model", "requests", "prompt", "output", "tpot"] },
  train: { training: ["model", "tokens", "days", "gpu"] },
  tune: { fine_tuning: ["purpose", "model", "tokens", "days", "gpu"], reinforcement: ["purpose", "model", "steps", "days", "gpu"] },
  count: { none: ["purpose", "gpu", "gpus", "topology"], compute: ["purpose", "flops", "precision", "gpu"] },
  budget: { none: ["budget", "site-power", "gpu"] },
  extend: {},
  bill: {},
};
const PRICED = { "quote.price_book": "indicative" }; // a first answer has a price
const DESIGNS = 6;

const pictures = new Map();
let turn = 0; // of the start that is shown; one that a newer has overtaken adds nothing
export const forgetPictures = () => pictures.clear();

/** Show the start. `page` has `begin(text)` for the plan of an inquiry, `load(request)` for one that exists, and `importBill()`. */
export async function showStart(page) {
  const mine = ++turn, place = byId("start"), inquiry = make("div", { className: "inquiry", hidden: true });
  const cards = Object.entries(GOALS).map(([goal, asked]) => {
    const isInquiry = Object.keys(asked).length > 0;
    const card = make("button", { type: "button", ariaExpanded: "false", onclick: choose }, words().goals[goal], make("small", {}, words().hints[goal]));
    function choose() {
      for (const each of cards) each.ariaExpanded = String(each === card && isInquiry);
      inquiry.hidden = !isInquiry;
      if (isInquiry) showInquiry(page, inquiry, asked);
      else if (goal === "bill") page.importBill();
      else byId("plans").querySelector("input").focus();
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

/** Show the questions of a goal over a plan that is written as they are answered. */
function showInquiry(page, place, questions) {
  const purposes = Object.keys(questions);
  const fields = make("div", { className: "fields" }), failed = make("p", { className: "error", role: "alert" });
  let text = "", last = Promise.resolve();
  const answer = (answers) => { last = last.then(() => write(answers)); };
  async function write(answers) {
    try {
      const found = await call("form", { path: page.newPath, text, answers });
      ({ text } = found);
      failed.textContent = "";
      const of = Object.fromEntries(found.questions.map((asked) => [asked.id, asked])), shown = questions[of.purpose.value].map((id) => of[id]);
      if ([...fields.querySelectorAll("[name]")].map((input) => input.name).join() !== shown.map(nameOf).join()) {
        fields.replaceChildren(...shown.map((asked) => question(asked, (name, value) => answer({ [name]: value }), asked.id === "purpose" ? purposes : null)));
        fields.querySelector("[name]").focus();
      }
      for (const asked of shown) fill(fields.querySelector(`[name="${nameOf(asked)}"]`), asked);
    } catch (error) {
      failed.textContent = complaint(error);
    }
  }
  const done = async () => {
    const input = document.activeElement;
    if (fields.contains(input) && input.value !== input.dataset.known) input.dispatchEvent(new Event("change"));
    await last;
    if (text) page.begin(text);
  };
  const form = make("form", { onsubmit: (event) => { event.preventDefault(); done(); } }, fields, failed,
    make("div", { className: "said" }, make("span", {}, word("assumed")), make("button", { className: "main" }, word("show-quote"))));
  place.replaceChildren(form);
  answer({ purpose: purposes[0], ...PRICED });
}

/** The plans of the folder as a table that is searched by words. */
function plansOf(page, found) {
  const open = (each) => make("button", { type: "button", onclick: () => page.load({ path: each.path }) }, make("span", {}, each.title, make("small", {}, each.path)));
  const rows = found.plans.map((each) => [open(each), each.number, each.customer, each.date]);
  const listed = table([word("title"), word("number"), word("customer"), word("date")], rows);
  for (const row of listed.rows) for (const at of [1, 3]) row.cells[at].classList.add("second");
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

/** A field that shows only what has all its words; without words the first `most`. */
function searched(things, most = Infinity) {
  const filter = make("input", { type: "search", ariaLabel: word("filter"), placeholder: word("filter") });
  filter.oninput = () => {
    const wanted = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    things.forEach((each, at) => { each.hidden = wanted.length ? !wanted.every((part) => each.textContent.toLowerCase().includes(part)) : at >= most; });
  };
  filter.oninput();
  return filter;
}

/** Draw the designs one after the other, as long as somebody looks at them. */
async function drawDesigns(place, gallery) {
  const places = [...place.querySelectorAll("#designs img")];
  for (const [at, { name }] of gallery.entries()) {
    try {
      if (!pictures.has(name) && places[at].isConnected && !document.body.matches('[data-view="work"]')) pictures.set(name, (await call("picture", { name })).svg);
    } catch (error) {
      if (["cancelled", "lost"].includes(error.data?.error)) return;
    }
    if (pictures.has(name)) places[at].src = `data:image/svg+xml,${encodeURIComponent(pictures.get(name))}`;
  }
}
