"use strict";
// The page is complete without this. With it a link to a derivation opens it and comes back, printing opens all that is
// folded, tables can be sorted, and the bill filtered and folded.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // Derivations

  let left = null;
  const reveal = (element) => {
    for (let at = element; at; at = at.parentElement) if (at instanceof HTMLDetailsElement) at.open = true;
  };
  const arrive = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (!target) return;
    reveal(target);
    target.scrollIntoView();
    if (target instanceof HTMLDetailsElement) target.querySelector("summary").focus({ preventScroll: true });
  };
  addEventListener("hashchange", arrive);
  addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (!link) return;
    if (link.closest(".back") && left && left.hash === "#" + link.closest("details").id) {
      event.preventDefault();
      reveal(left);
      left.focus();
      left.scrollIntoView({ block: "center" });
      return;
    }
    if (link.hash.startsWith("#why-") && !link.closest("details[id]")) left = link;
    if (link.hash === location.hash) arrive();
  });
  arrive();

  // Contents and search in the bar

  const bar = document.querySelector(".bar");
  if (bar) {
    const contents = bar.querySelector("details");
    const beside = matchMedia("(min-width: 75rem)"); // as in the styles
    const place = () => { contents.open = beside.matches; };
    beside.addEventListener("change", place);
    place();
    bar.addEventListener("click", (event) => {
      if (event.target.closest("a")) place();
    });
  }
  const numbers = all('details[id^="why-"]').map((details) => [details.querySelector("summary").textContent.trim().replace(/\s+/g, " "), details.id]);
  if (numbers.length) {
    const places = new Map(numbers);
    const find = bar.querySelector("input");
    bar.querySelector("datalist").append(...numbers.map(([text]) => new Option(text, text)));
    bar.querySelector(".find").hidden = false;
    find.addEventListener("change", () => {
      if (!places.has(find.value)) return;
      location.hash = places.get(find.value);
      find.value = "";
    });
  }

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details:not([open])");
    for (const details of closed) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of closed) details.open = false;
  });

  for (const tools of all(".tools[data-details]")) {
    tools.hidden = false;
    tools.addEventListener("click", (event) => {
      const button = event.target.closest("button:not([aria-pressed])");
      if (button) for (const details of all("details", tools.parentElement)) details.open = Boolean(button.value);
    });
  }

  for (const button of all("button[data-expressions]")) {
    const derivations = button.parentElement.nextElementSibling;
    const show = (shown) => {
      button.setAttribute("aria-pressed", String(shown));
      derivations.classList.toggle("worded", !shown);
    };
    button.addEventListener("click", () => show(button.getAttribute("aria-pressed") === "false"));
    show(false);
  }

  // Tables

  const wrap = (cell, label) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...(label ? [label] : cell.childNodes));
    cell.prepend(button);
    return button;
  };

  const order = new Intl.Collator(document.documentElement.lang, { numeric: true });
  const compare = (one, other, column, sign) => {
    const [a, b] = [one.cells[column], other.cells[column]];
    const [x, y] = [a.dataset.rank, b.dataset.rank];
    if (x === undefined && y === undefined) return sign * order.compare(a.textContent, b.textContent);
    if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
    return sign * (x - y);
  };
  const sortable = (table, groups, show) => {
    const flat = table.createTBody();
    const heads = [...table.tHead.rows[0].cells];
    const sort = (head) => {
      const next = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")];
      for (const other of heads) other.setAttribute("aria-sort", other === head ? next : "none");
      table.classList.toggle("sorted", next !== "none");
      if (next === "none") {
        for (const group of groups) group.body.append(...group.rows);
      } else {
        const sign = next === "ascending" ? 1 : -1;
        const rows = groups.flatMap((group) => group.rows);
        flat.append(...rows.sort((one, other) => compare(one, other, heads.indexOf(head), sign)));
      }
      show();
    };
    for (const head of heads) {
      head.setAttribute("aria-sort", "none");
      wrap(head).addEventListener("click", () => sort(head));
    }
  };
  const grouped = (table) => [...table.tBodies].map((body) => ({
    body,
    head: body.querySelector(".group"),
    rows: all("tr:not(.group)", body),
  }));

  for (const table of all("table[data-sortable]")) sortable(table, grouped(table), () => {});

  // The bill

  const bill = (tools, table) => {
    const filter = tools.querySelector("input");
    const count = tools.querySelector("output");
    const groups = grouped(table);
    const lines = groups.flatMap((group) => group.rows.map((row) => ({
      row,
      group,
      text: (row.textContent + " " + (group.head ? group.head.textContent : "")).toLowerCase(),
    })));

    const show = () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const group of groups) group.found = 0;
      for (const line of lines) {
        const found = words.every((word) => line.text.includes(word));
        shown += found;
        line.group.found += found;
        line.row.hidden = !found || (line.group.folded && !table.classList.contains("sorted"));
      }
      for (const group of groups) {
        if (!group.head) continue;
        group.head.hidden = !group.found;
        group.button.setAttribute("aria-expanded", String(!group.folded));
      }
      count.value = count.dataset.text.replace("{}", shown);
    };

    for (const group of groups) {
      group.folded = false;
      if (!group.head) continue;
      group.button = wrap(group.head.cells[0], group.head.cells[0].firstChild);
      group.button.addEventListener("click", () => {
        group.folded = !group.folded;
        show();
      });
    }

    sortable(table, groups, show);
    filter.addEventListener("input", () => {
      if (filter.value) for (const group of groups) group.folded = false;
      show();
    });
    filter.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !filter.value) return;
      event.preventDefault();
      filter.value = "";
      show();
    });
    tools.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      for (const group of groups) group.folded = !button.value;
      show();
    });
    tools.hidden = false;
    show();
  };

  for (const tools of all(".tools[data-table]")) {
    const table = document.getElementById(tools.dataset.table);
    if (table) bill(tools, table);
  }
})();
