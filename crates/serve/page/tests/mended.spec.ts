// Addresses and fields that agree, damaged files that are called so, values that cannot be.

import { readFileSync, writeFileSync } from "node:fs";
import type { Locator } from "@playwright/test";
import type { Curves } from "../src/api.ts";
import { command, DEADLOCK, FOLDER, json, RUN } from "./command.ts";
import { expect, gauge, shownCycle, test } from "./support.ts";

test("a field that has the focus shows what the address says after back and forward", async ({ page, address }) => {
  await page.goto(`${address}/plan?topology=mesh:4x4&source=0,0&destinations=3,3&algorithms=separate`);
  const field = page.getByLabel("Destinations");
  await expect(field).toHaveValue("3,3");
  await field.fill("2,2");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/destinations=2,2/);
  await expect(field).toBeFocused();
  await page.goBack();
  await expect(field).toHaveValue("3,3");
  await page.goForward();
  await expect(field).toHaveValue("2,2");
  // What was typed and not said is not said by going back.
  await field.fill("1,1");
  await page.goBack();
  await expect(field).toHaveValue("3,3");
  await expect(page).toHaveURL(/destinations=3,3/);
});

test("what is selected in a field stays selected when the network arrives", async ({ page, address }) => {
  let arrive = (): void => undefined;
  const held = new Promise<void>((done) => { arrive = done; });
  await page.route("**/api/network?**", async (route) => {
    await held;
    await route.fallback();
  });
  await page.goto(`${address}/plan?topology=mesh:4x4&source=0,0&destinations=3,3&algorithms=separate`);
  const field = page.getByLabel("Destinations");
  await expect(field).toHaveValue("3,3");
  await field.selectText();
  // The bar is made anew with the names of the network.
  arrive();
  await expect(field).toHaveAttribute("placeholder", "1,0; …");
  await expect(field).toBeFocused();
  await page.keyboard.type("2,2");
  await expect(field).toHaveValue("2,2");
  // A part stays a part.
  await field.evaluate((input: HTMLInputElement) => input.setSelectionRange(1, 2, "backward"));
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/destinations=2,2/);
  expect(await field.evaluate(({ selectionStart, selectionEnd, selectionDirection }: HTMLInputElement) => [selectionStart, selectionEnd, selectionDirection])).toEqual([1, 2, "backward"]);
});

test("the field of the cycle keeps what is selected while the replay plays", async ({ page, address }) => {
  await page.goto(`${address}/replay?file=run.replay&cycle=5000`);
  const field = page.getByLabel("Go to cycle");
  await expect(field).toHaveValue("5,000");
  await page.getByRole("button", { name: "Play", exact: true }).click();
  await field.selectText();
  await expect(field).not.toHaveValue("5,000");
  const [from, to, length] = await field.evaluate(({ selectionStart, selectionEnd, value }: HTMLInputElement) => [selectionStart, selectionEnd, value.length]);
  expect([from, to]).toEqual([0, length]);
});

test("who chooses by the keyboard how curves are shown keeps the place", async ({ page, address }) => {
  await page.goto(`${address}/curves?experiment=small.toml&store=results/store.db`);
  await expect(page.locator(".numbers.values")).toBeVisible();
  const logarithmic = page.getByLabel("logarithmic");
  await logarithmic.focus();
  await page.keyboard.press("Space");
  await expect(page).toHaveURL(/log=1/);
  await expect(logarithmic).toBeFocused();
});

test("a wrong topology leaves nothing of the old network, and back to it shows it as wrong", async ({ page, address }) => {
  await page.goto(`${address}/network?topology=mesh:4x4`);
  const about = page.locator(".panel .facts");
  await expect(about).toBeVisible();
  const field = page.getByLabel("Topology");
  await field.fill("mesh:4x");
  await page.keyboard.press("Enter");
  await expect(page.locator(".problem")).toContainText("mesh:4x");
  await expect(about).toHaveCount(0);
  await field.fill("mesh:5x5");
  await page.keyboard.press("Enter");
  await expect(about).toContainText("mesh:5x5");
  await page.goBack();
  await expect(page.locator(".problem")).toContainText("mesh:4x");
  await expect(field).toHaveValue("mesh:4x");
  await expect(about).toHaveCount(0);
  await page.goBack();
  await expect(about).toContainText("mesh:4x4");
  await expect(page.locator(".problem")).toHaveCount(0);
});

