import { readFileSync } from "node:fs";
import { inflateRawSync } from "node:zlib";
import { command, csv, DEADLOCK, FOLDER, json, replay, RUN } from "./command.ts";
import { ChannelSpace, Network } from "../src/network.ts";
import { decode, NEVER } from "../src/replay/chunk.ts";
import { expect, gauge, shownCycle, test } from "./support.ts";

interface Result {
  cycles: number;
  messages: { generated: number };
  deadlock: { at: number; dead: number; cycle: { worm: number; message: number; router: string; holds: string[]; waits_for: string[] }[] };
}

test("the deadlock's cycle is the command's, word by word", async ({ page, address }) => {
  await page.goto(`${address}/replay?file=dead.replay`);
  const { deadlock } = json<Result>("simulate", ...DEADLOCK);
  const text = command("simulate", ...DEADLOCK);
  const lines = text.split("\n").filter((line) => /^ {4}worm \d+ \(message/.test(line)).map((line) => line.trim());
  expect(lines.length).toBe(deadlock.cycle.length);
  await expect(page.locator(".dead .cycle-list li")).toHaveCount(lines.length);
  const shown = await page.locator(".dead .cycle-list li").evaluateAll((items) => items.map((item) => (item.textContent ?? "").replace(/\s+/g, " ").trim()));
  expect(shown).toEqual(lines);
  await expect(page.locator(".dead h2")).toHaveText(`Deadlock in cycle ${deadlock.at.toLocaleString("en")}`);
  await expect(page.locator(".dead")).toContainText(`${deadlock.dead} worms are dead`);
});

test("who waits, for what and since when is as `--waits` says", async ({ page, address }) => {
  const waits = (JSON.parse(readFileSync(`${FOLDER}/dead.json`, "utf8")) as { worm: number; since: number | null; waits_for: { label: string; kind: string }[] }[]);
  const network = waits.filter(({ waits_for }) => waits_for.some(({ kind }) => kind === "link" || kind === "consumption"));
  await page.goto(`${address}/replay?file=dead.replay`);
  await expect.poll(() => gauge(page, "waiting")).toBeGreaterThan(0);
  // Those that wait for a processor or an injection channel are not in the network yet.
  const shown = await page.getByRole("table", { name: "Worms that wait, the longest first" }).locator("tbody tr").evaluateAll((rows) => rows.map((row) => ({
    worm: Number((row.querySelector("button")?.title ?? "").replace("worm ", "")), what: row.querySelectorAll("td")[1].textContent,
  })));
  const by = new Map(waits.map((worm) => [worm.worm, worm.waits_for.map(({ label }) => label)]));
  expect(shown.length).toBeGreaterThan(10);
  for (const { worm, what } of shown) expect(what, `worm ${worm}`).toBe((by.get(worm) ?? []).join(", "));
  expect(network.length).toBeGreaterThan(0);
});

test("following a worm of the cycle says who holds what it waits for", async ({ page, address }) => {
  const { deadlock } = json<Result>("simulate", ...DEADLOCK);
  await page.goto(`${address}/replay?file=dead.replay`);
  const [first, second] = deadlock.cycle;
  await page.locator(`.cycle-list [data-worm="${first.worm}"]`).click();
  await expect(page).toHaveURL(new RegExp(`worm=${first.worm}`));
  const follow = page.locator(".follow");
  await expect(follow).toContainText(`It waits for ${first.waits_for.join(", ")}.`);
  await follow.getByRole("button", { name: `worm ${second.worm}`, exact: true }).click();
  await expect(page).toHaveURL(new RegExp(`worm=${second.worm}`));
  await expect(follow.locator("h2")).toContainText(`Worm ${second.worm}`);
  const held = await follow.locator("tbody tr .held").allTextContents();
  expect(held).toEqual(second.holds);
});

test("how the deadlock came about plays", async ({ page, address }) => {
  const { deadlock } = json<Result>("simulate", ...DEADLOCK);
  await page.goto(`${address}/replay?file=dead.replay`);
  await page.getByRole("button", { name: "How it came about" }).click();
  await expect(page.getByRole("button", { name: "Pause" })).toBeVisible();
  await expect.poll(() => shownCycle(page)).toBeLessThan(deadlock.at);
  const before = await shownCycle(page);
  await expect.poll(() => shownCycle(page)).toBeGreaterThan(before);
});

test("two clicks: the bottleneck, its messages, multicasts apart", async ({ page, address }) => {
  const channels = csv(command("simulate", ...RUN, "--channels", "-"));
  let most = 0;
  channels.forEach((row, id) => { if (Number(row.busy) > Number(channels[most].busy)) most = id; });
  const label = `${channels[most].from_name} -> ${channels[most].to_name}`;
  await page.goto(`${address}/replay?file=run.replay`);
  await page.getByRole("button", { name: "Find the bottleneck" }).click();
  await expect(page.locator("[data-link]")).toHaveText(label);
  const busy = page.locator(`table caption:text-is("What was measured of ${label}") ~ tbody tr`).first();
  const { cycles } = json<Result>("simulate", ...RUN);
  await expect(busy.locator("td").nth(1)).toHaveText(`${((100 * Number(channels[most].busy)) / cycles).toFixed(1)}%`);

  // The worms of each kind, by the command's timeline and its log of deliveries.
  const destinations = new Map<string, number>();
  for (const row of csv(command("simulate", ...RUN, "--deliveries", "-"))) destinations.set(row.message, (destinations.get(row.message) ?? 0) + 1);
  const timeline = JSON.parse(command("simulate", ...RUN, "--timeline", "-")) as { traceEvents: { pid: number; tid: number; ph: string; args: { worm?: number; message?: number } }[] };
  const messages = new Map<number, number>();
  for (const { pid, args } of timeline.traceEvents) if (pid === 2 && args.worm !== undefined && args.message !== undefined) messages.set(args.worm, args.message);
  const through = new Set<number>();
  for (const { pid, tid, ph, args } of timeline.traceEvents) if (pid === 1 && ph === "X" && tid === most && args.worm !== undefined) through.add(messages.get(args.worm) as number);
  const kinds = { multicast: 0, unicast: 0 };
  let unsure = 0;
  for (const message of through) {
    const reached = destinations.get(String(message)) ?? 0;
    if (reached > 1) kinds.multicast++;
    else if (reached === 1) kinds.unicast++;
    else unsure++;
  }
  expect(through.size).toBeGreaterThan(20);
  const shown = { multicast: 0, unicast: 0 };
  for (const kind of ["multicast", "unicast"] as const) {
    const summary = page.locator(`details[data-kind=${kind}] summary`);
    await expect(summary).toBeVisible();
    shown[kind] = Number(((await summary.innerText()).match(/^[\d,]+/) as RegExpMatchArray)[0].replace(/,/g, ""));
  }
  expect(shown.multicast + shown.unicast).toBe(through.size);
  // Of a multicast that is still on its way at the end, the log has one delivery or none: it cannot be told from a unicast by that.
  expect(Math.abs(shown.multicast - kinds.multicast) + Math.abs(shown.unicast - kinds.unicast)).toBeLessThanOrEqual(2 * unsure + 6);

  // The second click: one of them, where and when it is there.
  await page.locator("details[data-kind=multicast] tbody button").first().click();
  await expect(page).toHaveURL(/worm=\d+/);
  await expect(page.locator(".follow tbody .held", { hasText: label })).toHaveCount(1);
});

test("where a node is the bottleneck, its own channel is found", async ({ page, address }) => {
  const hot = ["small.toml", "--set", "algorithm=separate", "--set", "traffic.multicast.fraction=0", "--set", "traffic.unicast.pattern=hot-spot", "--set", "traffic.unicast.node=4,3", "--set", "traffic.unicast.fraction=0.9", "--set", "switching.consumption_ports=1", "--set", "traffic.arrivals.rate=0.05"];
  const channels = csv(command("simulate", ...hot, "--channels", "-", "--replay", "hot.replay"));
  let most = 0;
  channels.forEach((row, id) => { if (Number(row.busy) > Number(channels[most].busy)) most = id; });
  expect(channels[most].kind).toBe("consumption");
  const label = `consumption ${channels[most].from_name}[${channels[most].port}]`;
  await page.goto(`${address}/replay?file=hot.replay`);
  await page.getByRole("button", { name: "Find the bottleneck" }).click();
  await expect(page.locator("[data-link]")).toHaveText(label);
  await expect(page.locator("details[data-kind=unicast] tbody tr").first()).toBeVisible();
  await page.goto(`${address}/network?replay=hot.replay`);
  await page.locator(".numbers tbody button").first().click();
  await expect(page.locator(".details")).toContainText(label);
  await page.getByRole("link", { name: "Which messages go through it?" }).click();
  await expect(page.locator("[data-link]")).toHaveText(label);
});

test("play, pause, step, scrub and speed, by keys and by buttons", async ({ page, address }) => {
  await page.goto(`${address}/replay?file=run.replay&cycle=3000`);
  await expect.poll(() => shownCycle(page)).toBe(3000);
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => shownCycle(page)).toBe(3001);
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await expect.poll(() => shownCycle(page)).toBe(2999);
  await page.keyboard.press("Space");
  await expect(page.getByRole("button", { name: "Pause" })).toBeVisible();
  await expect.poll(() => shownCycle(page)).toBeGreaterThan(3002);
  await page.keyboard.press("Space");
  await expect(page.getByRole("button", { name: "Play", exact: true })).toBeVisible();
  const at = await shownCycle(page);
  await page.waitForTimeout(200);
  expect(await shownCycle(page)).toBe(at);
  await page.keyboard.press("Shift+ArrowRight");
  await expect.poll(() => shownCycle(page)).toBeGreaterThan(at);
  await page.keyboard.press("Home");
  await expect.poll(() => shownCycle(page)).toBe(0);
  await page.getByLabel("Go to cycle").fill("4,000");
  await page.keyboard.press("Enter");
  await expect.poll(() => shownCycle(page)).toBe(4000);
  await expect(page).toHaveURL(/cycle=4000/);
  const slider = page.getByLabel("Cycle", { exact: true });
  const box = (await slider.boundingBox()) as { x: number; y: number; width: number; height: number };
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  await expect.poll(() => shownCycle(page)).toBeGreaterThan(4000);
  await page.getByLabel("Speed").selectOption("2000");
  await page.getByRole("button", { name: "Play", exact: true }).click();
  const begun = await shownCycle(page);
  await expect.poll(() => shownCycle(page)).toBeGreaterThan(begun + 300);
  await page.getByRole("button", { name: "Pause" }).click();
});

