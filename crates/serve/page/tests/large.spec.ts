// A large run: 64x64 and 100,000 worms. Frames are measured, not judged; that everything is drawn is.

import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { command, FOLDER } from "./command.ts";
import { expect, gauge, shownCycle, test } from "./support.ts";

const BIG = `title = "64x64 mesh, a twentieth of the messages multicasts"
topology = "mesh:64x64"
algorithm = "dual-path"
seed = 1

[traffic]
arrivals = { process = "poisson", rate = 0.00015 }
length = 16
multicast = { destinations = 4, fraction = 0.05 }

[timing]
startup = 0
cycle_ns = 1000

[run]
warmup = 0
messages = 97500
`;

interface Frames {
  frames: number[];
  wanted: number;
  drawn: number;
  worms: number;
}

function distribution(values: number[]): Record<string, number> {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => Number(sorted[Math.floor(share * (sorted.length - 1))].toFixed(1));
  return { mean: Number((values.reduce((sum, value) => sum + value, 0) / values.length).toFixed(1)), p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99), max: at(1) };
}

test.describe.configure({ mode: "serial" });

test.beforeAll(() => {
  writeFileSync(`${FOLDER}/big.toml`, BIG);
  command("simulate", "big.toml", "--replay", "big.replay");
});

test("scrubbing 64x64 with 100,000 worms draws every cycle that is asked for", async ({ page, address }) => {
  test.setTimeout(180_000);
  let fetched = 0;
  page.on("response", async (response) => {
    fetched += Number((await response.allHeaders())["content-length"] ?? 0);
  });
  const begun = Date.now();
  await page.goto(`${address}/replay?file=big.replay`);
  await expect.poll(() => page.locator(".replay .picture canvas").getAttribute("data-worms").then(Number), { intervals: [20] }).toBeGreaterThan(0);
  const opened = Date.now() - begun;

  const scrub = (): Promise<Frames> => page.evaluate(async () => {
    const slider = document.querySelector(".track input") as HTMLInputElement;
    const canvas = document.querySelector(".replay .picture canvas") as HTMLCanvasElement;
    const most = Number(slider.max);
    const result = { frames: [] as number[], wanted: 0, drawn: 0, worms: 0 };
    const frame = (): Promise<number> => new Promise((done) => requestAnimationFrame(done));
    let before = await frame();
    for (let i = 0; i < 300; i++) {
      // There and back, further each time: as a hand does.
      const share = 0.5 + 0.45 * Math.sin(i / 20) * (0.4 + (0.6 * i) / 300);
      const cycle = Math.round(most * share);
      slider.value = String(cycle);
      slider.dispatchEvent(new Event("input"));
      result.wanted++;
      let tries = 0;
      do {
        const now = await frame();
        // The callback of the page ran in this frame or runs in the next.
        if (tries === 0 || Number(canvas.dataset.cycle) === cycle) result.frames.push(now - before);
        else result.frames[result.frames.length - 1] += now - before;
        before = now;
        tries++;
      } while (Number(canvas.dataset.cycle) !== cycle && tries < 120);
      if (Number(canvas.dataset.cycle) === cycle) result.drawn++;
      result.worms = Math.max(result.worms, Number(canvas.dataset.worms));
    }
    return result;
  });
  const first = await scrub();
  const second = await scrub();
  for (const { wanted, drawn, worms } of [first, second]) {
    expect(drawn).toBe(wanted);
    expect(worms).toBeGreaterThan(100);
  }

  // And playing.
  await page.getByLabel("Speed").selectOption("500");
  await page.keyboard.press("Space");
  const from = await shownCycle(page);
  const playing = await page.evaluate(() => new Promise<number[]>((done) => {
    const frames: number[] = [];
    let before = performance.now();
    const next = (now: number): void => {
      frames.push(now - before);
      before = now;
      if (frames.length < 240) requestAnimationFrame(next);
      else done(frames);
    };
    requestAnimationFrame(next);
  }));
  expect(await shownCycle(page)).toBeGreaterThan(from);
  await page.keyboard.press("Space");

  // Panning and zooming the network.
  const box = (await page.locator(".replay .picture canvas").boundingBox()) as { x: number; y: number; width: number; height: number };
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const moving = page.evaluate(() => new Promise<number[]>((done) => {
    const frames: number[] = [];
    let before = performance.now();
    const end = before + 2500;
    const next = (now: number): void => {
      frames.push(now - before);
      before = now;
      if (now < end) requestAnimationFrame(next);
      else done(frames);
    };
    requestAnimationFrame(next);
  }));
  for (let i = 0; i < 12; i++) await page.mouse.wheel(0, i < 6 ? -120 : 120);
  await page.mouse.down();
  for (let i = 0; i < 30; i++) await page.mouse.move(box.x + box.width / 2 + 6 * i, box.y + box.height / 2 + 3 * i);
  await page.mouse.up();
  const panned = await moving;

  const data = fetched;
  expect(data, "page and data").toBeLessThan(10_000_000);
  const measured = {
    machine: `${cpus().length} x ${cpus()[0].model}`,
    browser: `Chromium ${page.context().browser()?.version()}, without a graphics card`,
    worms: Number((await page.evaluate(async () => ((await (await fetch("/api/replay?file=big.replay")).json()) as { counts: { worms: number } }).counts.worms))),
    file_bytes: statSync(`${FOLDER}/big.replay`).size,
    fetched_bytes: data,
    milliseconds_to_first_picture: opened,
    worms_at_once: second.worms,
    milliseconds_a_frame: { "scrubbing, first time": distribution(first.frames), "scrubbing again": distribution(second.frames), playing: distribution(playing), "pan and zoom": distribution(panned) },
  };
  mkdirSync("test-results", { recursive: true });
  writeFileSync("test-results/frames.json", `${JSON.stringify(measured, null, 2)}\n`);
  console.log(JSON.stringify(measured, null, 2));
  expect(measured.worms).toBeGreaterThanOrEqual(100_000);
});