test("tables without a network ask for it, and what an address says in vain is told", async ({ page, address }) => {
  await page.goto(`${address}/deadlock?tables=fabric.lfts`);
  await expect(page.locator(".problem")).toHaveText("Enter the network of fabric.lfts as the topology.");
  await page.goto(`${address}/deadlock?topology=fabric.net&multicast_tables=fabric.mcfdbs`);
  await expect(page.locator(".problem")).toHaveText("Choose the forwarding tables that go with fabric.mcfdbs.");
  await page.getByLabel("Routing, algorithm or tables").selectOption("fabric.lfts");
  await expect(page).toHaveURL(/tables=fabric\.lfts/);
  await expect(page.locator(".problem")).toHaveCount(0);
  await page.goto(`${address}/network?topolgy=torus:4x4`);
  await expect(page.locator(".problem")).toContainText("“topolgy”, which makes no difference here: expected topology");
  await page.goto(`${address}/network?topology=torus:4x4`);
  await expect(page.locator(".facts").first()).toContainText("torus:4x4");
  await expect(page.locator(".problem")).toHaveCount(0);
});

test("a damaged run is called damaged wherever it is used, and nothing hangs", async ({ page, address }) => {
  const bytes = readFileSync(`${FOLDER}/run.replay`);
  const end = bytes.length - 32;
  const header = Number(bytes.readBigUInt64LE(end));
  for (let at = 40; at < header; at += 400) bytes[at] ^= 0x10;
  writeFileSync(`${FOLDER}/flipped.replay`, bytes);
  await page.goto(`${address}/replay?file=flipped.replay&cycle=5000`);
  await expect(page.locator(".panel .problem").first()).toContainText("`flipped.replay`: it is damaged");
  await expect(page.locator("[data-count]").filter({ hasText: /^\d+$/ })).toHaveCount(0);
  await page.getByRole("button", { name: "Find the bottleneck" }).click();
  await expect(page.getByText("Looking for its messages")).toHaveCount(0);
  // Once, and nothing is said of worms that could not be read.
  await expect(page.getByText("`flipped.replay`: it is damaged")).toHaveCount(1);
  await expect(page.getByText("No worm waits")).toHaveCount(0);
  await page.goto(`${address}/network?replay=flipped.replay`);
  await expect(page.locator(".panel .problem")).toContainText("`flipped.replay`: it is damaged");
  const whole = readFileSync(`${FOLDER}/run.replay`);
  whole[whole.length - 10] ^= 0xff;
  writeFileSync(`${FOLDER}/end.replay`, whole);
  await page.goto(`${address}/replay?file=end.replay`);
  await expect(page.locator(".problem")).toContainText("`end.replay`: it is damaged");
});

test("values that cannot be are refused with their range", async ({ page, address }) => {
  await page.goto(`${address}/replay?file=run.replay&cycle=5000`);
  await expect.poll(() => gauge(page, "worms here")).toBeGreaterThan(0);
  for (const [label, value, expected] of [["Worm", "99999999", "a number from 0 to"], ["Message", "x", "a number from 0 to"], ["Node", "8,8", "a node from 0,0 to 7,7"], ["Channel", "0,0 -> 5,5", "or ends such as"]] as const) {
    const field = page.getByRole("textbox", { name: label });
    await field.fill(value);
    await page.keyboard.press("Enter");
    await expect(field, label).toHaveAttribute("aria-invalid", "true");
    await expect(field, label).toHaveValue(value);
    await expect(page.locator(".missing").filter({ hasText: `“${value}”` })).toContainText(expected);
  }
  await page.goto(`${address}/replay?file=run.replay&cycle=5000&node=999`);
  await expect(page.getByRole("textbox", { name: "Node" })).toHaveAttribute("aria-invalid", "true");
});

test("a refused value leaves the fields beside it as they are", async ({ page, address }) => {
  await page.goto(`${address}/replay?file=run.replay&cycle=5000`);
  const beside = page.getByRole("textbox", { name: "Channel" });
  const height = async (): Promise<number> => ((await beside.boundingBox()) as { height: number }).height;
  const before = await height();
  await page.getByRole("textbox", { name: "Node" }).fill("8,8");
  await page.keyboard.press("Enter");
  await expect(page.locator(".missing").filter({ hasText: "8,8" })).toBeVisible();
  expect(await height()).toBe(before);
  const tops = await page.locator(".fields label > span:first-child").evaluateAll((labels) => labels.slice(2).map((label) => label.getBoundingClientRect().top));
  expect(tops[0]).toBe(tops[1]);
});

