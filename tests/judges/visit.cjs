// node visit.cjs BROWSER COLOURED PAGE...: opens each page; prints what axe finds, what was requested, what failed. Axe takes
// as long as all else: it judges the pages that have a kind of element, or a kind of page in a language, that none before
// them has. Colours are looked at in light and dark, with everything unfolded, on the first COLOURED pages: the style is one.
const fs = require("fs");
const path = require("path");
const { chromium } = require("playwright-core");

const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const contrast = "color-contrast";
const alike = ".derivations details:nth-child(n+9), tbody tr:nth-child(n+13)"; // as the first ones are
const switches = ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none", "--disable-dev-shm-usage", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND", "--process-per-site"];
const atOnce = 2;
const desk = { width: 1280, height: 1600 };
const a4 = 665; // pixels between the margins of the style sheet

async function judged(page, options) {
  const { violations } = await page.evaluate((chosen) => window.axe.run({ resultTypes: ["violations"], ...chosen }), options);
  return violations.map((found) => `${found.impact} ${found.id}: ${found.help}; ${found.nodes.length} such as ${found.nodes[0].target}`);
}

// What is cut off, wider than the page or outside of its drawing where nothing can be scrolled.
function misfits() {
  const name = (element) => `${element.tagName.toLowerCase()}.${element.getAttribute("class")} ${element.textContent.trim().slice(0, 60)}`;
  const shown = (element) => element.checkVisibility() && !element.closest(".hidden, .skip");
  const found = [];
  for (const element of document.body.querySelectorAll("*")) {
    if (!shown(element)) continue;
    const box = element.getBoundingClientRect();
    if (box.right > innerWidth + 1 || box.left < -1) found.push(`off the page: ${name(element)}`);
    const drawing = element.ownerSVGElement;
    if (drawing) {
      const frame = drawing.getBoundingClientRect();
      if (element.tagName === "text" && (box.left < frame.left - 1 || box.right > frame.right + 1)) found.push(`off the drawing: ${name(element)}`);
    } else if (element.tagName !== "svg" && getComputedStyle(element).display !== "inline" && element.scrollWidth > element.clientWidth + 1) {
      found.push(`wider than its room: ${name(element)}`);
    }
  }
  return found;
}

// What a reader would have to scroll sideways for; drawings may be wider than a telephone.
function clipped(kind) {
  const boxes = [...document.querySelectorAll(`.scroll:has(> ${kind})`)];
  return boxes.filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) => `${box.getAttribute("aria-labelledby") || box.getAttribute("aria-label")}: ${box.scrollWidth} in ${box.clientWidth}`);
}

// The kinds of elements by what axe looks at, each in its kind of parent, and the language, of a kind of page.
function elements(kind) {
  const told = (name) => /^(role|aria-.*|scope|tabindex|type|alt|title)$/.test(name);
  const name = (element) => element && [element.localName, ...[...element.classList].sort(), element.getAttribute("role"), ...element.getAttributeNames().filter(told).sort()].join(" ");
  const found = [...document.querySelectorAll("*")].map((element) => `${kind}: ${name(element)} in ${name(element.parentElement)}`);
  return [...new Set(found), `${kind}: ${document.documentElement.lang}`];
}

async function visit(context, file, coloured, areNew) {
  const seen = { requests: [], errors: [] };
  const page = await context.newPage();
  const address = "file://" + path.resolve(file);
  page.on("request", (request) => { if (request.url() !== address && !/^(data|blob|about):/.test(request.url())) seen.requests.push(request.url()); });
  page.on("pageerror", (error) => seen.errors.push(error.message));
  page.on("console", (message) => { if (message.type() === "error") seen.errors.push(message.text()); });
  await page.goto(address, { waitUntil: "load" });
  await page.evaluate(() => { for (const details of document.querySelectorAll("details")) { details.folded = !details.open; details.open = true; } });
  seen.clipped = [...await page.evaluate(clipped, "table"), ...await page.evaluate(clipped, "svg")];
  await page.setViewportSize({ width: 390, height: 844 });
  seen.clipped.push(...await page.evaluate(clipped, "table"));
  seen.overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  await page.setViewportSize({ width: a4, height: 1000 });
  await page.emulateMedia({ media: "print" });
  seen.misfits = await page.evaluate(misfits);
  const [kind] = path.parse(file).name.split("-");
  if (await areNew(await page.evaluate(elements, kind)) || coloured) await judge(page, seen, coloured);
  await page.close();
  return seen;
}

async function judge(page, seen, coloured) {
  await page.emulateMedia({ media: "screen" });
  await page.setViewportSize(desk);
  // Axe walks through all that a page has: what is alike goes first.
  await page.evaluate((selector) => { for (const element of document.querySelectorAll(selector)) element.remove(); }, alike);
  await page.evaluate(axe);
  await page.evaluate(() => { for (const details of document.querySelectorAll("details")) details.open = !details.folded; });
  seen.axe = await judged(page, { rules: { [contrast]: { enabled: false } } });
  if (coloured) {
    await page.evaluate(() => { for (const details of document.querySelectorAll("details")) details.open = true; });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      seen[colorScheme] = await judged(page, { runOnly: { type: "rule", values: [contrast] } });
    }
  }
}

(async () => {
  const [executablePath, coloured, ...files] = process.argv.slice(2);
  const browser = await chromium.launch({ executablePath, headless: true, args: switches });
  const found = [], known = new Set();
  let next = 0, turn = Promise.resolve();
  // Pages take turns in their order, so that the same pages are judged every time.
  const inTurn = () => {
    const before = turn;
    let done;
    turn = new Promise((resolve) => { done = resolve; });
    return async (names) => {
      await before;
      const fresh = names.some((name) => !known.has(name));
      names.forEach((name) => known.add(name));
      done();
      return fresh;
    };
  };
  const work = async () => {
    // The page's own policy forbids foreign scripts; axe is let in, the page's requests are still all recorded. The pages
    // of a context share a process, which compiles axe once.
    const context = await browser.newContext({ offline: true, bypassCSP: true, viewport: desk });
    for (let at = next++; at < files.length; at = next++) found[at] = await visit(context, files[at], at < coloured, inTurn());
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  await browser.close();
  console.log(JSON.stringify(found));
})().catch((error) => { console.error(error.message); process.exit(2); });