test("after Enter in a field the keys are the replay's again", async ({ page, address }) => {
  await page.goto(`${address}/replay?file=run.replay&cycle=3000`);
  await expect.poll(() => shownCycle(page)).toBe(3000);
  const worm = page.getByRole("textbox", { name: "Worm" });
  const stage = page.locator(".replay .picture canvas");
  await worm.click();
  await page.keyboard.type("100");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/worm=100/);
  await expect(stage).toBeFocused();
  await expect.poll(() => shownCycle(page)).not.toBe(3000);
  const start = await shownCycle(page);
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => shownCycle(page)).toBe(start + 1);
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/worm=/);
  await expect(page.locator(".follow")).toHaveCount(0);
  // What is refused is still to be mended.
  await worm.click();
  await page.keyboard.type("99999999");
  await page.keyboard.press("Enter");
  await expect(worm).toHaveAttribute("aria-invalid", "true");
  await expect(worm).toBeFocused();
  await worm.fill("");
  await page.keyboard.press("Enter");
  await expect(stage).toBeFocused();
  // Also where nothing was changed, and in the field of the cycle.
  const cycle = page.getByLabel("Go to cycle");
  for (const text of ["2,000", ""]) {
    await cycle.click();
    if (text) await cycle.fill(text);
    await page.keyboard.press("Enter");
    await expect(stage).toBeFocused();
    await expect.poll(() => shownCycle(page)).toBe(2000);
  }
  // By Tab the focus goes where it always went.
  await worm.click();
  await page.keyboard.type("7");
  await page.keyboard.press("Tab");
  await expect(page).toHaveURL(/worm=7/);
  await expect(stage).not.toBeFocused();
});

