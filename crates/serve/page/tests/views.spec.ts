// The deadlock check, the planner, curves and sweeps.

import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { command, csv, FOLDER, json, version } from "./command.ts";
import { end, expect, serve, test } from "./support.ts";

test("the static check says what the command says", async ({ page, address }) => {
  const text = command("routing", "--topology", "torus:4x4", "--routing", "e-cube");
  const lines = text.split("\n").filter((line) => /^ {4}channel .*: /.test(line)).map((line) => line.trim());
  await page.goto(`${address}/deadlock?topology=torus:4x4&routing=e-cube`);
  await expect(page.locator("[data-verdict=possible]")).toBeVisible();
  const shown = await page.locator(".cycle-list li").evaluateAll((items) => items.map((item) => item.textContent));
  expect(shown).toEqual(lines);
});

test("forwarding tables of a fabric", async ({ page, address }) => {
  const text = command("routing", "--topology", "fabric.net", "--tables", "fabric.lfts");
  const lines = text.split("\n").filter((line) => /^ {4}rack\d\[/.test(line)).map((line) => line.trim());
  expect(lines.length).toBe(6);
  await page.goto(`${address}/deadlock?topology=fabric.net&tables=fabric.lfts`);
  await expect(page.locator(".cycle-list li")).toHaveText(lines);
});

test("tables that are cut are told of, beside the verdict", async ({ page, address }) => {
  const cut = (file: string, name: string, lines: number): void =>
    writeFileSync(`${FOLDER}/${name}`, readFileSync(`../../../examples/${file}`, "utf8").split("\n").slice(0, lines).join("\n") + "\n");
  cut("fabric.lfts", "cut.lfts", 40);
  cut("fabric.mcfdbs", "cut.mcfdbs", 5);
  copyFileSync("../../../examples/fabric-updn.lfts", `${FOLDER}/whole.lfts`);
  await page.goto(`${address}/deadlock?topology=fabric.net&tables=cut.lfts`);
  await expect(page.locator(".problem")).toHaveText("`cut.lfts` has no entries of rack3, rack4, rack5 and 1 more: is it truncated?");
  await expect(page.locator("dl")).toContainText("undelivered120 of 132missing entries48");
  await expect(page.locator("canvas")).toBeVisible();
  await page.goto(`${address}/deadlock?topology=fabric.net&tables=whole.lfts&multicast_tables=cut.mcfdbs`);
  await expect(page.locator(".problem")).toContainText("`cut.mcfdbs` lacks entries of the group 0xc001 at rack6");
  await page.goto(`${address}/deadlock?topology=fabric.net&tables=whole.lfts`);
  await expect(page.locator(".verdict")).toBeVisible();
  await expect(page.locator(".problem")).toHaveCount(0);
});

test("consumption channels are part of a cycle", async ({ page, address }) => {
  const text = command("routing", "--topology", "mesh:8x8", "--algorithm", "dual-path", "--consumption-ports", "2");
  const lines = text.split("\n").filter((line) => /^ {4}(channel|consumption) /.test(line)).map((line) => line.trim());
  await page.goto(`${address}/deadlock?topology=mesh:8x8&algorithm=dual-path&consumption_ports=2`);
  await expect(page.locator(".cycle-list li")).toHaveText(lines);
  await page.keyboard.press("ArrowRight");
  await expect(page.locator(".cycle-list li").nth(1)).toHaveClass(/now/);
});

test("prohibited turns, the numbering and dependencies of a routing without deadlock", async ({ page, address }) => {
  const said = json<{ prohibited: number[][]; turns: number }>("routing", "--topology", "mesh:3x3", "--routing", "turn-prohibition");
  await page.goto(`${address}/deadlock?topology=mesh:3x3&routing=turn-prohibition`);
  await expect(page.locator("[data-verdict=free]")).toBeVisible();
  await expect(page.locator(".turns li")).toHaveCount(said.prohibited.length);
  const text = command("routing", "--topology", "mesh:3x3", "--routing", "turn-prohibition");
  for (const turn of await page.locator(".turns li").allTextContents()) expect(text).toContain(turn);
  await page.getByRole("button", { name: "numbering" }).click();
  await expect(page).toHaveURL(/show=numbering/);
  await page.getByRole("button", { name: "dependencies" }).click();
  await expect(page.locator(".facts dt", { hasText: "dependencies" })).toBeVisible();

  // The proof: numbers rise along every dependency.
  const { numbering, edges } = await page.evaluate(async () => {
    const ask = async (path: string): Promise<Record<string, unknown>> => (await fetch(`${path}?topology=mesh:3x3&routing=turn-prohibition`)).json() as Promise<Record<string, unknown>>;
    return { numbering: (await ask("/api/routing")).numbering as number[], edges: (await ask("/api/dependencies")).edges as [number, number][] };
  });
  expect(edges.length).toBeGreaterThan(10);
  for (const [held, requested] of edges) expect(numbering[held]).toBeLessThan(numbering[requested]);
});

interface Plan {
  startups: number;
  steps: number;
  channels: number;
  longest: number;
  worms: { id: number; step: number; channels: unknown[] }[];
}

test("plans side by side have the command's numbers", async ({ page, address }) => {
  const algorithms = ["dual-path", "pure-negative-first", "u-mesh"];
  await page.goto(`${address}/plan?topology=mesh:8x8&source=4,3&destinations=1,4;1,5;2,7;6,5;7,2;5,1;2,1&algorithms=${algorithms.join(",")}`);
  for (const name of algorithms) {
    const said = json<Plan>("plan", "--topology", "mesh:8x8", "--algorithm", name, "--source", "4,3", "--destinations", "1,4;1,5;2,7;6,5;7,2;5,1;2,1");
    const card = page.getByRole("article", { name, exact: true });
    for (const figure of ["startups", "steps", "channels", "longest"] as const) await expect(card.locator(`[data-figure=${figure}]`)).toHaveText(String(said[figure]));
    await expect(card.locator("tbody tr")).toHaveCount(said.worms.length);
    const verdict = json<{ deadlock_free: boolean }>("routing", "--topology", "mesh:8x8", "--algorithm", name).deadlock_free;
    await expect(card.locator(`[data-verdict=${verdict ? "free" : "possible"}]`)).toBeVisible();
  }
});

test("a plan by a routing that is chosen", async ({ page, address }) => {
  await page.goto(`${address}/plan?topology=torus:4x4&source=0,0&destinations=3,1;2,2&algorithms=separate`);
  for (const routing of ["up-down-deterministic", "e-cube"]) {
    await page.getByLabel("Routing").selectOption(routing);
    await expect(page).toHaveURL(new RegExp(`routing=${routing}`));
    const options = ["--topology", "torus:4x4", "--algorithm", "separate", "--routing", routing];
    const said = json<Plan>("plan", ...options, "--source", "0,0", "--destinations", "3,1;2,2");
    await expect(page.locator("[data-figure=channels]")).toHaveText(String(said.channels));
    const verdict = json<{ deadlock_free: boolean }>("routing", ...options).deadlock_free;
    await expect(page.locator(`[data-verdict=${verdict ? "free" : "possible"}]`)).toBeVisible();
    await expect(page.getByRole("link", { name: "why?" })).toHaveAttribute("href", new RegExp(`routing=${routing}`));
  }
});

test("a click makes a destination, another one the source, another one fails a link", async ({ page, address }) => {
  await page.goto(`${address}/plan?topology=mesh:4x4&source=0,0&algorithms=spam`);
  const canvas = page.locator(".plan canvas");
  await expect(canvas).toBeVisible();
  // The mesh lies in the middle, its rows and columns one distance apart.
  const place = async (column: number, row: number, below = 0): Promise<[number, number]> => {
    const box = (await canvas.boundingBox()) as { x: number; y: number; width: number; height: number };
    const pitch = Math.min(box.width / 4.2, box.height / 4.2, 128);
    return [box.x + box.width / 2 + (column - 1.5) * pitch, box.y + box.height / 2 - (row - 1.5) * pitch + below * pitch];
  };
  await page.mouse.click(...(await place(3, 3)));
  await expect(page).toHaveURL(/destinations=3,3/);
  await expect(page.locator("[data-figure=channels]")).toBeVisible();
  await page.mouse.click(...(await place(1, 2)));
  await expect(page).toHaveURL(/destinations=3,3;1,2/);
  await page.mouse.click(...(await place(3, 3)));
  await expect(page).toHaveURL(/destinations=1,2(&|$)/);
  await page.getByRole("button", { name: "source" }).click();
  await page.mouse.click(...(await place(0, 3)));
  await expect(page).toHaveURL(/source=0,3/);
  await page.getByRole("button", { name: "a failed link" }).click();
  await page.mouse.click(...(await place(0.5, 3, 0.085)));
  await expect(page).toHaveURL(/failed=0,3-1,3/);
  const said = json<Plan>("plan", "--topology", "mesh:4x4", "--algorithm", "spam", "--source", "0,3", "--destinations", "1,2", "--failed-link", "0,3-1,3");
  await expect(page.locator("[data-figure=channels]")).toHaveText(String(said.channels));
  // The verdict's reasons are of the network without that link.
  await page.getByRole("link", { name: "why?" }).click();
  await expect(page).toHaveURL(/deadlock\?.*failed=0,3-1,3/);
  await expect(page.locator("[data-verdict=free]")).toBeVisible();
  await expect(page.getByLabel("Failed links")).toHaveValue("0,3-1,3");
  const asked = page.waitForRequest(/\/api\/routing\?.*failed=0%2C3-1%2C3/);
  await page.reload();
  await asked;
  await page.goBack();
  await expect(page).toHaveURL(/plan\?.*failed=/);
  await page.goBack();
  await expect(page).not.toHaveURL(/failed=/);
  await expect(page.getByLabel("Failed links")).toHaveValue("");
});

test("curves have the values of the command's table", async ({ page, address }) => {
  const rows = csv(readFileSync(`${FOLDER}/results/small.csv`, "utf8"));
  await page.goto(`${address}/curves?experiment=small.toml&store=results/store.db`);
  await expect(page.locator(".values tbody tr")).toHaveCount(6);
  const shown = await page.locator(".values").evaluate((table) => ({
    head: [...table.querySelectorAll("th")].map((cell) => cell.textContent ?? ""),
    body: [...table.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent ?? "")),
  }));
  let [measured, saturated, seen] = [0, 0, 0];
  for (const row of rows) {
    const column = shown.head.indexOf(row.algorithm);
    const line = shown.body.find((cells) => Number(cells[0]) === Number(row["traffic.arrivals.rate"])) as string[];
    if (row.saturated === "true") {
      expect(line[column]).toBe("saturated");
      saturated++;
      continue;
    }
    const [value, unsettled] = line[column].replace(/,(?=\d{3})/g, "").split(", ");
    expect(unsettled, `${row.algorithm} ${row["traffic.arrivals.rate"]}`).toBe(row.outcome === "unsettled" ? "unsettled" : undefined);
    if (unsettled) seen++;
    const [mean, half] = value.split(" ± ");
    // The plot is in microseconds; the interval says how many decimals are shown.
    const decimals = (half.split(".")[1] ?? "").length;
    expect(mean, `${row.algorithm} ${row["traffic.arrivals.rate"]}`).toBe((Number(row.latency_last_ns) / 1000).toFixed(decimals));
    measured++;
  }
  expect(measured).toBeGreaterThan(3);
  expect(saturated).toBeGreaterThan(0);
  expect(seen, "points that are unsettled").toBeGreaterThan(0);
});

