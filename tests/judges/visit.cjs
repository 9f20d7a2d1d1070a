// node visit.cjs BROWSER COLOURED PAGE...: opens each page; prints what axe finds, what was requested, what failed. Colours are
// looked at in light and dark, with everything unfolded, on the first COLOURED pages: that takes long, and the style is one.
const fs = require("fs");
const path = require("path");
const { chromium } = require("playwright-core");

const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const contrast = "color-contrast";
const alike = ".derivations details:nth-child(n+9), tbody tr:nth-child(n+13)"; // as the first ones are
const switches = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND"];
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

async function visit(browser, file, coloured) {
  const seen = { requests: [], errors: [] };
  // The page's own policy forbids foreign scripts; axe is let in, the page's requests are still all recorded.
  const context = await browser.newContext({ offline: true, bypassCSP: true, viewport: desk });
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
  await context.close();
  return seen;
}

(async () => {
  const [executablePath, coloured, ...files] = process.argv.slice(2);
  const browser = await chromium.launch({ executablePath, headless: true, args: switches });
  const found = [];
  let next = 0;
  const work = async () => { for (let at = next++; at < files.length; at = next++) found[at] = await visit(browser, files[at], at < coloured); };
  await Promise.all(Array.from({ length: atOnce }, work));
  await browser.close();
  console.log(JSON.stringify(found));
})().catch((error) => { console.error(error.message); process.exit(2); });