test("a cycle that there is not is refused, and what was asked for stays to be mended", async ({ page, address }) => {
  const last = json<{ cycles: number }>("simulate", ...RUN).cycles - 1;
  const field = page.getByLabel("Go to cycle");
  const refused = page.locator(".controls .missing");
  await page.goto(`${address}/replay?file=run.replay&cycle=5000`);
  await expect(field).toHaveValue("5,000");
  for (const wrong of ["1,2,3x", "12.5", "-5", String(last + 1), "1e9"]) {
    await field.fill(wrong);
    await page.keyboard.press("Enter");
    await expect(refused, wrong).toContainText(`“${wrong}”: expected a number from 0 to ${last.toLocaleString("en")}`);
    await expect(field).toHaveValue(wrong);
    expect(await shownCycle(page)).toBe(5000);
  }
  for (const [text, cycle] of [["4,100", 4100], [String(last), last], [" 12 ", 12]] as const) {
    await field.fill(text);
    await page.keyboard.press("Enter");
    await expect.poll(() => shownCycle(page)).toBe(cycle);
    await expect(field).toHaveValue(cycle.toLocaleString("en"));
    await expect(refused).toBeEmpty();
  }
  await page.goto(`${address}/replay?file=run.replay&cycle=abc`);
  await expect(refused).toContainText("“abc”");
});

test("the list of who waits says of whom it is", async ({ page, address }) => {
  await page.goto(`${address}/replay?file=dead.replay&node=0`);
  await expect.poll(() => gauge(page, "waiting")).toBeGreaterThan(0);
  await expect(page.locator(".panel h2").last()).toHaveText("Who waits, of those looked at");
  const rows = page.getByRole("table", { name: "Worms that are looked at and wait, the longest first" }).locator("tbody tr");
  await expect.poll(async () => (await rows.count()) < (await gauge(page, "waiting"))).toBe(true);
  await page.goto(`${address}/replay?file=dead.replay&message=0`);
  await expect(page.getByText(/None of the worms that are looked at waits|Worms that are looked at/).first()).toBeAttached();
  await expect(page.getByText("No worm waits in this cycle.")).toHaveCount(0);
});

test("a deadlock opens in its cycle", async ({ page, address }) => {
  const { deadlock } = json<{ deadlock: { at: number } }>("simulate", ...DEADLOCK);
  await page.goto(`${address}/replay?file=dead.replay`);
  await expect.poll(() => shownCycle(page)).toBe(deadlock.at);
  await expect.poll(() => gauge(page, "waiting")).toBeGreaterThan(0);
  // There is nowhere to go, until one has left.
  const there = page.getByRole("button", { name: "Go to the deadlock" });
  await expect(there).toHaveCount(0);
  await page.keyboard.press("Home");
  await page.getByRole("button", { name: "multicasts", exact: true }).click();
  await there.click();
  await expect.poll(() => shownCycle(page)).toBe(deadlock.at);
});

test("an experiment that is not there is told", async ({ page, address }) => {
  await page.goto(`${address}/sweeps?experiment=nosuch.toml`);
  await expect(page.getByRole("alert")).toContainText("there is no experiment “nosuch.toml”");
  await page.goto(`${address}/sweeps`);
  await expect(page.getByRole("button", { name: "Start" })).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
});

test("virtual channels decide the verdict", async ({ page, address }) => {
  await page.goto(`${address}/deadlock?topology=torus:4x4&routing=dateline`);
  await expect(page.locator("[data-verdict=free]")).toBeVisible();
  await page.getByLabel("Virtual channels").fill("1");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/virtual_channels=1/);
  await expect(page.locator("[data-verdict=possible]")).toBeVisible();
});

test("a quantity that the experiment does not measure is refused", async ({ page, address }) => {
  for (const y of ["plan.steps", "buffer_occupancy"]) {
    await page.goto(`${address}/curves?experiment=small.toml&store=results/store.db&y=${y}`);
    await expect(page.locator(".chart .problem")).toContainText(`\`${y}\` is not measured in this experiment: expected one of `);
    await expect(page.locator(".lower")).toBeEmpty();
  }
});