test("an experiment without numbers to plot against has its table", async ({ page, address }) => {
  writeFileSync(`${FOLDER}/names.toml`, readFileSync(`${FOLDER}/small.toml`, "utf8").replace(/^"traffic\.arrivals\.rate" = .*$/m, "").replace(/\[plot\][^]*$/, ""));
  command("sweep", "names.toml", "--store", "names.db", "--out", "names");
  const rows = csv(readFileSync(`${FOLDER}/names/names.csv`, "utf8"));
  await page.goto(`${address}/curves?experiment=names.toml&store=names.db`);
  await expect(page.getByText("no numbers to plot against")).toBeVisible();
  await expect(page.locator(".lower tbody tr")).toHaveCount(rows.length);
  await expect(page.locator(".lower tbody tr").first().locator("td").first()).toHaveText(rows[0].algorithm);
});

test("series can be hidden, the axis logarithmic, a point chosen, all of it in the address", async ({ page, address }) => {
  await page.goto(`${address}/curves?experiment=small.toml&store=results/store.db`);
  await page.locator(".values tbody button").first().click();
  await expect(page).toHaveURL(/point=/);
  await expect(page.locator(".follow")).toContainText("replications");
  await expect(page.locator(".small-chart canvas")).toBeVisible();
  await page.getByLabel("dual-path").uncheck();
  await expect(page).toHaveURL(/hide=dual-path/);
  await page.getByLabel("logarithmic").check();
  await expect(page).toHaveURL(/log=1/);
  await page.goBack();
  await page.goBack();
  await expect(page.getByLabel("dual-path")).toBeChecked();
  await expect(page).toHaveURL(/point=/);
  await page.getByRole("button", { name: "parts of latency" }).click();
  await expect(page.locator(".lower .stack").first()).toBeVisible();
});

