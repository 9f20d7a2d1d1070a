// node keystroke.cjs BROWSER PYTHON PLAN KEY: types another last digit of a key's number on the page of `bomgen serve`, each
// digit once; prints the median of the seconds until the quote in the frame is another one.
const path = require("path");
const { spawn } = require("child_process");
const { chromium } = require("playwright-core");

const [executablePath, python, plan, key] = process.argv.slice(2);
const switches = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"];
const digits = "5012346789", warming = 1, pause = 300; // milliseconds between two keys

// The seconds from the next key until the text in the frame differs from what it is now.
function renewed() {
  const shown = () => document.getElementById("frame").contentDocument.body.textContent;
  const before = shown();
  return new Promise((resolve) => {
    addEventListener("keydown", ({ timeStamp }) => {
      const look = () => (shown() === before ? requestAnimationFrame(look) : resolve((performance.now() - timeStamp) / 1000));
      look();
    }, { capture: true, once: true });
  });
}

(async () => {
  const server = spawn(python, ["-m", "bomgen", "serve", plan, "--no-browser"], { cwd: path.resolve(__dirname, ".."), stdio: ["ignore", "pipe", "inherit"] });
  const browser = await chromium.launch({ executablePath, headless: true, args: switches });
  try {
    const address = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data).trim())));
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.goto(address);
    await page.locator("#state", { hasText: "Up to date" }).waitFor();
    await page.locator(".cm-line", { hasText: `${key}:` }).click();
    await page.keyboard.press("End");
    if (await page.locator(".cm-line", { hasText: `${key}:` }).filter({ hasText: "}" }).count()) await page.keyboard.press("ArrowLeft");
    const seconds = [];
    for (const digit of digits) {
      for (const key of ["Backspace", digit]) {
        const waiting = page.evaluate(renewed);
        await page.waitForTimeout(pause);
        await page.keyboard.press(key);
        const took = await waiting;
        await page.locator("#state", { hasText: "Up to date" }).waitFor();
        if (key === digit) seconds.push(took);
      }
    }
    const ordered = seconds.slice(warming).sort((one, other) => one - other);
    console.log(JSON.stringify({ seconds: ordered[(ordered.length - 1) / 2] }));
  } finally {
    await browser.close();
    server.kill();
  }
})().catch((error) => { console.error(error.message); process.exitCode = 2; });
