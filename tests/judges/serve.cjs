// node serve.cjs BROWSER PYTHON FOLDER [LEFT OUT...]: uses the page of `bomgen serve FOLDER` as people do, in a browser; prints
// what is there after the steps of each story by its name, `failed` where a step was impossible. FOLDER holds a plan
// NAME.yaml for each story, and the files that are dropped. One server for all; that of `killed` has a folder of its own.
const fs = require("fs");
const http = require("http");
const path = require("path");
const { spawn } = require("child_process");
const { chromium } = require("playwright-core");

const [executablePath, python, folder, ...leftOut] = process.argv.slice(2);
const checkout = path.resolve(__dirname, "../..");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const switches = ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none", "--disable-dev-shm-usage", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"];
const desk = { width: 1440, height: 900 }, phone = { width: 390, height: 844 }, wall = { width: 1920, height: 1080 };
const patience = 60000; // milliseconds in which a step has its effect on a busy machine
const atOnce = 2;
const upToDate = /Up to date|已是最新/;

const at = (name) => path.join(folder, name);
const read = (name) => fs.readFileSync(at(name), "utf8");

const servers = [];

function serve(place, options = ["--no-browser"], more = {}) {
  const child = spawn(python, ["-m", "bomgen", "serve", place, ...options], { cwd: checkout, stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...more } });
  servers.push(child);
  return new Promise((resolve, reject) => {
    let said = "";
    child.stdout.on("data", (data) => {
      said += data;
      if (said.includes("\n")) resolve({ child, address: said.trim() });
    });
    child.on("exit", () => reject(new Error(`bomgen serve ended: ${said}`)));
  });
}

// The processes that a process has started.
const started = ({ pid }) => fs.readdirSync(`/proc/${pid}/task`).flatMap((thread) => fs.readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").match(/\d+/g) ?? []);

async function wait(holds) {
  for (const end = Date.now() + patience; !holds();) {
    if (Date.now() > end) throw new Error(`not in time: ${holds}`);
    await new Promise((done) => { setTimeout(done, 50); });
  }
}

// A page with what its stories need. `requests` has those that left the server, `errors` what the browser complained of.
async function visit(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: desk, bypassCSP: false, acceptDownloads: true, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  const { origin } = new URL(address);
  const seen = { requests: [], errors: [] };
  page.on("request", (request) => { if (new URL(request.url()).origin !== origin && !/^(data|blob|about):/.test(request.url())) seen.requests.push(request.url()); });
  page.on("pageerror", (error) => seen.errors.push(error.message));
  page.on("console", (message) => { if (message.type() === "error" && !/status of 4(00|09|99)/.test(message.text())) seen.errors.push(message.text()); });
  await page.goto(address);
  return Object.assign(page, {
    seen,
    built: () => page.locator("#state").filter({ hasText: upToDate }).waitFor(),
    until: (holds, value) => page.waitForFunction(holds, value),
    text: () => page.locator(".cm-line").allTextContents().then((lines) => lines.join("\n")),
    total: () => page.locator("#headline dd").first().textContent(),
    frame: () => page.frameLocator("#frame").locator("body"),
    button: (name, place = page) => place.getByRole("button", { name, exact: true }),
    tab: (name) => page.getByRole("tab", { name, exact: true }),
    dialog: page.getByRole("dialog"),
    begin: page.locator("#start"),
    // Open a plan from the list, as the page begins, and see its text.
    async start(name) {
      await page.begin.getByRole("button", { name: `${name}.yaml` }).click();
      await page.tab("YAML").click();
      await page.built();
      return page;
    },
    async design(name) {
      await page.locator("#designs input").fill(name);
      await page.locator("#designs button", { hasText: new RegExp(`${name}$`) }).click();
      await page.built();
    },
    // Where there is room for one pane alone, the other is one click away.
    async pane(name) {
      const chosen = page.locator(`nav [data-pane=${name}]`);
      if (await chosen.isVisible()) await chosen.click();
    },
    // Put the cursor at the end of the line that begins with a key.
    async line(key) {
      await page.locator(".cm-line", { hasText: new RegExp(`^\\s*${key}:`) }).click();
      await page.keyboard.press("End");
    },
    async rewrite(key, value) {
      await page.line(key);
      const text = await page.locator(".cm-line", { hasText: new RegExp(`^\\s*${key}:`) }).textContent();
      for (let left = text.split(": ")[1].length; left > 0; left--) await page.keyboard.press("Backspace");
      await page.keyboard.type(String(value));
    },
    async drop(name, kind) {
      const content = fs.readFileSync(at(name)).toString("base64");
      const data = await page.evaluateHandle(([name, content]) => {
        const dropped = new DataTransfer();
        dropped.items.add(new File([Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0))], name));
        return dropped;
      }, [name, content]);
      await page.dispatchEvent("body", "drop", { dataTransfer: data });
      await page.button(kind, page.dialog).click();
    },
    // Search over keys with values, for the least of some measures.
    async search(over, least) {
      await page.button("Search").click();
      for (const [number, [key, values]] of Object.entries(over).entries()) {
        if (number) await page.dialog.getByRole("button", { name: "Vary more" }).click();
        const axis = page.dialog.locator(".axis").nth(number);
        await axis.getByRole("combobox").selectOption(key);
        await axis.getByRole("textbox").fill(values);
      }
      for (const box of await page.dialog.getByRole("checkbox").all()) {
        const name = await box.getAttribute("aria-label");
        await box.setChecked(least.some((label) => name.endsWith(`: ${label}`)));
      }
      await page.button("Start", page.dialog).click();
    },
    leave: () => context.close(),
  });
}