test("the title of the horizontal axis fits, and a plot without curves says so", async ({ other, address }) => {
  writeFileSync(`${FOLDER}/load.toml`, readFileSync(`${FOLDER}/small.toml`, "utf8").replace("rate = 0.03", "load = 0.03").replaceAll("traffic.arrivals.rate", "traffic.arrivals.load").replace(/= \[0\.01.*\]/, "= [0.01, 0.02]"));
  command("sweep", "load.toml", "--store", "load.db", "--out", "load");
  const page = await other({ viewport: { width: 360, height: 740 } });
  for (const width of [360, 1200]) {
    await page.setViewportSize({ width, height: 740 });
    await page.goto(`${address}/curves?experiment=load.toml&store=load.db`);
    const title = page.locator(".chart").getByText("Effective applied load (flits per node per cycle)");
    await expect(title).toBeVisible();
    const box = (await title.boundingBox()) as { x: number; width: number };
    expect(box.x).toBeGreaterThan(0);
    expect(box.x + box.width).toBeLessThanOrEqual(width);
    expect(await title.evaluate((text) => text.scrollWidth <= text.clientWidth)).toBe(true);
  }
  // That of the vertical axis, too, however long it is.
  await page.goto(`${address}/curves?experiment=load.toml&store=load.db&y=latency.p95`);
  const vertical = page.locator(".chart").getByText("95th percentile of latency to the last destination (µs)");
  await expect(page.locator(".chart").getByText("Effective applied load")).toBeVisible();
  await expect(vertical).toHaveCount(0);
  await page.setViewportSize({ width: 360, height: 740 });
  await expect(vertical).toBeVisible();
  await page.setViewportSize({ width: 1200, height: 740 });
  await expect(vertical).toHaveCount(0);
  const empty = page.getByText("All curves are switched off.");
  const switches = page.locator(".series input");
  await expect(switches).toHaveCount(2);
  await switches.nth(0).uncheck();
  await expect(empty).toHaveCount(0);
  await switches.nth(1).uncheck();
  await expect(empty).toBeVisible();
  await page.reload();
  await expect(empty).toBeVisible();
  await switches.nth(0).check();
  await expect(empty).toHaveCount(0);
});

