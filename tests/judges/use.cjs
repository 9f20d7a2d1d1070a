// node use.cjs BROWSER PAGE: goes through a quote with the keyboard alone; prints what is there after each step.
const path = require("path");
const { chromium } = require("playwright-core");

const switches = ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND"];
const tabs = 2000;

async function use(page) {
  const press = (key) => page.keyboard.press(key);
  const amounts = () => page.$$eval("#table-bill tbody tr:not(.group)", (rows) => rows.filter((row) => row.offsetParent).map((row) => row.cells[row.cells.length - 1].textContent));
  const groups = () => page.$$eval("#table-bill tr.group", (rows) => rows.filter((row) => row.offsetParent).length);
  const focused = () => page.evaluate(() => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
    const box = document.activeElement.getBoundingClientRect();
    return { name: document.activeElement.outerHTML.slice(0, 90), visible: outlineStyle !== "none" && parseFloat(outlineWidth) > 0, inside: box.top >= 0 && box.bottom <= innerHeight };
  });
  const reach = async (selector) => {
    for (let count = 0; count < tabs; count++) {
      if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return focused();
      await press("Tab");
    }
    throw new Error(`Tab does not reach ${selector}`);
  };
  const seen = { grouped: await amounts(), groups: await groups() };
  seen.filter = await reach("#filter-bill");
  await page.keyboard.type("QM9700");
  seen.filtered = await amounts();
  seen.count = await page.textContent(".tools output");
  await press("Escape");
  seen.cleared = await amounts();
  seen.sorter = await reach("#table-bill thead th:last-child button");
  const order = () => page.getAttribute("#table-bill thead th:last-child", "aria-sort");
  for (const step of ["ascending", "descending", "restored"]) {
    await press("Enter");
    seen[step] = { amounts: await amounts(), order: await order(), groups: await groups() };
  }
  seen.folder = await reach("#table-bill .group button");
  await press("Space");
  seen.folded = await amounts();
  await press("Space");
  seen.unfolded = await amounts();
  seen.number = await reach("#table-bill td a");
  const wanted = await page.evaluate(() => document.activeElement.hash.slice(1));
  await press("Enter");
  await page.waitForFunction((id) => document.activeElement.parentElement.id === id, wanted);
  seen.derivation = { ...await focused(), open: await page.evaluate(() => document.activeElement.parentElement.open) };
  await reach(".back a");
  await press("Enter");
  seen.back = await focused();
  return seen;
}

(async () => {
  const [executablePath, file] = process.argv.slice(2);
  const browser = await chromium.launch({ executablePath, headless: true, args: switches });
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto("file://" + path.resolve(file));
  const seen = await use(page);
  await page.goto("about:blank");
  const bare = await browser.newPage({ javaScriptEnabled: false });
  await bare.goto("file://" + path.resolve(file));
  seen.bare = { rows: await bare.locator("#table-bill tbody tr").filter({ visible: true }).count(), tools: await bare.locator(".tools").filter({ visible: true }).count() };
  await browser.close();
  console.log(JSON.stringify(seen));
})().catch((error) => { console.error(error.message); process.exit(2); });