test("a worm holds its channels when the command's timeline says so", async ({ page, address }) => {
  const timeline = JSON.parse(command("simulate", ...RUN, "--timeline", "-")) as { traceEvents: { pid: number; tid: number; ph: string; name: string; args: { worm?: number; from_cycle: number; to_cycle: number; name: string } }[] };
  const names = new Map<number, string>();
  for (const event of timeline.traceEvents) if (event.pid === 1 && event.ph === "M" && event.name === "thread_name") names.set(event.tid, event.args.name);
  const holds = timeline.traceEvents.filter((event) => event.pid === 1 && event.ph === "X" && event.args.worm === 100);
  expect(holds.length).toBeGreaterThan(3);
  const middle = Math.floor((Math.min(...holds.map(({ args }) => args.from_cycle)) + Math.max(...holds.map(({ args }) => args.to_cycle))) / 2);
  await page.goto(`${address}/replay?file=run.replay&cycle=${middle}&worm=100`);
  await page.locator(".follow summary").click();
  const rows = await page.locator(".follow tbody tr").evaluateAll((items) => items.map((row) => [...row.querySelectorAll("td")].map((cell) => (cell.textContent ?? "").replace(/,(?=\d{3})/g, ""))));
  expect(rows.map(([, granted, released]) => [Number(granted), Number(released) + 1]).sort()).toEqual(holds.map(({ args }) => [args.from_cycle, args.to_cycle]).sort());
  expect(rows.map(([label]) => label).sort()).toEqual(holds.map(({ tid }) => names.get(tid) as string).sort());
  const held = await page.locator(".follow tbody .held").allTextContents();
  expect(held.sort()).toEqual(holds.filter(({ args }) => args.from_cycle <= middle && middle < args.to_cycle).map(({ tid }) => names.get(tid) as string).sort());
});