test("the network view of 64x64 is whole", async ({ page, address }) => {
  await page.goto(`${address}/network?replay=big.replay&measure=use`);
  await expect(page.locator(".numbers tbody tr")).toHaveCount(12);
  const filled = await page.locator(".picture canvas").evaluate((canvas: HTMLCanvasElement) => {
    const context = canvas.getContext("2d") as CanvasRenderingContext2D;
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    let drawn = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i] !== data[0] || data[i + 1] !== data[1] || data[i + 2] !== data[2]) drawn++;
    return drawn / (data.length / 4);
  });
  expect(filled).toBeGreaterThan(0.1);
});

test("a page that is left open does not grow", async ({ page, address }) => {
  test.setTimeout(180_000);
  await page.goto(`${address}/replay?file=big.replay`);
  await expect.poll(() => gauge(page, "worms here")).toBeGreaterThan(0);
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.enable");
  const used = async (): Promise<{ bytes: number; nodes: number; listeners: number }> => {
    await session.send("HeapProfiler.collectGarbage");
    // Decoded chunks are outside of the heap of the script's objects.
    const { usedSize, backingStorageSize = 0 } = (await session.send("Runtime.getHeapUsage")) as { usedSize: number; backingStorageSize?: number };
    const { nodes, jsEventListeners } = await session.send("Memory.getDOMCounters");
    return { bytes: usedSize + backingStorageSize, nodes, listeners: jsEventListeners };
  };
  const round = async (times: number): Promise<void> => {
    await page.evaluate(async (times) => {
      const slider = document.querySelector(".track input") as HTMLInputElement;
      for (let i = 0; i < times; i++) {
        slider.value = String(Math.round(Number(slider.max) * ((i * 0.377) % 1)));
        slider.dispatchEvent(new Event("input"));
        await new Promise((done) => setTimeout(done, 15));
      }
    }, times);
    for (const name of ["multicasts", "unicasts", "all"]) await page.getByRole("button", { name, exact: true }).click();
    await page.getByRole("button", { name: "Find the bottleneck" }).click();
    await page.getByRole("button", { name: "Show everything" }).click();
    await page.waitForTimeout(600);
  };
  await round(300);
  const before = await used();
  for (let i = 0; i < 3; i++) await round(300);
  const after = await used();
  console.log(JSON.stringify({ before, after }));
  // Decoded chunks are bounded; what is beside them does not grow with what was looked at.
  expect(after.bytes - before.bytes).toBeLessThan(30_000_000);
  expect(after.nodes).toBeLessThan(before.nodes * 1.5 + 2000);
  expect(after.listeners).toBeLessThan(before.listeners * 1.5 + 500);
});