test("values of an address that there are not are told in every view, which opens", async ({ page, address }) => {
  const curves = "/curves?experiment=small.toml&store=results/store.db";
  const measures = "use, held, blocked, waited, flits or worms";
  const cases: [address: string, opened: string, said: string[]][] = [
    ["/network?topology=mesh:4x4&router=99", ".facts", ["There is no router “99”: expected a number from 0 to 15"]],
    ["/network?topology=mesh:4x4&router=x", ".facts", ["There is no router “x”: expected a number from 0 to 15"]],
    ["/network?topology=mesh:4x4&link=48", ".facts", ["There is no channel “48”: expected a number from 0 to 47"]],
    ["/network?replay=run.replay&measure=heat&link=99999", ".numbers", [`\`measure\` cannot be “heat”: expected ${measures}`, "There is no channel “99999”: expected a number from 0 to "]],
    [`${curves}&point=zzz&hide=dual-path;zzz`, ".values", ["There is no curve “zzz”: expected pure-negative-first, dual-path", "There is no point “zzz”: expected one such as 0.01;pure-negative-first"]],
    [`${curves}&tab=foo&log=maybe`, ".values", ["`tab` cannot be “foo”: expected values, parts or all", "`log` cannot be “maybe”: expected 0 or 1"]],
    ["/deadlock?topology=mesh:4x4&routing=e-cube&show=foo", "[data-verdict=free]", ["`show` cannot be “foo”: expected dependencies, numbering or load"]],
    ["/replay?file=run.replay&cycle=5000&speed=abc&colour=foo&by=bar", ".gauge", ["`speed` cannot be “abc”: expected 1, 5, 20, ", "`colour` cannot be “foo”: expected message, kind or state", `\`by\` cannot be “bar”: expected ${measures}`]],
    ["/plan?topology=mesh:4x4&destinations=3,3&algorithms=dual-path&routing=foo", ".plan .gauge", ["There is no routing “foo”: expected "]],
    ["/plan?topology=mesh:4x4&source=9,9&failed=0,0-1,0;0,0-3,3&ports=two&seed=x&algorithms=dual-path", ".plan", [
      "There is no node “9,9”: expected one such as 0,0", "There is no link “0,0-3,3”: expected two routers that are joined", "`ports` cannot be “two”: expected one or all",
      "`seed` cannot be “x”: expected a whole number",
    ]],
    ["/plan?topology=mesh:4x4&destinations=3,3&algorithms=dual-path,column-path,separate,schl,u-mesh,xy-tree,yx-tree,vctm,rpm,xy-mask", ".plan .gauge", ["The address has 10 algorithms: 9 stand side by side at most, and these are the first ones"]],
    ["/deadlock?topology=mesh:4x4&routing=e-cube&sl=1", "[data-verdict=free]", ["“sl”, which makes no difference here"]],
  ];
  for (const [asked, opened, said] of cases) {
    await page.goto(`${address}${asked}`);
    await expect(page.locator(opened).first(), asked).toBeVisible();
    await expect(page.locator(".problem"), asked).toHaveCount(1);
    for (const text of said) await expect(page.locator(".problem"), asked).toContainText(text);
  }
});

test("what was said of a value goes with it", async ({ page, address }) => {
  const problem = page.locator(".problem");
  await page.goto(`${address}/network?replay=run.replay&measure=heat&link=99999`);
  await expect(problem).toContainText("`measure` cannot be “heat”");
  await page.getByLabel(/^Measurement(?!s)/).selectOption("held");
  await expect(problem).toHaveText(/^There is no channel “99999”/);
  await page.locator(".numbers tbody button").first().click();
  await expect(problem).toHaveCount(0);
  await page.goBack();
  await expect(problem).toHaveText(/^There is no channel “99999”/);
  await page.getByLabel("Topology").fill("mesh:5x5");
  await page.keyboard.press("Enter");
  await expect(page.locator(".facts").first()).toContainText("mesh:5x5");
  await expect(problem).toHaveCount(0);
  // A view that is left says nothing any more, whatever comes late.
  let late = (): void => undefined;
  const held = new Promise<void>((done) => { late = done; });
  await page.route("**/api/replay/check?**", async (route) => {
    await held;
    await route.fulfill({ json: { damaged: "it is damaged" } });
  });
  await page.goto(`${address}/network?replay=run.replay&link=99999`);
  await expect(problem).toHaveText(/^There is no channel “99999”/);
  await page.getByRole("link", { name: "Sweeps" }).click();
  await expect(page.getByRole("button", { name: "Start" })).toBeVisible();
  await Promise.all([page.waitForResponse(/api\/replay\/check/), late()]);
  await expect(problem).toHaveCount(0);
  await page.goto(`${address}/curves?experiment=small.toml&store=results/store.db&hide=zzz`);
  await expect(problem).toContainText("no curve “zzz”");
  await page.getByLabel("dual-path").uncheck();
  await expect(page).toHaveURL(/hide=dual-path$/);
  await expect(problem).toHaveCount(0);
  await page.goBack();
  await expect(problem).toContainText("no curve “zzz”");
  await page.getByLabel("Experiment").selectOption("");
  await expect(page.getByRole("heading", { name: "Which curves?" })).toBeVisible();
  await expect(problem).toHaveCount(0);
});

