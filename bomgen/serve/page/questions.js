// Questions of the form as fields: with what applies where the plan says nothing in grey.
import { button, field, make, sentence, word, words } from "./dom.js";

export const nameOf = (asked) => (asked.id === "purpose" ? "purpose" : asked.key);

const unsaid = (asked) => (asked.held ? word("in-yaml") : asked.default === null ? word(asked.kind === "choice" ? "by-design" : "none") : words().values[asked.default] ?? String(asked.default));

/** A field for a question; `answer(name, value)` gets what is answered. */
export function question(asked, answer) {
  const label = words().questions[asked.id] ?? asked.title, name = nameOf(asked);
  const change = ({ target }) => { if (target.checkValidity()) answer(name, target.value); };
  const choices = asked.choices.map((choice) => make("option", { value: choice.value }, words().values[choice.value] ?? choice.label));
  if (asked.kind === "choice" && choices.length && choices.length < 12) {
    if (name !== "purpose") choices.unshift(make("option", { value: "" }, unsaid(asked)));
    return make("div", { className: "question" }, field(label, make("select", { name, onchange: change }, ...choices)));
  }
  const input = make("input", { name, onchange: change, autocomplete: "off", inputMode: asked.kind === "number" ? "decimal" : "text" });
  // While a year is typed, its first digits are years before these.
  if (asked.kind === "date") Object.assign(input, { type: "date", min: "2000-01-01", max: "2999-12-31" });
  const id = `choices-${name}`, unit = words().units[asked.unit] ?? "";
  if (choices.length) input.setAttribute("list", id);
  return make("div", { className: "question" }, field(label, input), unit ? make("span", { className: "unit" }, unit) : "", choices.length ? make("datalist", { id }, ...choices) : "");
}

/** Show below each field what is wrong there, with the words that are closest to a wrong one: `mend(key, word)` takes one. */
export function showNotes(form, problems, mend) {
  for (const note of form.querySelectorAll(".note")) note.remove();
  for (const input of form.elements) input.removeAttribute("aria-invalid");
  for (const problem of problems) {
    const input = fieldOf(form, problem);
    if (!input) continue;
    if (problem.severity === "error") input.setAttribute("aria-invalid", "true");
    input.closest(".question").append(make("div", { className: `note ${problem.severity}` }, sentence(problem),
      ...problem.fixes.map((fix) => button(word("use-word", fix), () => mend(problem.key, fix), { className: "edged" }))));
  }
}

/** The field of the key that a problem is about; none where the form does not ask for it. */
export const fieldOf = (form, problem) => (problem.key ? form.elements[problem.key] : null) ?? null;

/** Show the answer of the plan, unless another one is being typed; a new field has none yet. */
export function fill(input, asked) {
  const value = asked.value === null ? "" : String(asked.value);
  if (input.tagName === "SELECT" && ![...input.options].some((option) => option.value === value)) input.add(new Option(value || unsaid(asked), value), 0);
  for (const option of input.options ?? []) if (!option.value) option.text = unsaid(asked);
  if (input !== document.activeElement || input.value === (input.dataset.known ?? input.value)) input.value = value;
  Object.assign(input, { disabled: asked.held, placeholder: unsaid(asked) });
  input.dataset.known = value;
}
