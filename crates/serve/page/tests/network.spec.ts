import { command, csv, json } from "./command.ts";
import { RUN } from "./command.ts";
import { expect, test } from "./support.ts";

test("the network has what the command says it has", async ({ page, address }) => {
  await page.goto(`${address}/network?topology=mesh:5x3`);
  const said = json<{ routers: number; nodes: number; channels: number }>("topology", "mesh:5x3");
  const facts = page.locator(".panel .facts").last();
  await expect(facts).toContainText("mesh:5x3");
  for (const [name, value] of Object.entries({ routers: said.routers, nodes: said.nodes, channels: said.channels })) {
    await expect(facts.locator(`dt:text-is("${name}") + dd`)).toHaveText(String(value));
  }
});

test("every kind of network is drawn", async ({ page, address }) => {
  for (const topology of ["torus:4x4", "mesh:3x3x3", "hypercube:4", "bmin:4x2", "omega:2x3", "random:nodes=20,degree=3,seed=1", "ring.txt"]) {
    await page.goto(`${address}/network?topology=${topology}`);
    await expect(page.locator(".panel .facts").last(), topology).toContainText("channels");
    await expect(page.locator(".picture canvas"), topology).toBeVisible();
    await expect(page.locator(".problem")).toHaveCount(0);
  }
});

test("channels are said to keep to the right where they run both ways", async ({ page, address }) => {
  for (const [topology, both] of [["mesh:4x4", true], ["omega:2x3", false], ["bmin:4x2", true], ["butterfly:2x3", false]] as const) {
    await page.goto(`${address}/network?topology=${topology}`);
    await expect(page.locator(".panel .facts").last()).toContainText(topology);
    await expect(page.getByText("Channels keep to the right"), topology).toHaveCount(both ? 1 : 0);
  }
});

test("names that are numbers of other nodes are warned of", async ({ page, address }) => {
  await page.goto(`${address}/network?topology=names.json`);
  await expect(page.locator(".panel")).toContainText("node 0 of `names.json` is called `1`, and where nodes are asked for, 1 is the number of another one.");
  await page.goto(`${address}/plan?topology=names.json&algorithms=tree-one&source=0&destinations=2`);
  await expect(page.locator("body")).toContainText("1 is the number of another one");
});

test("a topology that there is not is refused in the command's words", async ({ page, address }) => {
  await page.goto(`${address}/network?topology=mesh:8x`);
  await expect(page.locator(".problem")).toContainText("mesh:8x");
});

test("channels are measured as the command measures them", async ({ page, address }) => {
  const all = json<{ cycles: number }>("simulate", ...RUN);
  // Those of nodes, too.
  const channels = csv(command("simulate", ...RUN, "--channels", "-"));
  for (const [measure, of] of [["use", "busy"], ["held", "held"], ["blocked", "blocked"]] as const) {
    await page.goto(`${address}/network?replay=run.replay&measure=${measure}`);
    const expected = channels
      .map((row, id) => ({ id, label: row.kind === "link" ? `${row.from_name} -> ${row.to_name}` : `${row.kind} ${row.from_name}[${row.port}]`, value: Number(row[of]) }))
      .sort((a, b) => b.value - a.value || a.id - b.id)
      .slice(0, 12)
      .map(({ label, value }) => [label, `${((100 * value) / all.cycles).toFixed(1)}%`]);
    const rows = page.locator(".panel table.numbers tbody tr");
    await expect(rows).toHaveCount(12);
    const shown = await rows.evaluateAll((items) => items.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent)));
    expect(shown, measure).toEqual(expected);
  }
});

test("find a channel by its name, read its numbers, and go to its messages", async ({ page, address }) => {
  await page.goto(`${address}/network?replay=run.replay`);
  await expect(page.locator("input[type=search]")).toBeVisible();
  await page.keyboard.press("/");
  await expect(page.locator("input[type=search]")).toBeFocused();
  await page.keyboard.type("3,3 to 4,3");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/link=\d+/);
  await expect(page.locator(".details")).toContainText("3,3 -> 4,3");
  await page.getByLabel("Find a router, node or channel").fill("nowhere");
  await page.keyboard.press("Enter");
  await expect(page.locator(".missing")).toContainText("nowhere");
  await page.getByRole("link", { name: "Which messages go through it?" }).click();
  await expect(page).toHaveURL(/\/replay\?file=run\.replay&link=\d+/);
  await expect(page.locator("[data-link]")).toHaveText("3,3 -> 4,3");
});

test("hovering a channel says what it is", async ({ page, address }) => {
  await page.goto(`${address}/network?topology=mesh:2x1`);
  const canvas = page.locator(".picture canvas");
  await expect(page.locator(".panel .facts")).toBeVisible();
  const box = (await canvas.boundingBox()) as { x: number; y: number; width: number; height: number };
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  // Channels keep to the right: from 0,0 to 1,0 below, back above.
  await page.mouse.move(x, y + 8);
  await expect(page.locator(".tip strong")).toHaveText("0,0 -> 1,0");
  await page.mouse.move(x, y - 8);
  await expect(page.locator(".tip strong")).toHaveText("1,0 -> 0,0");
  await page.mouse.click(x, y - 8);
  await expect(page.locator(".details")).toContainText("1,0 -> 0,0");
});

test("shares of virtual channels are said to be sums", async ({ page, address }) => {
  command("simulate", "small.toml", "--set", "topology=torus:8x8", "--set", "algorithm=separate", "--set", "routing=dateline", "--set", "switching.virtual_channels=2", "--replay", "lanes.replay");
  await page.goto(`${address}/network?replay=lanes.replay&measure=held`);
  await expect(page.getByText("hold its 2 virtual channels, added up, as a share of all cycles: at most 200%")).toBeVisible();
  await page.goto(`${address}/network?replay=run.replay&measure=held`);
  await expect(page.getByText("share of all cycles in which a worm holds the channel")).toBeVisible();
});
