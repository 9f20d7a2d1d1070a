// node visit.cjs BROWSER PAGE...: opens each page in light and dark colours; prints what axe finds, what was requested, what failed.
const fs = require("fs");
const path = require("path");
const { chromium } = require("playwright-core");

const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const grave = ["serious", "critical"];
const switches = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND"];

async function visit(browser, file) {
  const seen = { requests: [], errors: [] };
  // The page's own policy forbids foreign scripts; axe is let in, the page's requests are still all recorded.
  const context = await browser.newContext({ offline: true, bypassCSP: true, viewport: { width: 1280, height: 1600 } });
  const page = await context.newPage();
  const address = "file://" + path.resolve(file);
  page.on("request", (request) => { if (request.url() !== address && !/^(data|blob|about):/.test(request.url())) seen.requests.push(request.url()); });
  page.on("pageerror", (error) => seen.errors.push(error.message));
  page.on("console", (message) => { if (message.type() === "error") seen.errors.push(message.text()); });
  await page.goto(address, { waitUntil: "load" });
  await page.evaluate(axe);
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    seen[colorScheme] = violations.filter((found) => grave.includes(found.impact))
      .map((found) => `${found.impact} ${found.id}: ${found.help}; ${found.nodes.length} such as ${found.nodes[0].target}`);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  seen.overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  await context.close();
  return seen;
}

(async () => {
  const [executablePath, ...files] = process.argv.slice(2);
  const browser = await chromium.launch({ executablePath, headless: true, args: switches });
  const found = [];
  for (const file of files) found.push(await visit(browser, file));
  await browser.close();
  console.log(JSON.stringify(found));
})().catch((error) => { console.error(error.message); process.exit(2); });