test("another experiment has its own names of curves", async ({ page, address }) => {
  const small = readFileSync(`${FOLDER}/small.toml`, "utf8");
  writeFileSync(`${FOLDER}/turned.toml`, small.replace('["pure-negative-first", "dual-path"]', '["dual-path", "pure-negative-first"]'));
  await page.goto(`${address}/curves?experiment=small.toml&store=results/store.db`);
  await expect(page.locator(".series .marked")).toHaveText(["pure-negative-first", "dual-path"]);
  await page.getByLabel("Experiment").selectOption("turned.toml");
  await expect(page.locator(".values th")).toHaveText([/./, "dual-path", "pure-negative-first"]);
  await expect(page.locator(".series .marked")).toHaveText(["dual-path", "pure-negative-first"]);
});

test("curves that come late do not stand under another address", async ({ page, address }) => {
  const small = readFileSync(`${FOLDER}/small.toml`, "utf8");
  writeFileSync(`${FOLDER}/two.toml`, `${small}y = ["latency.last", "latency.mean"]\n`);
  let late = (): void => undefined;
  const held = new Promise<void>((done) => { late = done; });
  await page.route("**/api/curves?**y=latency.mean**", async (route) => {
    await held;
    await route.fallback();
  });
  await page.goto(`${address}/curves?experiment=two.toml&store=results/store.db`);
  const shows = page.getByLabel("Shows");
  for (const leave of [() => page.goBack(), () => page.getByLabel("Experiment").selectOption("")]) {
    await shows.selectOption("latency.mean");
    await expect(page).toHaveURL(/y=latency.mean/);
    const givenUp = page.waitForEvent("requestfailed", (request) => request.url().includes("y=latency.mean"));
    await leave();
    await givenUp;
    await expect(page).not.toHaveURL(/y=latency.mean/);
  }
  late();
  await expect(page.getByRole("heading", { name: "Which curves?" })).toBeVisible();
});