async function judged(page, options = {}) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate((chosen) => window.axe.run({ resultTypes: ["violations"], iframes: false, ...chosen }), options);
  return violations.map((found) => `${found.impact} ${found.id}: ${found.help}; ${found.nodes.length}: ${found.nodes.slice(0, 4).map((node) => node.target).join(", ")}`);
}

// How much wider than its window the page is, or the document of a frame.
function wider(frame) {
  const { documentElement: root } = frame ? document.getElementById(frame).contentDocument : document;
  return root.scrollWidth - root.clientWidth;
}

const stories = {
  async mistake(open) {
    const page = await open("mistake"), seen = {};
    const total = await page.total();
    await page.line("gpu");
    await page.keyboard.press("Backspace");
    const underlined = page.locator(".cm-lintRange-error");
    await underlined.waitFor();
    seen.underlined = await underlined.textContent();
    await underlined.hover();
    seen.tip = await page.locator(".cm-tooltip .cm-diagnostic-error").textContent();
    seen.listed = await page.locator("#problems li").allTextContents();
    seen.state = await page.textContent("#state");
    seen.kept = (await page.total()) === total;
    await page.click("#notes");
    await page.locator("#problems li button").click();
    await page.keyboard.press("End");
    await page.keyboard.type("m");
    await page.built();
    seen.left = await underlined.count();
    await page.keyboard.press("Backspace");
    await underlined.waitFor();
    await page.tab("Racks").click();
    await page.locator("#state", { hasText: "to see the result" }).waitFor();
    seen.other = await page.frame().textContent();
    return seen;
  },

  async days(open) {
    const page = await open("days"), seen = { before: await page.total() };
    await page.rewrite("target_days", 15);
    await page.locator("#delta").waitFor();
    await page.built();
    seen.after = await page.total();
    seen.delta = await page.textContent("#delta");
    await page.click("#delta");
    seen.lines = await page.locator("#delta-list tbody tr").allTextContents();
    seen.shown = await page.frame().textContent();
    await page.rewrite("target_days", 30);
    await page.locator("#delta").waitFor({ state: "hidden" });
    seen.again = await page.total();
    return seen;
  },

  async completion(open) {
    const page = await open("completion"), seen = {};
    await page.rewrite("gpu", "h20");
    const options = page.locator(".cm-tooltip-autocomplete li");
    await options.first().waitFor();
    seen.parts = await options.allTextContents();
    await page.keyboard.type("0-s");
    await options.first().filter({ hasText: "h200-sxm" }).click();
    await page.built();
    seen.line = await page.locator(".cm-line", { hasText: "gpu:" }).textContent();
    await page.line("price_book");
    await page.keyboard.press("Enter");
    await page.keyboard.type("charges:\n- {kind: support, years: 3, share: 4%}");
    await page.built();
    seen.text = await page.text();
    return seen;
  },

  async prices(open) {
    const page = await open("prices"), seen = { before: await page.total() };
    await page.drop("list.csv", "Price list");
    seen.asked = await page.dialog.locator(".fields").textContent();
    seen.offered = await page.dialog.locator(".fields option").allTextContents();
    await page.dialog.locator(".fields select").selectOption("price=C");
    await page.button("Continue", page.dialog).click();
    const use = page.button("Use as selling prices", page.dialog);
    await use.waitFor();
    seen.coverage = await page.dialog.locator("p", { hasText: "Priced lines" }).textContent();
    await use.click();
    await page.dialog.waitFor({ state: "hidden" });
    await page.until((before) => document.querySelector("#headline dd").textContent !== before, seen.before);
    seen.after = await page.total();
    seen.text = await page.text();
    seen.book = read("list.prices.yaml");
    return seen;
  },

  async instead(open) {
    const page = await open("prices"), seen = {};
    await page.drop("two.csv", "Price list");
    await page.dialog.locator("p", { hasText: "Priced lines" }).waitFor();
    seen.said = await page.dialog.locator("li.warning").allTextContents();
    await page.button("Read column C: Partner USD instead", page.dialog).click();
    await page.dialog.locator("li.warning").waitFor({ state: "detached" });
    seen.amount = await page.dialog.locator("p", { hasText: /USD$/ }).textContent();
    await page.button("Back", page.dialog).click();
    await page.dialog.locator("li.warning").waitFor();
    return seen;
  },

  async quote(open) {
    const page = await open("quote"), seen = {};
    await page.drop("quote.xlsx", "Edited quote for this plan");
    await page.dialog.getByRole("heading", { name: "Conflicts" }).waitFor();
    seen.conflicts = await page.dialog.locator(".fields label").allTextContents();
    await page.dialog.locator(".fields select").selectOption({ index: 2 });
    await page.button("Continue", page.dialog).click();
    await page.button("Apply the edits to the plan", page.dialog).click();
    await page.dialog.waitFor({ state: "hidden" });
    await page.built();
    seen.text = await page.text();
    return seen;
  },

  async search(open) {
    const page = await open("search"), seen = { before: await page.text() };
    await page.search({ "cluster.servers": "64..128" }, ["Cost", "Days"]);
    const point = page.dialog.locator("circle").last();
    await point.waitFor();
    seen.points = await page.dialog.locator("circle").count();
    await point.hover();
    seen.said = await page.dialog.getByRole("status").last().textContent();
    await point.click();
    await page.dialog.waitFor({ state: "hidden" });
    await page.built();
    seen.after = await page.text();
    return seen;
  },

  async download(open) {
    const page = await open("download");
    await page.button("Download quote").click();
    const workbooks = page.dialog.getByRole("button", { name: /^quote.xlsx/ });
    const [file] = await Promise.all([page.waitForEvent("download"), workbooks.click()]);
    await file.saveAs(at(`downloads/${file.suggestedFilename()}`));
    await page.evaluate(() => {
      const { get } = Object.getOwnPropertyDescriptor(HTMLIFrameElement.prototype, "contentWindow");
      const printing = (frame) => { frame.addEventListener("beforeprint", () => { window.printed = frame.document.body.textContent; }); return frame; };
      Object.defineProperty(HTMLIFrameElement.prototype, "contentWindow", { get() { return printing(get.call(this)); } });
    });
    await page.dialog.getByRole("button", { name: /^print/ }).click();
    await page.until(() => window.printed);
    return { name: file.suggestedFilename(), printed: await page.evaluate(() => window.printed) };
  },

  async save(open) {
    const page = await open("save"), seen = { before: await page.textContent("#file") };
    await page.rewrite("servers", 6);
    await page.until(() => document.getElementById("file").textContent.includes("not saved"));
    seen.unsaved = read("save.yaml");
    await page.keyboard.press("Control+s");
    await page.until(() => !document.getElementById("file").textContent.includes("not saved"));
    seen.written = read("save.yaml");
    seen.text = await page.text();
    return seen;
  },

  // A file of Windows, of which only what is typed changes; keys of the page type nothing, and saving goes on while keys are held.
  async windows(open) {
    const page = await open("windows"), seen = { opened: await page.textContent("#file") };
    await page.rewrite("servers", 6);
    await page.keyboard.press("Control+Enter");
    await page.built();
    for (let times = 0; times < 5; times++) page.keyboard.press("Control+s");
    await page.until(() => !document.getElementById("file").textContent.includes("not saved"));
    await page.built();
    seen.dialogs = await page.dialog.count();
    seen.written = read("windows.yaml");
    return seen;
  },

  // What is refused is said where it was done, and leaves what was there.
  async refused(open) {
    const page = await open(), seen = {}, failed = page.dialog.getByRole("alert");
    await page.locator("#link input").fill("http://127.0.0.1/#plan=eJzLAAAA");
    await page.button("Open", page.locator("#link")).click();
    await page.locator("#start-failed").waitFor();
    seen.link = await page.textContent("#start-failed");
    await page.design("llama65b");
    await page.keyboard.press("Control+s");
    for (const name of ["none/refused.yaml", "refused.yaml"]) {
      await page.dialog.getByRole("textbox").fill(name);
      await page.dialog.getByRole("textbox").press("Enter");
      if (name !== "refused.yaml") seen.name = await failed.textContent();
    }
    await page.button("Keep my version", page.dialog).waitFor();
    seen.exists = await page.dialog.locator("p").allTextContents();
    await page.keyboard.press("Escape");
    seen.kept = read("refused.yaml");
    await page.button("Open").click();
    await page.start("refused");
    await page.tab("Form").click();
    const servers = page.locator("#form [name='cluster.servers']"), why = page.locator("#form").getByRole("alert");
    await servers.waitFor();
    // A request for the form is answered after the answer is refused.
    let overtaken;
    await page.route("**/api/form*", (route) => { overtaken = route; }, { times: 1 });
    await page.tab("Form").click();
    await servers.fill("8");
    await servers.press("Tab");
    await why.waitFor();
    await Promise.all([page.waitForResponse((response) => response.request() === overtaken.request()), overtaken.continue()]);
    await page.waitForTimeout(100);
    seen.form = await why.textContent();
    seen.answers = await page.locator("#form [name='cluster.gpu']").inputValue();
    await page.locator("#form [name='purpose']").selectOption("training");
    await page.locator("#form [name='title']").fill("Meanwhile");
    await page.locator("#form [name='workload.training.tokens']").waitFor();
    seen.typed = await page.locator("#form [name='title']").inputValue();
    await page.route("**/api/form*", (route) => route.fulfill({ status: 499, json: { error: "cancelled", message: "" } }), { times: 1 });
    await page.locator("#form [name='title']").fill("After all");
    await page.locator("#form [name='title']").press("Tab");
    await page.until(() => document.getElementById("text").textContent.includes("After all"));
    seen.title = await page.text();
    const pointer = await page.context().newCDPSession(page), { x, y } = await page.locator("#frame").boundingBox();
    for (const type of ["dragEnter", "dragOver", "dragOver", "drop"]) {
      await pointer.send("Input.dispatchDragEvent", { type, x: x + 50, y: y + 50, data: { items: [], files: [at("killed")], dragOperationsMask: 1 } });
      await page.waitForTimeout(100);
    }
    await page.button("Price list", page.dialog).click();
    seen.folder = await failed.textContent();
    return seen;
  },

  async writers(open) {
    const page = await open("writers"), seen = {}, other = read("writers.yaml");
    for (const [choice, servers] of [["Keep my version", 6], ["Load the version on disk", 7]]) {
      await page.rewrite("servers", servers);
      await page.built();
      fs.writeFileSync(at("writers.yaml"), `${other}# by another program, before ${choice}\n`);
      await page.button("Save").click();
      const chosen = page.button(choice, page.dialog);
      await chosen.waitFor();
      const on_disk = read("writers.yaml");
      await chosen.click();
      await page.dialog.waitFor({ state: "hidden" });
      await page.until(() => !document.getElementById("file").textContent.includes("not saved"));
      seen[choice] = { on_disk, written: read("writers.yaml"), text: await page.text() };
    }
    await page.line("gpu");
    await page.keyboard.press("Control+z");
    seen.undone = await page.text();
    fs.writeFileSync(at("writers.yaml"), Buffer.from("name: M\xfcller\n", "latin1"));
    await page.button("Save").click();
    await page.button("Keep my version", page.dialog).waitFor();
    seen.unread = { said: await page.dialog.locator("p.warning").textContent(), buttons: await page.dialog.locator(".row button").allTextContents() };
    return seen;
  },

  // Two customers, whose plans have the same name until they are saved. A file leads to the page, whose processes end with it.
  async customers(_open, browser) {
    const server = await serve(at("customers"), [], { BROWSER: "true %s", HOME: at("customers") }), seen = { books: [] };
    const leading = () => fs.readdirSync(at("customers")).filter((name) => name.endsWith(".html"));
    await wait(() => leading().length);
    const page = await visit(browser, `file://${at("customers")}/${leading()[0]}`);
    await page.waitForURL(server.address);
    await wait(() => !leading().length);
    for (const [customer, price] of [["first", 100000], ["second", 300000]]) {
      await page.button("New plan", page.begin).click();
      await page.locator("#form [name=purpose]").selectOption("none");
      await page.tab("Prices").click();
      await page.built();
      await page.button("Enter missing prices").click();
      await page.dialog.locator("tr", { hasText: "DGX B300" }).getByRole("textbox").fill(String(price));
      await page.button("Continue", page.dialog).click();
      await page.button("Use as selling prices", page.dialog).click();
      await page.dialog.waitFor({ state: "hidden" });
      await page.keyboard.press("Control+s");
      await page.dialog.getByRole("textbox").fill(customer);
      await page.dialog.getByRole("textbox").press("Enter");
      await page.until((name) => document.getElementById("file").textContent === name, `${customer}.yaml`);
      await page.button("Open", page.getByLabel("Actions")).click();
    }
    for (const customer of ["first", "second"]) {
      await page.start(customer);
      await page.total();
      const plan = fs.readFileSync(`${at("customers")}/${customer}.yaml`, "utf8"), book = /[\w-]+\.prices\.yaml/.exec(plan)[0];
      seen.books.push(fs.readFileSync(`${at("customers")}/${book}`, "utf8"));
      await page.button("Open", page.getByLabel("Actions")).click();
    }
    await page.route("**/api/files*", async (route) => route.fulfill({ json: { ...(await (await route.fetch()).json()), whole: false } }));
    await page.keyboard.press("Escape");
    seen.unlisted = [];
    for (const [name, place] of [["Open", page.begin], ["Compare", page.dialog]]) {
      await page.button(name, page.getByLabel("Actions")).click();
      seen.unlisted.push(await place.locator("p.warning").textContent());
      await page.keyboard.press("Escape");
    }
    seen.open = started(server.child).length;
    await page.close({ runBeforeUnload: true });
    await wait(() => !started(server.child).length);
    seen.closed = started(server.child).length;
    await page.leave();
    return seen;
  },

  async form(open) {
    const page = await open(), seen = {};
    await page.design("llama65b");
    await page.tab("Form").click();
    const answer = async (input, value) => {
      if (await input.evaluate((element) => element.tagName === "SELECT")) return input.selectOption(value);
      await input.fill(value);
      return input.press("Tab");
    };
    const answered = (response) => response.url().includes("/api/form") && response.request().postDataJSON().answers;
    for (const [key, value] of [["purpose", "inference"], ["workload.inference.requests_per_minute", "600"], ["cluster.gpu", "h200-sxm"], ["quote.price_book", "indicative"]]) {
      const input = page.locator(`#form [name="${key}"]`);
      await Promise.all([page.waitForResponse(answered), answer(input, value)]);
    }
    await page.tab("YAML").click();
    await page.built();
    seen.text = await page.text();
    await page.rewrite("gpu", "h100-sxm");
    await page.built();
    await page.tab("Form").click();
    await page.until(() => document.querySelector("#form [name='cluster.gpu']").value === "h100-sxm");
    await page.locator("#form [name='quote.customer']").fill("Acme");
    await page.keyboard.press("Control+s");
    await page.dialog.getByRole("textbox").fill("from-form.yaml");
    await page.dialog.getByRole("textbox").press("Enter");
    await page.until(() => document.getElementById("file").textContent === "from-form.yaml");
    seen.written = read("from-form.yaml");
    await page.locator("#form [name='quote.customer']").fill("Nobody");
    await page.button("Save").click();
    await wait(() => read("from-form.yaml").includes("Nobody"));
    seen.again = read("from-form.yaml");
    return seen;
  },

  // Somebody who knows no YAML: a new plan by keys alone, whose quote is addressed, and what it says before it has prices.
  async begin(open) {
    const page = await open(), seen = { axe: {} }, input = (key) => page.locator(`#form [name="${key}"]`);
    const reach = async (name) => {
      for (let tabs = 0; tabs < 60 && (await page.evaluate(() => document.activeElement.name || document.activeElement.textContent)) !== name; tabs++) await page.keyboard.press("Tab");
    };
    await page.button("New plan", page.begin).waitFor();
    await reach("New plan");
    await page.keyboard.press("Enter");
    await page.until(() => document.activeElement.name === "purpose");
    seen.begin = await page.textContent("#state");
    seen.headings = await page.locator("#form h2").allTextContents();
    const found = await judged(page);
    if (found.length) seen.axe.begin = found;
    seen.purposes = [];
    for (const key of ["ArrowDown", "ArrowDown", "ArrowUp"]) {
      const answered = page.waitForResponse((response) => response.url().includes("/api/form") && response.request().postDataJSON().answers);
      await page.keyboard.press(key);
      await answered;
      await page.built();
      seen.purposes.push(await page.locator("#form [name=purpose]").inputValue());
    }
    for (const [key, value] of [["quote.tax", "19"], ["quote.customer", "Acme"], ["quote.charges.support.years", "3"]]) {
      await reach(key);
      const answered = page.waitForResponse((response) => response.url().includes("/api/form") && response.request().postDataJSON().answers);
      await page.keyboard.type(value);
      await page.keyboard.press("Tab");
      await answered;
      await page.built();
      await page.evaluate(() => document.querySelector("#form [name=purpose]").focus());
    }
    await page.tab("Prices").click();
    await page.built();
    seen.prices = await page.frame().textContent();
    const [file] = await Promise.all([page.waitForEvent("download"), page.button("Parts without a price (CSV)").click()]);
    seen.list = fs.readFileSync(await file.path(), "utf8");
    await page.button("Enter missing prices").click();
    const server = page.dialog.locator("tr", { hasText: "DGX B300" }).getByRole("textbox");
    await server.waitFor();
    const asked = await judged(page);
    if (asked.length) seen.axe.prices = asked;
    await server.fill("280000");
    await page.button("Continue", page.dialog).click();
    await page.button("Use as selling prices", page.dialog).click();
    await page.dialog.waitFor({ state: "hidden" });
    await page.built();
    seen.total = await page.total();
    seen.book = read("my-cluster-prices.prices.yaml");
    await page.button("Download quote").click();
    await page.dialog.locator("p.warning").waitFor();
    seen.missing = await page.dialog.locator("p.warning").textContent();
    seen.formats = await page.dialog.locator(".list button").allTextContents();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+s");
    await page.dialog.getByRole("textbox").fill("begun");
    await page.dialog.getByRole("textbox").press("Enter");
    await page.until(() => document.getElementById("file").textContent === "begun.yaml");
    seen.dialog = await page.dialog.isVisible();
    seen.written = read("begun.yaml");
    return seen;
  },

  // Two questions about a list: the second shows that the first was answered wrongly.
  async back(open) {
    const page = await open("back"), seen = {};
    const choice = page.dialog.locator(".fields select");
    const next = async (value) => {
      await choice.selectOption(value);
      await page.button("Continue", page.dialog).click();
    };
    const back = async (value) => {
      await page.button("Back", page.dialog).click();
      await page.until((value) => document.querySelector("#dialog .fields select")?.value === value, value);
    };
    await page.drop("open.csv", "Price list");
    await choice.waitFor();
    await next("price=C");
    const currency = page.dialog.locator("option[value='currency=SEK']");
    await currency.waitFor({ state: "attached" });
    seen.currencies = (await choice.locator("option").allTextContents()).slice(0, 3);
    await back("price=C");
    await next("price=B");
    await currency.waitFor({ state: "attached" });
    await next("currency=SEK");
    await page.dialog.locator("p.error").waitFor();
    seen.refused = await page.dialog.locator("p.error + ul").textContent();
    await back("currency=SEK");
    await next("currency=USD");
    await page.dialog.locator("div.warning li").waitFor();
    seen.near = await page.dialog.locator("div.warning li").allTextContents();
    await back("currency=USD");
    return seen;
  },

  async gallery(open) {
    const page = await open(), seen = {}, designs = page.locator("#designs .list button");
    await designs.first().waitFor();
    seen.all = await designs.count();
    await page.locator("#designs input").fill("h200 xe9680");
    seen.shown = await page.locator("#designs .list button:visible").allTextContents();
    return seen;
  },

  // The only plan of a folder, beside a copy of it and a design.
  async alone(_open, browser) {
    const seen = {}, server = await serve(at("alone")), page = await visit(browser, server.address);
    await page.start("alone");
    await page.button("Compare").click();
    seen.said = await page.dialog.locator("p").first().textContent();
    await page.button("Save a copy under this name", page.dialog).click();
    await page.dialog.getByRole("checkbox", { name: "alone-2.yaml" }).check();
    seen.copy = read("alone/alone-2.yaml");
    await page.dialog.getByText("Designs", { exact: true }).click();
    await page.dialog.getByRole("checkbox", { name: "a100-32-zh" }).check();
    await page.dialog.getByRole("button", { name: "Compare", exact: true }).click();
    await page.dialog.locator("iframe").waitFor();
    const compared = page.dialog.frameLocator("iframe").locator("body");
    await compared.locator("table").first().waitFor();
    seen.compared = await compared.textContent();
    seen.scrolled = await page.dialog.evaluate((dialog) => dialog.querySelector("iframe").getBoundingClientRect().top < dialog.getBoundingClientRect().bottom / 2);
    await page.leave();
    return seen;
  },

  // Keys alone: from the list of plans to an edit that is saved and another tab of the result.
  async keyboard(open) {
    const page = await open(), seen = { unseen: [] };
    const focused = () => page.evaluate(() => {
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
      const editing = document.activeElement.closest(".cm-editor");
      return { name: document.activeElement.textContent.trim() || document.activeElement.id, seen: editing || (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) };
    });
    await page.begin.getByRole("button", { name: "keyboard.yaml" }).waitFor();
    const choose = async (test) => {
      for (let tabs = 0; tabs < 200; tabs++) {
        if (await page.evaluate(test)) return;
        await page.keyboard.press("Tab");
        const now = await focused();
        if (!now.seen) seen.unseen.push(now.name.slice(0, 60));
      }
      throw new Error(`Tab does not reach ${test}`);
    };
    await choose(() => document.activeElement.textContent.includes("keyboard.yaml") && document.activeElement.matches("button"));
    await page.keyboard.press("Enter");
    await page.built();
    await choose(() => document.activeElement.id === "view-form");
    await page.keyboard.press("ArrowRight");
    await choose(() => document.activeElement.matches(".cm-content"));
    await page.keyboard.press("Control+Home");
    for (let lines = 0; lines < 5; lines++) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("End");
    await page.keyboard.press("Backspace");
    await page.keyboard.type("8");
    await page.locator("#delta").waitFor();
    await page.keyboard.press("Control+s");
    await page.until(() => !document.getElementById("file").textContent.includes("not saved"));
    seen.written = read("keyboard.yaml");
    await choose(() => document.activeElement.id === "tab-quote");
    await page.keyboard.press("ArrowRight");
    await page.until(() => document.activeElement.getAttribute("aria-selected") === "true" && document.activeElement.id === "tab-report");
    await page.built();
    await page.keyboard.press("End");
    await page.until(() => document.activeElement.getAttribute("aria-selected") === "true");
    seen.tab = await page.evaluate(() => document.activeElement.textContent);
    await page.keyboard.press("Control+o");
    await page.begin.waitFor();
    await page.keyboard.press("Escape");
    await page.begin.waitFor({ state: "hidden" });
    seen.back = await page.evaluate(() => document.activeElement.id);
    return seen;
  },

  // Every tab, view and dialog by axe, light and dark, and on a telephone in both languages.
  async everyone(open) {
    const page = await open("everyone"), seen = { axe: {}, wide: {} };
    const judge = async (name) => {
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        const found = await judged(page, colorScheme === "dark" ? { runOnly: { type: "rule", values: ["color-contrast"] } } : {});
        if (found.length) seen.axe[`${name}, ${colorScheme}`] = found;
      }
    };
    await judge("page");
    await page.tab("Prices").click();
    await page.built();
    await judge("prices");
    await page.tab("Quote").click();
    await page.built();
    await page.button("Open").click();
    await page.locator("#designs button").first().waitFor();
    await page.locator(".goals button").first().click();
    await page.locator(".inquiry input").first().waitFor();
    await judge("start");
    await page.keyboard.press("Escape");
    for (const name of ["Download quote", "Import", "Search", "Compare", "Share"]) {
      await page.button(name).click();
      await page.dialog.waitFor();
      if (name === "Download quote") await page.dialog.locator(".list button").first().waitFor();
      await judge(name);
      await page.keyboard.press("Escape");
    }
    await page.rewrite("servers", 8);
    await page.click("#delta");
    await page.rewrite("gpu", "h100");
    await page.locator(".cm-lintRange-error").waitFor();
    await judge("problems");
    await page.rewrite("gpu", "h100-sxm");
    await page.built();
    await page.tab("Form").click();
    await page.locator("#form label").first().waitFor();
    await judge("form");
    return seen;
  },

  async phone(open, _browser, name = "phone", options = { viewport: phone, hasTouch: true }) {
    const page = await open(name, options), seen = { overflow: {}, words: {}, frames: {} };
    for (const language of ["en", "zh"]) {
      await page.selectOption("#language", language);
      await page.built();
      await page.pane("result");
      for (const tab of await page.locator("#tabs [role=tab]").all()) {
        const name = `${await tab.textContent()}`;
        await tab.click();
        await page.frame().locator("h1, h2").first().waitFor();
        await page.built();
        seen.overflow[name] = await page.evaluate(wider);
        seen.frames[name] = await page.evaluate(wider, "frame");
      }
      await page.pane("plan");
      for (const view of await page.locator("#views [role=tab]").all()) {
        await view.click();
        seen.overflow[`${await view.textContent()}`] = await page.evaluate(wider);
      }
      await page.click("#open");
      await page.locator("#designs button").first().waitFor();
      seen.overflow[`start, ${language}`] = await page.evaluate(wider);
      await page.keyboard.press("Escape");
      for (const action of await page.locator(".actions button:not(#open, #save, #theme)").all()) {
        await action.click();
        await page.dialog.waitFor();
        if (await action.getAttribute("id") === "download") await page.dialog.locator(".list button").first().waitFor();
        const inside = await page.dialog.evaluate((dialog) => Math.max(dialog.scrollWidth - dialog.clientWidth, dialog.getBoundingClientRect().right - innerWidth));
        seen.overflow[`${await action.textContent()} …`] = Math.max(inside, 0);
        await page.keyboard.press("Escape");
        await page.dialog.waitFor({ state: "hidden" });
      }
      await page.locator("#views [role=tab]").last().click();
      seen.words[language] = { lang: await page.evaluate(() => document.documentElement.lang), tabs: await page.locator("#tabs [role=tab]").allTextContents(), quote: await page.evaluate(() => document.getElementById("frame").contentDocument.documentElement.lang) };
    }
    return seen;
  },

  wall: (open, browser) => stories.phone(open, browser, "wall", { viewport: wall }),

  async dark(open) {
    const page = await open("dark", { colorScheme: "dark" }), seen = {};
    const grounds = async () => [await page.evaluate(() => getComputedStyle(document.body).backgroundColor), await page.evaluate(() => getComputedStyle(document.getElementById("frame").contentDocument.body).backgroundColor)];
    seen.paper = await grounds();
    await page.tab("Report").click();
    await page.frame().locator("details").first().waitFor();
    await page.built();
    seen.dark = await grounds();
    await page.click("#theme");
    seen.light = await grounds();
    return seen;
  },

  // Two people at once: what one of them types, breaks and searches changes nothing for the other.
  async browsers(open) {
    const [one, two] = await Promise.all([open("browsers"), open("other")]);
    const seen = { before: await two.total() };
    const upTo = (most, unit) => Array.from({ length: most }, (_, number) => `${number + 1}${unit}`).join(", ");
    await one.search({ "cluster.servers": "2..9000", "workload.training.mfu": upTo(40, "%"), "workload.training.tokens": upTo(20, "T") }, ["Cost"]);
    for (const again of [true, false]) {
      await one.dialog.getByRole("status").filter({ hasText: /: [1-9]/ }).waitFor();
      if (again) await one.button("Start", one.dialog).click();
    }
    await two.rewrite("servers", 5);
    await two.until((before) => document.querySelector("#headline dd").textContent !== before, seen.before);
    seen.searching = await one.dialog.locator("progress").count();
    seen.after = await two.total();
    await one.button("Stop", one.dialog).click();
    await one.dialog.locator("p").filter({ hasText: "Stopped" }).waitFor();
    seen.stopped = await one.dialog.locator("progress").count();
    seen.other = await one.text();
    return seen;
  },

  // Somebody types on and on: older builds are given up, and what is shown at the end is the last text.
  async typing(open) {
    const page = await open("typing"), seen = { statuses: [] };
    page.on("response", (response) => { if (response.url().includes("/api/build")) seen.statuses.push(response.status()); });
    await page.line("servers");
    for (const servers of [40, 900, 1200, 64, 12]) {
      await page.keyboard.press("Backspace");
      for (const key of `\b${servers}`) {
        await page.keyboard.press(key === "\b" ? "End" : key);
        await page.waitForTimeout(150);
      }
      for (let left = String(servers).length; left > 1 && servers !== 12; left--) await page.keyboard.press("Backspace");
    }
    const text = await page.text();
    seen.servers = /servers: (\d+)/.exec(text)[1];
    await page.until((servers) => [...document.querySelectorAll("#headline div")].some((each) => each.textContent === `Servers${servers}`), seen.servers);
    return seen;
  },

  async share(open) {
    const page = await open("share"), seen = {};
    await page.button("Share").click();
    const link = page.dialog.locator("input[readonly]");
    await link.waitFor();
    const address = await link.inputValue();
    seen.token = address.includes("token");
    const [file] = await Promise.all([page.waitForEvent("download"), page.button("Download report (HTML)", page.dialog).click()]);
    await file.saveAs(at(`downloads/${file.suggestedFilename()}`));
    seen.name = file.suggestedFilename();
    const other = await open();
    await other.locator("#link input").fill(address);
    await other.button("Open", other.locator("#link")).click();
    await other.tab("YAML").click();
    await other.built();
    seen.text = await other.text();
    return seen;
  },

  // A page of another origin, which has learnt the whole address, tries what pages can do.
  async stranger(open, browser) {
    const page = await open("stranger"), seen = { statuses: [], tried: {} }, address = page.url();
    const server = http.createServer((_request, response) => response.setHeader("Content-Type", "text/html").end("<!doctype html><title>stranger</title>"));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const other = await (await browser.newContext()).newPage();
    other.on("response", (response) => { if (response.url().startsWith(new URL(address).origin)) seen.statuses.push(`${response.request().method()} ${response.status()}`); });
    await other.goto(`http://127.0.0.1:${server.address().port}/`);
    seen.tried = await other.evaluate(async (address) => {
      const api = new URL(address);
      api.pathname = "/api/save";
      const body = JSON.stringify({ path: "stranger.yaml", text: "", version: "" });
      const tell = (promise) => promise.then((answer) => answer.type ?? "answered", (error) => error.name);
      const load = (tag, properties) => new Promise((resolve) => {
        const made = Object.assign(document.createElement(tag), properties, { onload: () => resolve("loaded"), onerror: () => resolve("refused") });
        document.head.append(made);
      });
      return {
        read: await tell(fetch(address)),
        call: await tell(fetch(api, { method: "POST", headers: { "Content-Type": "application/json" }, body })),
        text: await tell(fetch(api, { method: "POST", mode: "no-cors", body })),
        script: await load("script", { src: new URL("/app.js", address) }),
        style: await load("link", { rel: "stylesheet", href: new URL("/style.css", address) }),
      };
    }, address);
    await other.evaluate((address) => { document.body.append(Object.assign(document.createElement("iframe"), { src: address })); }, address);
    await other.waitForTimeout(500);
    seen.framed = await other.frames()[1]?.evaluate(() => document.querySelectorAll("button").length).catch(() => 0) ?? 0;
    await other.evaluate((address) => {
      const form = Object.assign(document.createElement("form"), { method: "post", enctype: "text/plain", action: address.replace("/?", "/api/save?") });
      document.body.append(form);
      form.submit();
    }, address);
    await other.waitForTimeout(500);
    await other.context().close();
    server.close();
    seen.kept = read("stranger.yaml");
    return seen;
  },

  async killed(_open, browser) {
    const seen = {}, first = await serve(at("killed"));
    const page = await visit(browser, first.address);
    await page.start("killed");
    await page.rewrite("servers", 5);
    await page.built();
    const ended = new Promise((resolve) => { first.child.on("close", resolve); });
    first.child.kill("SIGKILL");
    await ended;
    await page.rewrite("servers", 6);
    await page.locator("#state.bad").waitFor();
    seen.said = await page.textContent("#state");
    seen.text = await page.text();
    const second = await serve(at("killed"), ["--no-browser", "--port", new URL(first.address).port]);
    await page.rewrite("servers", 7);
    await page.locator("#state.bad").waitFor();
    seen.again = await page.textContent("#state");
    const [file] = await Promise.all([page.waitForEvent("download"), page.button("Save a copy").click()]);
    seen.copy = fs.readFileSync(await file.path(), "utf8");
    await page.leave();
    const back = await visit(browser, second.address);
    await back.start("killed");
    seen.back = await back.text();
    await back.leave();
    return seen;
  },
};

(async () => {
  const browser = await chromium.launch({ executablePath, headless: true, args: switches });
  const server = await serve(folder);
  const found = {}, names = Object.keys(stories).filter((name) => !leftOut.includes(name));
  let next = 0;
  const work = async () => {
    for (let number = next++; number < names.length; number = next++) {
      const name = names[number], pages = [], began = Date.now();
      const open = async (plan, options) => {
        const page = await visit(browser, server.address, options);
        pages.push(page);
        return plan ? page.start(plan) : page;
      };
      try {
        found[name] = await stories[name](open, browser);
      } catch (error) {
        const shown = pages.length ? await pages[0].locator("dialog[open], body").last().innerText().catch(() => "") : "";
        found[name] = { failed: `${error.message}\n${shown}` };
      }
      Object.assign(found[name], { requests: pages.flatMap((page) => page.seen.requests), errors: pages.flatMap((page) => page.seen.errors), seconds: (Date.now() - began) / 1000 });
      for (const page of pages) await page.leave();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  await browser.close();
  console.log(JSON.stringify(found));
})().catch((error) => { console.error(error); process.exitCode = 2; }).finally(() => { for (const child of servers) child.kill(); });
