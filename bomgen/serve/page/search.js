// The search for designs: what varies, what is compared and bounded, and the front to pick from.
import { call } from "./api.js";
import { chart } from "./chart.js";
import { closeDialog, complain, openDialog } from "./dialog.js";
import { button, languageCode, make, table, word, words } from "./dom.js";
import { long } from "./tools.js";

const WIDEST = 8; // a slider reaches from an eighth of the plan's number to eight times as many

const listed = (text) => (text.includes("..") ? text : text.split(/[,，]/).map((value) => value.trim()).filter(Boolean));
const written = (values) => (Array.isArray(values) ? values.join(", ") : String(values));

export async function searchDialog(page) {
  try {
    const space = await call("space", page.request);
    const rows = make("div", { className: "fields" });
    const add = (key, values) => rows.appendChild(axis(space, key, values));
    for (const [key, values] of Object.entries(space.own.over ?? {})) add(key, written(values));
    if (!rows.children.length) add("", "");
    const chosen = space.own.minimise ?? space.minimise, bounds = space.own.within ?? {};
    const measures = space.measures.map(({ name, label, unit, more }) => ({
      name,
      minimise: make("input", { type: "checkbox", checked: chosen.includes(name), ariaLabel: word("said", word("minimise"), label) }),
      most: make("input", { value: bounds[name] ?? "", size: 10, placeholder: word(more ? "at-least" : "at-most"), ariaLabel: word("said", word(more ? "at-least" : "at-most"), label) }),
      label: unit === "count" || unit === "money" || unit === name ? label : word("in-brackets", label, unit),
    }));
    const place = make("div");
    const run = async () => {
      const over = Object.fromEntries([...rows.children].map((row) => row.values()).filter(([key, values]) => key && values.length));
      const within = Object.fromEntries(measures.map(({ name, most }) => [name, most.value.trim()]).filter(([, most]) => most));
      const minimise = measures.filter((each) => each.minimise.checked).map((each) => each.name);
      const found = await long(page, place, "search", { over, minimise, within });
      if (!found) return;
      showDesigns(page, place, found, space);
      place.scrollIntoView();
    };
    openDialog(word("search"), make("p", {}, word("search-keys")), rows, make("div", { className: "row" }, button(word("add-key"), () => add("", "").querySelector("select").focus())),
      make("div", { className: "measures" }, table([word("measure"), word("minimise"), word("limit")], measures.map((each) => [each.label, each.minimise, each.most]))),
      make("div", { className: "row" }, button(word("start"), run, { className: "main" })), place);
  } catch (error) {
    page.report(error);
  }
}

/** What a key is called: as the form asks for it, else by its title. */
const nameOf = (space, key) => { const found = space.keys.find((each) => each.key === key); return words().questions[found?.id] ?? (found?.title || key); };
const labelOf = ({ value, label }) => words().values[value] ?? label;

/** A key and its values: those of a list of words are chosen, numbers are typed or bounded by sliders. */
function axis(space, key, values) {
  const keys = [...new Set([...space.keys.map((each) => each.key), ...(key ? [key] : [])])];
  const name = make("select", { ariaLabel: word("key"), onchange: () => propose("") }, make("option", { value: "" }, word("choose")), ...keys.map((each) => make("option", { value: each, selected: each === key }, nameOf(space, each))));
  const place = make("div", { className: "help" }), row = make("div", { className: "axis" }, name, place, button("×", () => row.remove(), { ariaLabel: word("remove") }));
  function propose(text) {
    const found = space.keys.find((each) => each.key === name.value), chosen = listed(text);
    const typed = make("input", { value: text, ariaLabel: word("value-list"), autocomplete: "off" });
    row.values = () => [name.value, listed(typed.value)];
    place.replaceChildren(typed);
    if (found?.choices.length && (found.value === null || found.choices.some((each) => each.value === String(found.value)))) {
      const many = make("select", { multiple: true, size: Math.min(found.choices.length, 8), ariaLabel: word("value-list") },
        ...found.choices.map((each) => make("option", { value: each.value, selected: chosen.includes(each.value) || (!text && each.value === String(found.value)) }, labelOf(each))));
      row.values = () => [name.value, [...many.selectedOptions].map((each) => each.value)];
      place.replaceChildren(many);
    } else if (Number.isInteger(found?.value) && found.value > 0) {
      const [from, to] = (/^(\d+)\s*\.\.\s*(\d+)$/.exec(text) ?? [0, Math.ceil(found.value / 2), found.value * 2]).slice(1).map(Number);
      const ends = [["from", from], ["to", to]].map(([end, value]) => make("input", {
        type: "range", min: Math.ceil(found.value / WIDEST), max: Math.max(found.value * WIDEST, to), value, ariaLabel: word(end),
        oninput: () => { typed.value = ends.map((each) => Number(each.value)).sort((one, other) => one - other).join(".."); },
      }));
      place.append(...ends);
      if (!text) ends[0].oninput();
    } else if (!text) typed.value = found?.value ?? "";
  }
  propose(values);
  return row;
}

function showDesigns(page, place, found, space) {
  const pick = async (point) => {
    try {
      const { text } = await call("set", { ...page.request, set: point.set });
      page.setText(text);
      closeDialog();
    } catch (error) {
      complain(error);
    }
  };
  const beyond = [...found.points.map((point) => point.next), found.search.nearest].filter(Boolean);
  const number = new Intl.NumberFormat(languageCode(), { maximumSignificantDigits: 4 });
  const shown = (point, { name, unit }) => { const value = point.measures[name]; return value === null || value === undefined ? "–" : unit === "W" ? `${number.format(value / 1000)} kW` : number.format(value); };
  const label = (each) => (each.unit === "money" ? word("in-brackets", each.label, found.points[0]?.currency ?? "") : each.unit === "s" ? word("in-brackets", each.label, "s") : each.label);
  const setting = ([key, value]) => { const choice = space.keys.find((each) => each.key === key)?.choices.find((each) => each.value === value); return choice ? labelOf(choice).split(": ")[0] : word("said", nameOf(space, key), value); };
  const settings = (point) => Object.entries(point.set).map(setting).join(word("comma"));
  const said = (point) => word("said", settings(point), [...found.measures.map((each) => `${each.label} ${shown(point, each)}`), ...(point.breaks ? [word("beyond")] : [])].join(word("comma")));
  const reasons = new Map(found.search.recommended.map(({ design, reason }) => [found.points[design - 1], word(reason === "balance" ? "balanced" : "best-in", found.measures.find((each) => each.name === reason)?.label)]));
  const chip = (point) => (point.breaks ? word("beyond") : reasons.has(point) ? make("span", { className: "chip accent" }, reasons.get(point)) : "");
  const row = (point) => [settings(point), chip(point), ...found.measures.map((each) => shown(point, each)), button(word("pick"), () => pick(point), { className: "edged" })];
  place.replaceChildren(
    make("p", {}, (found.stopped ? `${word("stopped")} ` : "") + (found.points.length ? word("points", found.points.length) : word("no-points"))),
    make("div", { className: "wide", tabIndex: 0 }, table([word("design"), "", ...found.measures.map(label), ""], [...reasons.keys(), ...found.points.filter((point) => !reasons.has(point)), ...beyond].map(row))),
    chart(found.measures, [...beyond, ...found.points], said, pick),
    make("ul", {}, ...found.search.refused.map((each) => make("li", {}, word("impossible", each.reason, number.format(each.designs))))));
}