test("what was chosen for other curves goes when these do not have it, and only addresses that are opened are complained of", async ({ page, address }) => {
  const small = readFileSync(`${FOLDER}/small.toml`, "utf8");
  writeFileSync(`${FOLDER}/two.toml`, `${small}y = ["latency.last", "latency.mean"]\n`);
  writeFileSync(`${FOLDER}/few.toml`, small.replace('["pure-negative-first", "dual-path"]', '["dual-path"]').replace(/= \[0\.01.*\]/, "= [0.01, 0.05]"));
  command("sweep", "few.toml", "--store", "few.db", "--out", "few");
  const problem = page.locator(".problem");
  const names = page.locator(".series .marked");
  const all = `${address}/curves?experiment=two.toml&store=results/store.db`;
  // Another store, without one of the curves.
  await page.goto(`${all}&hide=pure-negative-first;dual-path`);
  await expect(names).toHaveCount(2);
  await page.getByLabel("Store").selectOption("few.db");
  await expect(names).toHaveText(["dual-path"]);
  await expect(page).toHaveURL(/store=few.db&hide=dual-path$/);
  await expect(problem).toHaveCount(0);
  // Nothing was put beside the two addresses in the history.
  await page.goBack();
  await expect(names).toHaveCount(2);
  await expect(page).toHaveURL(/hide=pure-negative-first;dual-path$/);
  await page.goForward();
  await expect(page).toHaveURL(/store=few.db&hide=dual-path$/);
  await expect(names).toHaveText(["dual-path"]);
  await expect(problem).toHaveCount(0);
  // Another quantity, without the point.
  await page.route("**/api/curves?**y=latency.mean**", async (route) => {
    const answer = await route.fetch();
    const curves = (await answer.json()) as Curves;
    for (const series of curves.series) series.points.splice(0, 1);
    await route.fulfill({ json: curves });
  });
  await page.goto(`${all}&point=0.01;dual-path`);
  await expect(page.locator(".follow")).toBeVisible();
  await page.getByLabel("Shows").selectOption("latency.mean");
  await expect(page).toHaveURL(/store=results\/store.db&y=latency.mean$/);
  await expect(page.locator(".follow")).toHaveCount(0);
  await expect(problem).toHaveCount(0);
  // What it has stays.
  await page.goto(`${all}&point=0.05;dual-path&hide=pure-negative-first`);
  await expect(page.locator(".follow")).toBeVisible();
  await page.getByLabel("Shows").selectOption("latency.mean");
  await expect(page.locator(".values caption")).toContainText("Mean");
  await expect(page).toHaveURL(/point=0.05;dual-path&hide=pure-negative-first&y=latency.mean$/);
  await expect(page.locator(".follow")).toBeVisible();
  // What was opened is complained of, also by back; another experiment is silent.
  await page.goto(`${address}/curves?experiment=few.toml&store=few.db&hide=zzz&point=1;zzz`);
  await expect(problem).toHaveText(/no curve “zzz”.*no point “1;zzz”/);
  await page.getByLabel("Experiment").selectOption("two.toml");
  await expect(page).toHaveURL(/experiment=two.toml&store=few.db$/);
  await expect(problem).toHaveCount(0);
  await page.goBack();
  await expect(problem).toHaveText(/no curve “zzz”.*no point “1;zzz”/);
  // As long as the curves are the same, it stays.
  await page.getByLabel("logarithmic").check();
  await expect(page).toHaveURL(/log=1/);
  await expect(problem).toHaveText(/no curve “zzz”.*no point “1;zzz”/);
});

test("the picture of another analysis goes when this one does not have it", async ({ page, address }) => {
  const problem = page.locator(".problem");
  const picture = (name: string): Locator => page.getByRole("button", { name, exact: true });
  const opened = `${address}/deadlock?topology=torus:4x4&routing=up-down&show=numbering`;
  await page.goto(opened);
  await expect(picture("numbering")).toHaveAttribute("aria-pressed", "true");
  await page.getByLabel("Routing, algorithm or tables").selectOption("routing e-cube");
  await expect(page.locator("[data-verdict=possible]")).toBeVisible();
  await expect(page).toHaveURL(`${address}/deadlock?topology=torus:4x4&routing=e-cube`);
  await expect(problem).toHaveCount(0);
  await page.goBack();
  await expect(page).toHaveURL(opened);
  await expect(page.locator("[data-verdict=free]")).toBeVisible();
  await expect(picture("numbering")).toHaveAttribute("aria-pressed", "true");
  await expect(problem).toHaveCount(0);
  // What both have stays.
  await page.goto(`${address}/deadlock?topology=torus:4x4&routing=up-down&show=dependencies`);
  await expect(page.locator("[data-verdict=free]")).toBeVisible();
  await page.getByLabel("Routing, algorithm or tables").selectOption("routing e-cube");
  await expect(page.locator("[data-verdict=possible]")).toBeVisible();
  await expect(page).toHaveURL(/routing=e-cube/);
  await expect(page).toHaveURL(/show=dependencies/);
  await expect(picture("dependencies")).toHaveAttribute("aria-pressed", "true");
  // An address that asks for it is complained of, when it is opened and by back.
  await page.goto(`${address}/deadlock?topology=torus:4x4&routing=e-cube&show=numbering`);
  await expect(problem).toHaveText(/^`show` cannot be “numbering”: expected dependencies/);
  await page.getByLabel("Routing, algorithm or tables").selectOption("routing up-down");
  await expect(page.locator("[data-verdict=free]")).toBeVisible();
  await expect(problem).toHaveCount(0);
  await page.goBack();
  await expect(problem).toHaveText(/^`show` cannot be “numbering”: expected dependencies/);
});
