// The designs of a search in a chart of two measures; each can be pointed at, focused and picked.
import { field, languageCode, make, word } from "./dom.js";

const NS = "http://www.w3.org/2000/svg", WIDTH = 640, HEIGHT = 300, EDGE = 60;

function draw(tag, properties, ...children) {
  const made = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(properties)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Round numbers between two ends, about four. */
function ticks(low, high) {
  const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const first = Math.ceil(low / step), count = Math.floor(high / step) - first + 1;
  return Array.from({ length: count }, (_, at) => (first + at) * step);
}

/** Draw designs; those that exceed a bound have `breaks` and are hollow. `said` describes one, `pick` takes it. */
export function chart(measures, points, said, pick) {
  if (!measures.length || !points.length) return "";
  const options = () => measures.map((each) => make("option", { value: each.name }, each.label));
  const across = make("select", { onchange: show }, ...options()), up = make("select", { onchange: show }, ...options());
  across.value = measures[0].name;
  up.value = (measures[1] ?? measures[0]).name;
  const place = make("div"), told = make("p", { role: "status" }, "\u00a0");
  const titled = (name) => measures.find((each) => each.name === name);
  const label = (each) => (each.unit === "money" ? word("in-brackets", each.label, points[0].currency) : each.unit === "W" ? word("in-brackets", each.label, "W") : each.label);
  function show() {
    const shown = points.filter((point) => [across, up].every((axis) => Number.isFinite(Number(point.measures[axis.value] ?? NaN))));
    const scale = (name, from, to) => {
      const values = shown.map((point) => Number(point.measures[name]));
      const low = Math.min(...values), high = Math.max(...values);
      const at = (value) => (high === low ? (from + to) / 2 : from + ((Number(value) - low) / (high - low)) * (to - from));
      return Object.assign(at, { ends: low < high ? ticks(low, high) : [low] });
    };
    const short = new Intl.NumberFormat(languageCode(), { notation: "compact", maximumSignificantDigits: 3 });
    const x = scale(across.value, EDGE + 10, WIDTH - 20), y = scale(up.value, HEIGHT - EDGE - 10, 15);
    const dots = shown.map((point) => {
      const text = said(point);
      const dot = draw("circle", { cx: x(point.measures[across.value]), cy: y(point.measures[up.value]), r: 7, class: point.breaks ? "beyond" : "", tabindex: 0, role: "button", "aria-label": text }, draw("title", {}, text));
      const tell = () => { told.textContent = text; };
      dot.addEventListener("pointerenter", tell);
      dot.addEventListener("focus", tell);
      dot.addEventListener("click", () => pick(point));
      dot.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(point); } });
      return dot;
    });
    place.replaceChildren(draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "group", "aria-label": word("search") },
      ...[...x.ends.map((end) => [x(end), 0, x(end), HEIGHT - EDGE]), ...y.ends.map((end) => [EDGE, y(end), WIDTH, y(end)]), [EDGE, HEIGHT - EDGE, WIDTH, HEIGHT - EDGE], [EDGE, 0, EDGE, HEIGHT - EDGE]].map(([x1, y1, x2, y2]) => draw("line", { x1, y1, x2, y2 })),
      draw("text", { x: WIDTH / 2, y: HEIGHT - EDGE / 3, "text-anchor": "middle" }, label(titled(across.value))),
      draw("text", { x: EDGE / 4, y: HEIGHT / 2, "text-anchor": "middle", transform: `rotate(-90 ${EDGE / 4} ${HEIGHT / 2})` }, label(titled(up.value))),
      ...x.ends.map((end) => draw("text", { x: x(end), y: HEIGHT - EDGE + 16, "text-anchor": "middle" }, short.format(end))),
      ...y.ends.map((end) => draw("text", { x: EDGE - 5, y: y(end) + 4, "text-anchor": "end" }, short.format(end))), ...dots));
  }
  show();
  return make("div", {}, make("div", { className: "row" }, field(word("horizontal"), across), field(word("vertical"), up)), place, told);
}
