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

export const button = (text, onclick, properties = {}) => make("button", { type: "button", onclick, ...properties }, text);
export const field = (title, input) => make("label", {}, make("span", {}, title), input);
/** A document of bomgen in a frame that runs no scripts. */
export const framed = (html, title) => make("iframe", { sandbox: "", srcdoc: html, title });

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