test("downloads: SVG, PNG and the command's CSV", async ({ page, address }) => {
  await page.goto(`${address}/curves?experiment=small.toml&store=results/store.db`);
  const content = async (name: string): Promise<Buffer> => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name, exact: true }).click()]);
    return readFileSync(await download.path());
  };
  expect((await content("SVG")).toString()).toMatch(/^<svg .*<circle/s);
  expect((await content("PNG")).subarray(1, 4).toString()).toBe("PNG");
  expect((await content("CSV")).toString().split("\n")[0]).toBe(readFileSync(`${FOLDER}/results/small.csv`, "utf8").split("\n")[0]);
});

test("from a point of a curve to a replay of it", async ({ page, address }) => {
  await page.goto(`${address}/curves?experiment=small.toml&store=results/store.db`);
  await page.locator(".values tbody button").first().click();
  await page.getByRole("button", { name: "Replay this point" }).click();
  // What else is clicked meanwhile does not matter.
  await page.getByRole("button", { name: "parts of latency" }).click();
  await page.getByLabel("logarithmic").check();
  await expect(page.getByText(/Replication \d+, seed \d+/)).toBeVisible();
  await page.getByRole("link", { name: "Open the replay" }).click({ timeout: 30_000 });
  await expect(page).toHaveURL(/\/replay\?file=/);
  await expect(page.locator(".gauges")).toBeVisible();
});