interface Traced {
  pid: number;
  tid: number;
  ph: string;
  name: string;
  args: { worm: number; cycle: number; from_cycle: number; to_cycle: number; flits: number | null; for: string[] };
}

test("all worms of a file are read as the command's timeline has them", () => {
  for (const [file, options] of [["run.replay", RUN], ["dead.replay", DEADLOCK]] as const) {
    const events = (JSON.parse(command("simulate", ...options, "--timeline", "-")) as { traceEvents: Traced[] }).traceEvents;
    const { header, chunks: deflated } = replay(file);
    const network = new Network(header.network);
    const space = new ChannelSpace(network.links, header.network.nodes, header.ports.injection, header.ports.consumption);
    const chunks = deflated.map((bytes, index) => decode(index, inflateRawSync(bytes), { network, space, cycles: header.cycles }));
    const expected = { held: [] as string[], started: [] as string[], delivered: [] as string[], waited: [] as string[] };
    for (const { pid, tid, ph, name, args } of events) {
      if (pid === 1 && ph === "X") expected.held.push(`${args.worm}: ${tid} from ${args.from_cycle} ${args.flits === null ? "on" : `to ${args.to_cycle}, ${args.flits} flits`}`);
      else if (pid === 2 && name.startsWith("startup")) expected.started.push(`${args.worm} in ${args.cycle}`);
      else if (pid === 2 && ph === "i") expected.delivered.push(`${args.worm} to ${tid} in ${args.cycle}`);
      else if (pid === 3 && ph === "X") expected.waited.push(`${args.worm} from ${args.from_cycle} to ${args.to_cycle}`);
    }
    const found: typeof expected = { held: [], started: [], delivered: [], waited: [] };
    let late = 0;
    for (const chunk of chunks) {
      for (let w = 0; w < chunk.worms; w++) {
        const worm = chunk.worm[w];
        if (chunk.started[w] !== NEVER) found.started.push(`${worm} in ${chunk.started[w]}`);
        if (chunk.started[w] > chunk.generated[w] + 1 && chunk.started[w] !== NEVER) late++;
        for (let hop = chunk.firstHop[w]; hop < chunk.firstHop[w + 1]; hop++) {
          found.held.push(`${worm}: ${chunk.channel[hop]} from ${chunk.granted[hop]} ${chunk.released[hop] === NEVER ? "on" : `to ${chunk.released[hop] + 1}, ${chunk.flits[hop]} flits`}`);
        }
        for (let at = chunk.firstDelivery[w]; at < chunk.firstDelivery[w + 1]; at++) found.delivered.push(`${worm} to ${chunk.deliveredTo[at]} in ${chunk.delivered[at]}`);
        for (let wait = chunk.firstWait[w]; wait < chunk.firstWait[w + 1]; wait++) {
          found.waited.push(`${worm} from ${chunk.since[wait]} to ${chunk.waitHop[wait] < 0 ? header.cycles : chunk.granted[chunk.waitHop[wait]]}`);
        }
      }
    }
    expect(late, `${file}: worms that did not start when they were generated`).toBeGreaterThan(20);
    for (const what of ["started", "held", "delivered", "waited"] as const) {
      expect(expected[what].length, `${file}: ${what}`).toBeGreaterThan(30);
      expect(found[what].sort(), `${file}: ${what}`).toEqual(expected[what].sort());
    }
  }
});

