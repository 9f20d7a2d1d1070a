// Elements, and the words of the chosen language.
import en from "./words/en.js";
import zh from "./words/zh.js";

const languages = { en, zh };
let code = "en";

export const byId = (id) => document.getElementById(id);
export const words = () => languages[code];
export const languageCode = () => code;

/** A word of the page, with values in place of {0}, {1}, … */
export const word = (name, ...values) => (words()[name] ?? name).replace(/\{(\d)\}/g, (_, at) => values[at] ?? "");

/** What a problem says: what is wrong and the remedy, joined as in their language. */
export const sentence = ({ message, remedy }) => (remedy ? `${message}${/\p{Script=Han}/u.test(remedy) ? "；" : "; "}${remedy}` : message);

/** What a problem says, behind its place: a line of the plan, or of another file. */
export const placed = (problem) => word("said", problem.file ? `${problem.file}:${problem.file_line}` : word("line", problem.line), sentence(problem));

/** What to say of a call that failed. */
export const complaint = (error) => words().errors[error.data?.error] ?? word("failed", error.message);

export function setLanguage(chosen) {
  code = chosen in languages ? chosen : "en";
  document.documentElement.lang = code;
  for (const at of document.querySelectorAll("[data-word]")) at.textContent = word(at.dataset.word);
  for (const at of document.querySelectorAll("[data-label]")) at.setAttribute("aria-label", word(at.dataset.label));
}

/** Make an element: properties, then children (elements or text, never markup). */
export function make(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made && name !== "list") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** An amount in its text with separators of thousands. */
export const grouped = (amount) => {
  const [whole, part] = amount.split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? `.${part}` : "");
};

export const button = (text, onclick, properties = {}) => make("button", { type: "button", onclick, ...properties }, text);
export const field = (title, input) => make("label", {}, make("span", {}, title), input);

/** A document of bomgen in a theme; without one the document follows the system, as the page does. */
function themed(html, theme) {
  if (!theme) return html;
  return html.replace(/\(prefers-color-scheme: ?dark\)/g, theme === "dark" ? "(min-width: 0)" : "(max-width: 0)")
    .replace(/(color-scheme(?:: |" content="))light dark/g, `$1${theme}`);
}

/** Show a document in a frame, which runs no scripts; with `stay` the reader keeps the place and what is unfolded. `paper`
    is light in any theme. */
export async function showDocument(frame, html, stay, paper) {
  await (loaded.get(frame) ?? loaded.set(frame, whenLoaded(frame)).get(frame));
  const shown = frame.contentDocument, view = frame.contentWindow, { scrollX, scrollY } = view;
  const name = (details) => details.querySelector("summary").textContent;
  const unfolded = new Set(stay ? [...shown.querySelectorAll("details[open]")].map(name) : []);
  const made = new DOMParser().parseFromString(themed(html, paper ? "light" : document.documentElement.dataset.theme), "text/html");
  // The policy of the page holds in the frame, too; that of the document knows its style sheet by a hash.
  for (const policy of made.querySelectorAll("meta[http-equiv]")) policy.remove();
  shown.documentElement.lang = made.documentElement.lang;
  shown.documentElement.replaceChildren(...shown.adoptNode(made.documentElement).childNodes);
  for (const details of unfolded.size ? shown.querySelectorAll("details:not([open])") : []) details.open = unfolded.has(name(details));
  view.scrollTo(...(stay ? [scrollX, scrollY] : [0, 0]));
}

const loaded = new WeakMap();
async function whenLoaded(frame) {
  if (frame.contentDocument?.URL !== "about:srcdoc" || frame.contentDocument.readyState !== "complete") {
    await new Promise((done) => frame.addEventListener("load", done, { once: true }));
  }
  // What is dragged over the frame is dropped on the page: without pointer events the frame lets it through.
  frame.contentDocument.addEventListener("dragenter", () => document.body.classList.add("over"));
  // A link to a source opens beside the page, one within the document leads to its place.
  frame.contentDocument.addEventListener("click", (event) => {
    const to = event.target.closest("a[href]")?.getAttribute("href");
    if (!to) return;
    event.preventDefault();
    if (/^https?:/.test(to)) window.open(to, "_blank", "noopener");
    const place = to.startsWith("#") ? frame.contentDocument.getElementById(decodeURIComponent(to.slice(1))) : null;
    for (let details = place?.closest("details"); details; details = details.parentElement.closest("details")) details.open = true;
    place?.scrollIntoView();
    place?.focus();
  });
}

/** A frame with a document of bomgen. It may open the print dialog, which the page asks for: it runs no scripts. */
export function framed(html, title, then = () => {}) {
  const frame = make("iframe", { sandbox: "allow-same-origin allow-modals", srcdoc: BLANK, title });
  frame.addEventListener("load", async () => { await showDocument(frame, html); then(frame); }, { once: true });
  return frame;
}
const BLANK = "<!doctype html>";

export function table(heads, rows) {
  const cell = (value) => make("td", { className: typeof value === "number" ? "number" : "" }, value instanceof Node ? value : String(value ?? ""));
  return make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map(cell)))));
}

export function saveFile(name, content) {
  const address = URL.createObjectURL(content);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

/** Tabs by arrow keys, Home and End, as the ARIA practices have them. `chosen(tab)` gets the button. */
export function tabList(list, chosen) {
  const tabs = () => [...list.querySelectorAll('[role="tab"]')];
  const select = (tab) => {
    for (const each of tabs()) {
      each.setAttribute("aria-selected", String(each === tab));
      each.tabIndex = each === tab ? 0 : -1;
    }
    chosen(tab);
  };
  list.addEventListener("click", (event) => event.target.closest('[role="tab"]') && select(event.target.closest('[role="tab"]')));
  list.addEventListener("keydown", (event) => {
    const all = tabs(), at = all.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    const tab = all[(to + all.length) % all.length];
    tab.focus();
    select(tab);
  });
}
