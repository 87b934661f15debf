// A replay in one file, as reports have it: no server, no network.

import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { DEADLOCK, json, replay } from "./command.ts";
import { expect, gauge, shownCycle, test } from "./support.ts";

/** A page with a replay in it, as crates/serve/API.md says. */
function pageWith(file: string): string {
  const { header, chunks: bytes } = replay(file);
  const chunks = bytes.map((chunk) => chunk.toString("base64"));
  const data = JSON.stringify({ header, chunks }).replace(/</g, "\\u003c");
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>A report</title><style>${readFileSync("../../lab/src/report/style.css", "utf8")} ${readFileSync("../dist/page.css", "utf8")}</style>
<body><h2>A report</h2><p>Text.</p><figure><div class="wc" data-wormcast="replay"><script type="application/json">${data}</script></div></figure><h2>More</h2>
<script>${readFileSync("../dist/page.js", "utf8").replace(/<\/script/gi, "<\\/script")}</script></body></html>`;
}

test("a report's page plays its replay from one file", async ({ page }) => {
  const file = resolve("test-results/report.html");
  writeFileSync(file, pageWith("dead.replay"));
  await page.goto(pathToFileURL(file).href);
  const { deadlock } = json<{ deadlock: { at: number; cycle: unknown[] } }>("simulate", ...DEADLOCK);
  await expect(page.locator(".cycle-list li")).toHaveCount(deadlock.cycle.length);
  await expect.poll(() => gauge(page, "waiting")).toBeGreaterThan(0);
  await page.getByRole("button", { name: "How it came about" }).click();
  await expect.poll(() => shownCycle(page)).toBeLessThan(deadlock.at);
  const before = await shownCycle(page);
  await expect.poll(() => shownCycle(page)).toBeGreaterThan(before);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Find the bottleneck" }).click();
  await expect(page.locator("details[data-kind=multicast] tbody tr").first()).toBeVisible();
  // Neither style disturbs the other.
  await expect(page.locator("body > h2").first()).toHaveCSS("border-bottom-width", "2px");
  await expect(page.locator(".wc h2").first()).toHaveCSS("border-bottom-width", "0px");
  await expect(page.locator(".play svg")).toHaveCSS("width", "15px");
  await page.emulateMedia({ colorScheme: "dark" });
  await expect(page.locator(".play svg")).toHaveCSS("filter", "none");
  // Its keys work where the focus is in it.
  await page.locator(".wc canvas").first().focus();
  const at = await shownCycle(page);
  await page.keyboard.press("ArrowLeft");
  await expect.poll(() => shownCycle(page)).toBe(at - 1);
  // The wheel is the page's.
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.locator(".wc canvas").first().hover();
  const from = await page.evaluate(() => window.scrollY);
  await page.mouse.wheel(0, 200);
  await expect.poll(() => page.evaluate(() => window.scrollY)).toBeGreaterThan(from);
});
