// Addresses, keys, narrow windows, the other colours.

import { FOLDER } from "./command.ts";
import { end, expect, serve, shownCycle, test } from "./support.ts";

const VIEWS: [name: string, address: string, ready: string][] = [
  ["home", "/", ".cards .card"],
  ["network", "/network?topology=mesh:8x8", ".picture canvas"],
  ["network-measured", "/network?replay=run.replay&measure=held", ".numbers tbody tr"],
  ["replay", "/replay?file=run.replay&cycle=5000", ".gauges .gauge"],
  ["replay-deadlock", "/replay?file=dead.replay", ".dead .cycle-list li"],
  ["deadlock", "/deadlock?topology=torus:4x4&routing=e-cube", "[data-verdict]"],
  ["plan", "/plan?topology=mesh:8x8&source=4,3&destinations=1,4;2,7;6,5&algorithms=dual-path,u-mesh", "[data-figure=steps]"],
  ["curves", "/curves?experiment=small.toml&store=results/store.db", ".values tbody tr"],
  ["sweeps", "/sweeps", ".sweep"],
];

test("every view opens by its address, and the same address shows the same", async ({ page, address }) => {
  for (const [name, path, ready] of VIEWS) {
    await page.goto(address + path);
    await expect(page.locator(ready).first(), name).toBeVisible();
    await expect(page.locator(".problem"), name).toHaveCount(0);
    await page.reload();
    await expect(page.locator(ready).first(), name).toBeVisible();
  }
});

test("back and forward go through views and through what they show", async ({ page, address }) => {
  await page.goto(`${address}/`);
  await page.getByRole("navigation").getByRole("link", { name: "Network" }).click();
  await expect(page.locator(".picture canvas")).toBeVisible();
  await page.getByLabel("Topology").fill("torus:4x4");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/topology=torus:4x4/);
  await page.getByRole("navigation").getByRole("link", { name: "Replay" }).click();
  await page.getByRole("link", { name: "run.replay" }).click();
  await expect(page.locator(".gauges")).toBeVisible();
  await page.getByRole("button", { name: "Find the bottleneck" }).click();
  await expect(page).toHaveURL(/link=/);
  const link = new URL(page.url()).searchParams.get("link");
  await page.getByRole("button", { name: "multicasts", exact: true }).click();
  await expect(page).toHaveURL(/kind=multicast/);
  await page.goBack();
  await expect(page).not.toHaveURL(/kind=/);
  await expect(page.locator("[data-link]")).toHaveAttribute("data-link", link as string);
  await page.goBack();
  await expect(page).not.toHaveURL(/link=/);
  await expect(page.locator("[data-link]")).toHaveCount(0);
  await page.goForward();
  await expect(page.locator("[data-link]")).toHaveAttribute("data-link", link as string);
  for (let i = 0; i < 3; i++) await page.goBack();
  await expect(page).toHaveURL(/topology=torus:4x4/);
  await expect(page.getByLabel("Topology")).toHaveValue("torus:4x4");
  await page.goBack();
  await page.goBack();
  await expect(page).toHaveURL(`${address}/`);
  await expect(page.getByRole("heading", { name: "What is here" })).toBeVisible();
});

test("an address that is sent has the cycle, the worm and the filters", async ({ page, address }) => {
  await page.goto(`${address}/replay?file=run.replay&cycle=5000&kind=multicast&colour=state&speed=100`);
  await expect.poll(() => shownCycle(page)).toBe(5000);
  await expect(page.getByRole("button", { name: "multicasts", exact: true })).toHaveAttribute("aria-pressed", "true");
  await expect(page.getByLabel("Speed")).toHaveValue("100");
  await expect(page.getByLabel("Colours")).toHaveValue("state");
});

test("everything can be reached by the keyboard, and what has the focus is seen", async ({ page, address }) => {
  for (const [name, path, ready] of VIEWS) {
    await page.goto(address + path);
    await expect(page.locator(ready).first(), name).toBeVisible();
    await page.waitForTimeout(150);
    const expected = await page.evaluate(() => [...document.querySelectorAll<HTMLElement>("a[href], button:not(:disabled), input, select, canvas[tabindex], summary")].filter((element) => element.checkVisibility()).length);
    const seen = new Set<string>();
    for (let i = 0; i < expected + 30; i++) {
      await page.keyboard.press("Tab");
      const focus = await page.evaluate(() => {
        const element = document.activeElement as HTMLElement;
        if (!element || element === document.body) return null;
        const style = getComputedStyle(element);
        element.dataset.visited = "1";
        return { what: `${element.tagName} ${element.getAttribute("aria-label") ?? element.textContent ?? ""}`, outline: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1 };
      });
      if (!focus) break;
      expect(focus.outline, `${name}: ${focus.what} shows that it has the focus`).toBe(true);
      seen.add(focus.what);
    }
    const missed = await page.evaluate(() => [...document.querySelectorAll<HTMLElement>("button:not(:disabled), canvas[tabindex], .picture ~ * a[href]")].filter((element) => element.checkVisibility() && !element.dataset.visited).map((element) => element.outerHTML.slice(0, 90)));
    // The panel may be made anew while it is gone through, so that marks are lost; what is in the picture and the head stays.
    expect(missed.filter((html) => html.startsWith("<canvas")), name).toEqual([]);
    expect(seen.size, name).toBeGreaterThan(5);
  }
});

