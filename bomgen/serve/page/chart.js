// The designs of a search in a chart of two measures; each can be pointed at, focused and picked.
import { field, make, word } from "./dom.js";

const NS = "http://www.w3.org/2000/svg", WIDTH = 640, HEIGHT = 300, EDGE = 60;

function draw(tag, properties, ...children) {
  const made = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(properties)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function chart(found, settings, pick) {
  const { measures, points } = found;
  if (!measures.length || !points.length) return "";
  const options = () => measures.map((each) => make("option", { value: each.name }, each.label));
  const across = make("select", { onchange: show }, ...options()), up = make("select", { onchange: show }, ...options());
  across.value = measures[0].name;
  up.value = (measures[1] ?? measures[0]).name;
  const place = make("div"), said = make("p", { role: "status" }, "\u00a0");
  const titled = (name) => measures.find((each) => each.name === name);
  const label = (each) => [each.label, each.unit && `(${each.unit})`].filter(Boolean).join(" ");
  function show() {
    const shown = points.filter((point) => [across, up].every((axis) => Number.isFinite(Number(point.measures[axis.value] ?? NaN))));
    const scale = (name, from, to) => {
      const values = shown.map((point) => Number(point.measures[name]));
      const low = Math.min(...values), high = Math.max(...values);
      return (value) => (high === low ? (from + to) / 2 : from + ((Number(value) - low) / (high - low)) * (to - from));
    };
    const x = scale(across.value, EDGE + 10, WIDTH - 20), y = scale(up.value, HEIGHT - EDGE - 10, 15);
    const dots = shown.map((point) => {
      const text = `${settings(point)}: ${measures.map((each) => `${each.label} ${point.measures[each.name] ?? "–"}`).join(", ")}`;
      const dot = draw("circle", { cx: x(point.measures[across.value]), cy: y(point.measures[up.value]), r: 7, tabindex: 0, role: "button", "aria-label": text }, draw("title", {}, text));
      const tell = () => { said.textContent = text; };
      dot.addEventListener("pointerenter", tell);
      dot.addEventListener("focus", tell);
      dot.addEventListener("click", () => pick(point));
      dot.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(point); } });
      return dot;
    });
    place.replaceChildren(draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "group", "aria-label": word("search") },
      draw("line", { x1: EDGE, y1: HEIGHT - EDGE, x2: WIDTH, y2: HEIGHT - EDGE }), draw("line", { x1: EDGE, y1: 0, x2: EDGE, y2: HEIGHT - EDGE }),
      draw("text", { x: WIDTH / 2, y: HEIGHT - EDGE / 3, "text-anchor": "middle" }, label(titled(across.value))),
      draw("text", { x: EDGE / 2, y: HEIGHT / 2, "text-anchor": "middle", transform: `rotate(-90 ${EDGE / 2} ${HEIGHT / 2})` }, label(titled(up.value))),
      ...dots));
  }
  show();
  return make("div", {}, make("div", { className: "row" }, field(word("horizontal"), across), field(word("vertical"), up)), place, said);
}