test("who does not wait can be read and followed, too", async ({ page, address }) => {
  await page.goto(`${address}/replay?file=run.replay&cycle=5000`);
  await expect.poll(() => gauge(page, "worms here")).toBeGreaterThan(0);
  const others = (await gauge(page, "worms here")) - (await gauge(page, "waiting"));
  const list = page.locator("details.others");
  await expect(list.locator("summary")).toContainText(String(others));
  await list.locator("summary").click();
  await expect(list.locator("tbody tr")).toHaveCount(others);
  await list.locator("tbody button").first().click();
  await expect(page.locator(".follow")).toBeVisible();
});

test("filters: multicasts, a message, a node", async ({ page, address }) => {
  await page.goto(`${address}/replay?file=run.replay&cycle=4000`);
  await expect.poll(() => gauge(page, "worms here")).toBeGreaterThan(0);
  const [here, multicasts] = [await gauge(page, "worms here"), await gauge(page, "multicast")];
  await page.getByRole("button", { name: "multicasts", exact: true }).click();
  await expect.poll(() => gauge(page, "looked at")).toBe(multicasts);
  await page.getByRole("button", { name: "unicasts", exact: true }).click();
  await expect.poll(() => gauge(page, "looked at")).toBe(here - multicasts);
  await page.getByRole("button", { name: "Show everything" }).click();
  await page.getByLabel("Node").fill("3,3");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/node=27/);
  await expect.poll(() => gauge(page, "looked at")).toBeLessThanOrEqual(here);
  await page.goBack();
  await expect(page).not.toHaveURL(/node=/);
});

test("a file that is no replay is refused", async ({ page, address }) => {
  await page.goto(`${address}/replay?file=small.toml`);
  await expect(page.locator(".problem")).toBeVisible();
});