test("what screen readers need: names of all controls, one main part, live news", async ({ page, address }) => {
  for (const [name, path, ready] of VIEWS) {
    await page.goto(address + path);
    await expect(page.locator(ready).first(), name).toBeVisible();
    const unnamed = await page.evaluate(() => {
      const named = (element: Element): boolean => Boolean(element.getAttribute("aria-label") || element.textContent?.trim() || element.closest("label")?.textContent?.trim());
      return [...document.querySelectorAll("button, a, input, select, canvas[role=img], [role=img], [role=progressbar]")].filter((element) => !named(element)).map((element) => element.outerHTML.slice(0, 120));
    });
    expect(unnamed, name).toEqual([]);
    await expect(page.locator("main")).toHaveCount(1);
    await expect(page.locator("[aria-live=polite]")).toHaveCount(1);
    await expect(page.locator("nav [aria-current=page]")).toHaveCount(1);
  }
  await page.goto(`${address}/replay?file=run.replay&cycle=5000`);
  await expect(page.locator(".gauges")).toBeVisible();
  await page.keyboard.press("ArrowRight");
  await expect(page.locator("[aria-live=polite]")).toHaveText("Cycle 5001");
});

test("colours of text can be read in light and in dark", async ({ other, address }) => {
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await other({ colorScheme });
    for (const [name, path, ready] of VIEWS) {
      await page.goto(address + path);
      await expect(page.locator(ready).first(), name).toBeVisible();
      const poor = await page.evaluate(() => {
        const light = (colour: string): [number, number] | null => {
          const parts = /rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?\)/.exec(colour);
          if (!parts) return null;
          const [r, g, b] = parts.slice(1, 4).map((part) => {
            const value = Number(part) / 255;
            return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
          });
          return [0.2126 * r + 0.7152 * g + 0.0722 * b, parts[4] === undefined ? 1 : Number(parts[4])];
        };
        const found: string[] = [];
        for (const element of document.querySelectorAll<HTMLElement>(".wc *")) {
          const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent?.trim());
          if (!own || !element.checkVisibility() || element.closest("option, :disabled, .unseen, caption, .skip")) continue;
          let ground: number | null = null;
          for (let at: Element | null = element; at && ground === null; at = at.parentElement) {
            const colour = light(getComputedStyle(at).backgroundColor);
            if (colour && colour[1] === 1) ground = colour[0];
          }
          const text = light(getComputedStyle(element).color);
          if (ground === null || !text) continue;
          const ratio = (Math.max(ground, text[0]) + 0.05) / (Math.min(ground, text[0]) + 0.05);
          if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${element.className} ${element.textContent?.trim().slice(0, 30)}`);
        }
        return found;
      });
      expect(poor, `${colorScheme} ${name}`).toEqual([]);
    }
  }
});

test("nothing sticks out at 360 pixels", async ({ other, address }) => {
  const page = await other({ viewport: { width: 360, height: 740 }, hasTouch: true });
  for (const [name, path, ready] of VIEWS) {
    await page.goto(address + path);
    await expect(page.locator(ready).first(), name).toBeVisible();
    const { width, wide } = await page.evaluate(() => ({
      width: Math.max(document.documentElement.scrollWidth, document.querySelector("main")?.scrollWidth ?? 0),
      wide: [...document.querySelectorAll<HTMLElement>("main *")].filter((element) => !element.closest(".scroll, .choice, caption") && element.getBoundingClientRect().right > 361).map((element) => `${element.tagName}.${element.className}`),
    }));
    expect(wide, name).toEqual([]);
    expect(width, name).toBeLessThanOrEqual(360);
  }
});

test("many windows of one browser share what the server tells", async ({ page, context, address }) => {
  let streams = 0;
  context.on("request", (request) => { if (request.url().endsWith("/api/events")) streams++; });
  const windows = [page];
  for (let i = 1; i < 9; i++) windows.push(await context.newPage());
  for (const one of windows) {
    await one.goto(`${address}/sweeps`);
    await expect(one.locator(".sweep").first()).toBeVisible();
  }
  expect(streams).toBe(1);
  // What one starts, the others are told of; also after the first, which listens, is closed.
  await page.getByLabel("Store").fill("windows/shared.db");
  await page.getByRole("button", { name: "Start" }).click();
  for (const one of windows) await expect(one.locator(".sweep", { hasText: "windows/shared.db" })).toBeVisible();
  await page.close();
  await expect.poll(() => streams).toBe(2);
});

test("a file that is named is what the page opens", async ({ browser }) => {
  const page = await browser.newPage();
  for (const [file, view, ready] of [["run.replay", "replay?file=run.replay", ".gauges"], ["small.toml", "curves?experiment=small.toml", ".values tbody tr"], ["fabric.net", "network?topology=fabric.net", ".panel .facts"]] as const) {
    const { process, address, printed } = await serve(FOLDER, file);
    try {
      await page.goto(printed);
      await expect(page).toHaveURL(`${address}/${view}`);
      await expect(page.locator(ready).first(), file).toBeVisible();
      await page.getByRole("link", { name: "Files" }).click();
      await expect(page.locator(".row.open .path")).toHaveText(file);
    } finally {
      await end(process);
    }
  }
});