test("a sweep: progress, stop, resume, done, and where it was computed", async ({ page, address }) => {
  test.setTimeout(150_000);
  await page.goto(`${address}/sweeps?experiment=slow.toml`);
  await page.getByLabel("Store").fill("again.db");
  await page.getByLabel("Threads").fill("1");
  await page.getByRole("button", { name: "Start" }).click();
  const card = page.locator(".sweep", { hasText: "again.db" });
  await expect(card.locator(".state")).toHaveText("running");
  await expect.poll(() => card.getByRole("progressbar").getAttribute("aria-valuenow").then(Number), { timeout: 30_000 }).toBeGreaterThan(0);
  await card.getByRole("button", { name: "Stop" }).click();
  await expect(card.locator(".state")).toHaveText(/stopped|not complete/, { timeout: 30_000 });
  await card.getByRole("button", { name: "Resume" }).click();
  await expect(card.locator(".state")).toHaveText("complete", { timeout: 100_000 });
  await expect(card).toContainText("12 of 12 points");
  await card.getByText("Where it was computed").click();
  await expect(card.locator("tbody tr").first()).toContainText(version());
  await card.getByRole("link", { name: "Curves" }).click();
  await expect(page).toHaveURL(/\/curves\?experiment=slow\.toml&store=again\.db/);
  await expect(page.locator(".values tbody tr")).toHaveCount(6);
});

test("a sweep of another process is seen to come where there was none, and one can be started there", async ({ browser }) => {
  const folder = resolve("test-results/empty");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  copyFileSync(`${FOLDER}/small.toml`, `${folder}/small.toml`);
  const { process, address, cookie } = await serve(folder);
  const page = await browser.newPage();
  try {
    await page.context().addCookies([cookie]);
    await page.goto(`${address}/sweeps`);
    await expect(page.getByText("Nothing has been swept here yet.")).toBeVisible();
    command("sweep", `${folder}/small.toml`, "--store", `${folder}/theirs.db`, "--out", `${folder}/out`);
    await expect(page.locator(".sweep", { hasText: "theirs.db" }).locator(".state")).toHaveText("complete", { timeout: 20_000 });
    await expect(page.getByText("Nothing has been swept here yet.")).toHaveCount(0);
    // The usual store, whose folder is not there yet.
    rmSync(`${folder}/theirs.db`);
    await page.reload();
    await page.getByRole("button", { name: "Start" }).click();
    await expect(page.locator(".sweep", { hasText: "results/store.db" }).locator(".state")).toHaveText("complete", { timeout: 30_000 });
  } finally {
    await page.close();
    await end(process);
  }
});

test("a sweep that cannot be is refused", async ({ page, address }) => {
  await page.goto(`${address}/sweeps?experiment=small.toml`);
  await page.getByLabel("Store").fill("../outside.db");
  await page.getByRole("button", { name: "Start" }).click();
  await expect(page.locator(".problem")).toContainText("outside.db");
});

