// Drawings to work with: pointing at a device, or focusing it, lights its links and says beside the drawing what it is and
// where its cables go. The shapes of devices name them in `data-device`; what these are is asked of the server.
import { call } from "./api.js";
import { button, byId, complaint, make, table, word, words } from "./dom.js";

const NS = "http://www.w3.org/2000/svg", SHAPES = "svg [data-device]";
const RAILS = [["#2f6fed", "#6b9bff"], ["#7a52d6", "#a98bf2"], ["#b83fa6", "#df7ccf"], ["#d43d5a", "#f27c92"], ["#c8611a", "#ee9a5c"], ["#94780a", "#cdb04a"], ["#2f8a45", "#66c07b"], ["#0b8599", "#4fc0d2"]]
  .map((ends) => `light-dark(${ends.join(", ")})`); // in the order of their numbers
const ZOOMS = [1, 1.5, 2, 3, 4], PAUSE = 60; // milliseconds that a pointer rests on a device

let page, frame, zoom = 0, lit = null, timer = 0;

/** Make the drawings of a frame answer. `page` has the `request` about the plan. */
export function watchDrawings(watched, pageOfPlan) {
  [frame, page] = [watched, pageOfPlan];
  const shown = frame.contentDocument, at = (event) => event.target.closest?.(SHAPES);
  const answer = (event) => { if (at(event)) light(at(event)); };
  for (const kind of ["pointerover", "focusin", "click"]) shown.addEventListener(kind, answer);
  shown.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key], shape = at(event);
    if (!step || !shape) return;
    event.preventDefault();
    const shapes = shapesIn(shape.closest("svg")), next = shapes[shapes.indexOf(shape) + step];
    if (!next) return;
    [shape.tabIndex, next.tabIndex] = [-1, 0];
    next.focus();
  });
}

const shapesIn = (place) => [...place.querySelectorAll("[data-device]")].filter((shape) => /\d$/.test(shape.dataset.device));

/** Prepare the drawings of a new document; without any, nothing stands beside it. */
export function showDrawings(about) {
  const shown = frame.contentDocument, drawings = [...shown.querySelectorAll("svg")].filter((svg) => shapesIn(svg).length);
  lit = null;
  byId("device").hidden = !about || !drawings.length;
  if (byId("device").hidden) return;
  for (const svg of drawings) {
    svg.setAttribute("role", "group"); // a picture has no parts that can be focused
    for (const text of svg.querySelectorAll("text")) text.style.pointerEvents = "none"; // of the shape below it
    for (const [number, shape] of shapesIn(svg).entries()) {
      for (const [name, value] of Object.entries({ tabindex: number ? -1 : 0, role: "button", "aria-label": shape.dataset.device.replaceAll("_", "-") })) shape.setAttribute(name, value);
      shape.style.cursor = "pointer";
    }
  }
  tell(make("p", {}, word("device-hint")));
  enlarge(0);
}

function enlarge(step) {
  zoom = Math.min(Math.max(zoom + step, 0), ZOOMS.length - 1);
  for (const svg of new Set([...frame.contentDocument.querySelectorAll(SHAPES)].map((shape) => shape.closest("svg")))) {
    svg.parentNode.style.overflow = "auto";
    Object.assign(svg.style, zoom ? { width: `${100 * ZOOMS[zoom]}%`, maxWidth: "none", maxHeight: "none" } : { width: "", maxWidth: "", maxHeight: "" });
  }
}

const tell = (...content) => byId("device").replaceChildren(make("div", { className: "row" }, ...[["−", "smaller", -1], ["+", "larger", 1]]
  .map(([sign, name, step]) => button(sign, () => enlarge(step), { className: "edged", ariaLabel: word(name) }))), ...content);

/** Light a device once a pointer rests on it: its frame, its links in this drawing, and what is known of it. */
function light(shape) {
  clearTimeout(timer);
  if (shape === lit || !/\d$/.test(shape.dataset.device)) return;
  timer = setTimeout(async () => {
    lit = shape;
    try {
      const found = await call("device", { ...page.request, device: shape.dataset.device });
      if (lit === shape && shape.isConnected) showDevice(shape, found);
    } catch (error) {
      if (lit === shape) tell(make("p", { className: "error" }, complaint(error)));
    }
  }, PAUSE);
}

function showDevice(shape, { name, facts, links }) {
  for (const old of frame.contentDocument.querySelectorAll(".lit")) old.remove();
  drawLinks(shape, links);
  const colour = ({ rail }) => { const dot = make("span", { className: "rail" }); dot.style.background = rail === null ? "var(--edge)" : RAILS[rail % RAILS.length]; return dot; };
  const two = (first, second) => make("div", {}, first, make("small", {}, second));
  tell(make("h3", {}, name), make("dl", {}, ...Object.entries(facts).filter(([, fact]) => fact).flatMap(([fact, value]) => [make("dt", {}, words().facts[fact]), make("dd", {}, value)])),
    links.some(({ port }) => port) ? table([word("port"), word("other-end"), word("cable")], links.map((link) => [make("span", {}, colour(link), link.port), two(link.device, link.device_port), two(link.label, [link.length, link.cable].filter(Boolean).join(word("comma")))])) : "");
}

/** Draw the links of a device over those of its drawing, to the other ends or to what stands for those left out. */
function drawLinks(shape, links) {
  const svg = shape.closest("svg"), shapes = Map.groupBy(svg.querySelectorAll("[data-device]"), (each) => each.dataset.device);
  const group = document.createElementNS(NS, "g"), box = shape.getBBox(), distance = (each) => Math.abs(each.getBBox().x - box.x);
  const nearest = (found = []) => [...found].sort((one, other) => distance(one) - distance(other))[0];
  group.setAttribute("class", "lit");
  const add = (tag, properties) => { const made = group.appendChild(document.createElementNS(NS, tag)); for (const [name, value] of Object.entries(properties)) made.setAttribute(name, value); return made; };
  add("rect", { x: box.x - 2, y: box.y - 2, width: box.width + 4, height: box.height + 4, rx: 5, "stroke-width": 2 }).style.stroke = "light-dark(#2850e0, #93aaff)";
  const drawn = links.map((link) => ({ ...link, to: nearest(shapes.get(link.at) ?? shapes.get(link.at.replace(/ \d+$/, ""))) })).filter((link) => link.to && link.to !== shape);
  for (const [at, { to, rail, port }] of drawn.entries()) {
    const end = to.getBBox(), up = end.y + end.height < box.y, level = !up && end.y < box.y + box.height;
    const aside = port ? ((at + 0.5) / drawn.length - 0.5) * 0.8 : 0, x = box.x + box.width * (0.5 + aside), other = end.x + end.width * (0.5 + aside);
    const [from, into] = level ? [box.y, end.y] : up ? [box.y, end.y + end.height] : [box.y + box.height, end.y], bend = level ? from - 40 : (from + into) / 2;
    add("path", { d: `M${x} ${from}C${x} ${bend}, ${other} ${bend}, ${other} ${into}`, "stroke-width": drawn.length > 24 ? 1 : 2 }).style.stroke = rail === null ? "light-dark(#2850e0, #93aaff)" : RAILS[rail % RAILS.length];
  }
  svg.append(group);
}
