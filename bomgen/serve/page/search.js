// The search for designs: what varies, what is compared and bounded, and the front to pick from.
import { call } from "./api.js";
import { chart } from "./chart.js";
import { closeDialog, complain, openDialog } from "./dialog.js";
import { button, languageCode, make, table, word } from "./dom.js";
import { long } from "./tools.js";

const WIDEST = 8; // a slider reaches from an eighth of the plan's number to eight times as many

const listed = (text) => (text.includes("..") ? text : text.split(/[,，]/).map((value) => value.trim()).filter(Boolean));
const written = (values) => (Array.isArray(values) ? values.join(", ") : String(values));

export async function searchDialog(page) {
  try {
    const space = await call("space", page.request);
    const rows = make("div", { className: "fields" }), keys = make("datalist", { id: "search-keys" }, ...space.keys.map((each) => make("option", { value: each.key }, each.title)));
    const add = (key, values) => rows.appendChild(axis(space, key, values));
    for (const [key, values] of Object.entries(space.own.over ?? {})) add(key, written(values));
    if (!rows.children.length) add("", "");
    const chosen = space.own.minimise ?? space.minimise, bounds = space.own.within ?? {};
    const measures = space.measures.map(({ name, label, unit }) => ({
      name,
      minimise: make("input", { type: "checkbox", checked: chosen.includes(name), ariaLabel: word("said", word("minimise"), label) }),
      most: make("input", { value: bounds[name] ?? "", size: 10, ariaLabel: word("said", word("at-most"), label) }),
      label: unit === "count" || unit === "money" || unit === name ? label : word("in-brackets", label, unit),
    }));
    const place = make("div");
    const run = async () => {
      const over = Object.fromEntries([...rows.children].map((row) => row.values()).filter(([key, values]) => key && values.length));
      const within = Object.fromEntries(measures.map(({ name, most }) => [name, most.value.trim()]).filter(([, most]) => most));
      const minimise = measures.filter((each) => each.minimise.checked).map((each) => each.name);
      const found = await long(page, place, "search", { over, minimise, within });
      if (!found) return;
      showDesigns(page, place, found);
      place.scrollIntoView();
    };
    openDialog(word("search"), make("p", {}, word("search-keys")), keys, rows, make("div", { className: "row" }, button(word("add-key"), () => add("", "").querySelector("input").focus())),
      make("div", { className: "measures" }, table([word("measure"), word("minimise"), word("at-most")], measures.map((each) => [each.label, each.minimise, each.most]))),
      make("div", { className: "row" }, button(word("start"), run, { className: "main" })), place);
  } catch (error) {
    page.report(error);
  }
}

/** A key and its values, as a list or a range; sliders and lists write them. */
function axis(space, key, values) {
  const name = make("input", { value: key, ariaLabel: word("key"), autocomplete: "off", onchange: propose });
  const text = make("input", { value: values, ariaLabel: word("value-list"), autocomplete: "off" }), help = make("div", { className: "help" });
  name.setAttribute("list", "search-keys");
  const row = make("div", { className: "axis" }, name, text, help, button("×", () => row.remove(), { ariaLabel: word("remove") }));
  row.values = () => [name.value.trim(), listed(text.value)];
  function propose() {
    const found = space.keys.find((each) => each.key === name.value.trim());
    help.replaceChildren();
    if (!found) return;
    if (found.choices.length) {
      const many = make("select", { multiple: true, size: 4, ariaLabel: word("value-list"), onchange: () => { text.value = [...many.selectedOptions].map((each) => each.value).join(", "); } },
        ...found.choices.map((value) => make("option", { value, selected: listed(text.value).includes(value) || (!text.value && value === String(found.value)) }, value)));
      help.append(many);
    } else if (Number.isInteger(found.value) && found.value > 0) {
      const [from, to] = (/^(\d+)\s*\.\.\s*(\d+)$/.exec(text.value) ?? [0, Math.ceil(found.value / 2), found.value * 2]).slice(1).map(Number);
      const ends = [["from", from], ["to", to]].map(([end, value]) => make("input", {
        type: "range", min: Math.ceil(found.value / WIDEST), max: Math.max(found.value * WIDEST, to), value, ariaLabel: word(end),
        oninput: () => { text.value = ends.map((each) => Number(each.value)).sort((one, other) => one - other).join(".."); },
      }));
      help.append(...ends);
      if (!text.value) ends[0].oninput();
    }
    if (!text.value && found.value !== null) text.value = String(found.value);
  }
  propose();
  return row;
}

function showDesigns(page, place, found) {
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
  const number = new Intl.NumberFormat(languageCode(), { maximumFractionDigits: 2 });
  const shown = (point, { name }) => (point.measures[name] === null || point.measures[name] === undefined ? "–" : number.format(point.measures[name]));
  const settings = (point) => Object.entries(point.set).map(([key, value]) => `${key}=${value}`).join(", ");
  const said = (point) => word("said", settings(point), [...found.measures.map((each) => `${each.label} ${shown(point, each)}`), ...(point.breaks ? [word("beyond")] : [])].join(word("comma")));
  const row = (point) => [settings(point), ...found.measures.map((each) => shown(point, each)), point.breaks ? word("beyond") : "", button(word("pick"), () => pick(point))];
  place.replaceChildren(
    make("p", {}, (found.stopped ? `${word("stopped")} ` : "") + (found.points.length ? word("points", found.points.length) : word("no-points"))),
    make("ul", {}, ...found.search.refused.map((each) => make("li", {}, word("impossible", each.reason, number.format(each.designs))))),
    chart(found.measures, [...beyond, ...found.points], said, pick),
    make("div", { className: "wide", tabIndex: 0 }, table([word("design"), ...found.measures.map((each) => each.label), "", ""], [...found.points, ...beyond].map(row))));
}