test("virtual lanes and the branching of groups decide the verdict, as the command says", async ({ page, address }) => {
  // The tables alone are safe; the group's tree closes a cycle, unless its packets have a lane of their own.
  copyFileSync("../../../examples/fabric-updn.lfts", `${FOLDER}/updn.lfts`);
  const tree = readFileSync("../../../examples/fabric.mcfdbs", "utf8");
  const groups = Array.from({ length: 14 }, (_, i) => `0xC0${(i + 1).toString(16).padStart(2, "0")}`);
  writeFileSync(`${FOLDER}/fabric.mcfdbs`, tree.replace(/^0xC001( :.*)$/gm, (_, outputs: string) => groups.map((group) => group + outputs).join("\n")));
  const hosts = Array.from({ length: 12 }, (_, host) => 0x10_0000 + 2 * host + 1);
  writeFileSync(`${FOLDER}/levels`, hosts.flatMap((host) => groups.map((group) => `0x${host.toString(16)} ${Number(group)} 1\n`)).join(""));
  const ports = Array.from({ length: 81 }, (_, i) => `${Math.floor(i / 9)} ${i % 9} : ${"0 ".repeat(16)}\n`).join("");
  writeFileSync(`${FOLDER}/maps`, Array.from({ length: 6 }, (_, i) => `Switch 0x${(0x20_0000 + i).toString(16)}, base LID 1, "rack"\n${ports}`).join(""));

  const verdicts: boolean[] = [];
  const agree = async (...more: string[]): Promise<void> => {
    const options = ["routing", "--topology", "fabric.net", "--tables", "updn.lfts", ...more];
    const said = json<{ deadlock_free: boolean; lanes?: { count: number } }>(...options);
    const text = command(...options);
    verdicts.push(said.deadlock_free);
    await expect(page.locator("[data-verdict]")).toHaveAttribute("data-verdict", said.deadlock_free ? "free" : "possible");
    await expect(page.locator(".cycle-list li")).toHaveText(text.split("\n").filter((line) => /^ {4}rack\d\[/.test(line)).map((line) => line.trim()));
    await expect(page.locator("[data-lanes]")).toHaveCount(said.lanes ? 1 : 0);
    if (said.lanes) await expect(page.locator("[data-lanes]")).toHaveAttribute("data-lanes", String(said.lanes.count));
    for (const [, note] of text.matchAll(/^ {4}(on lane .*)$/gm)) await expect(page.locator("[data-lanes]")).toContainText(note);
    const blame = /^ {2}to blame +(.*)$/m.exec(text);
    await expect(page.locator(".facts dt", { hasText: "to blame" })).toHaveCount(blame ? 1 : 0);
    if (blame) await expect(page.locator(".facts dt:text-is('to blame') + dd")).toHaveText(blame[1]);
  };
  const fill = async (label: string, value: string): Promise<void> => {
    await page.getByLabel(label).fill(value);
    await page.keyboard.press("Enter");
  };
  await page.goto(`${address}/deadlock?topology=fabric.net&tables=updn.lfts`);
  await agree();
  await page.getByLabel("Multicast tables").selectOption("fabric.mcfdbs");
  await expect(page).toHaveURL(/multicast_tables=fabric\.mcfdbs/);
  await agree("--multicast-tables", "fabric.mcfdbs");
  await page.getByLabel("Groups branch").selectOption("ibdmchk");
  await expect(page).toHaveURL(/branching=ibdmchk/);
  await agree("--multicast-tables", "fabric.mcfdbs", "--branching", "ibdmchk");
  await page.getByLabel("Groups branch").selectOption("packets");
  await fill("Service levels", "levels");
  await expect(page).toHaveURL(/lanes=levels/);
  await agree("--multicast-tables", "fabric.mcfdbs", "--lanes", "levels");
  await fill("SL to VL tables", "maps");
  await expect(page).toHaveURL(/sl2vl=maps/);
  await agree("--multicast-tables", "fabric.mcfdbs", "--lanes", "levels", "--sl2vl", "maps");
  expect(verdicts).toEqual([true, false, false, true, false]);
  await fill("Service levels", "maps");
  await expect(page.locator(".problem")).toContainText("maps:2: ");

  // What goes with tables goes when they go.
  await page.getByLabel("Routing, algorithm or tables").selectOption("routing up-down");
  await expect(page).not.toHaveURL(/lanes|sl2vl|multicast_tables/);
  await expect(page.locator("[data-verdict=free]")).toBeVisible();
  await fill("Root", "rack3");
  await expect(page).toHaveURL(/root=rack3/);
  await expect(page.locator("[data-verdict=free]")).toBeVisible();
  await page.getByLabel("Routing, algorithm or tables").selectOption("routing turn-prohibition");
  await expect(page).not.toHaveURL(/root=/);
  await expect(page.locator("[data-verdict=free]")).toBeVisible();
});

test("virtual channels and consumption channels give the command's verdict", async ({ page, address }) => {
  for (const [topology, kind, name, count, ports] of [["torus:4x4", "routing", "dateline", 2, 4], ["torus:4x4", "routing", "dateline", 1, 4], ["mesh:4x4", "algorithm", "dual-path", 1, 3], ["mesh:4x4", "algorithm", "dual-path", 2, 3], ["mesh:4x4", "algorithm", "dual-path", 2, 6]] as const) {
    const said = json<{ deadlock_free: boolean }>("routing", "--topology", topology, `--${kind}`, name, "--virtual-channels", String(count), "--consumption-ports", String(ports));
    await page.goto(`${address}/deadlock?topology=${topology}&${kind}=${name}`);
    await expect(page.locator("[data-verdict]")).toBeVisible();
    await page.getByLabel("Virtual channels").fill(String(count));
    await page.keyboard.press("Enter");
    await expect(page).toHaveURL(/virtual_channels=/);
    await page.getByLabel("Consumption channels").fill(String(ports));
    await page.keyboard.press("Enter");
    await expect(page).toHaveURL(/consumption_ports=/);
    await expect(page.locator("[data-verdict]"), `${name}, ${count}, ${ports}`).toHaveAttribute("data-verdict", said.deadlock_free ? "free" : "possible");
  }
});
