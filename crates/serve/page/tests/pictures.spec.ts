// Draws the pictures of the guide, and the same views in dark and narrow, into docs/images: `npm run draw`.

import type { Page } from "@playwright/test";
import { expect, test } from "./support.ts";

const IMAGES = "../../../docs/images";
const STYLES = [
  ["light", {}, (name: string) => `browser-${name}`],
  ["dark", { colorScheme: "dark" }, (name: string) => `browser/${name}-dark`],
  ["narrow", { viewport: { width: 360, height: 740 } }, (name: string) => `browser/${name}-360`],
] as const;

/** Each picture's name and address, and what is done to the view before it is drawn */
const PICTURES: readonly { name: string; address: string; prepare: (page: Page) => Promise<void> }[] = [
  { name: "files", address: "/", prepare: (page) => seen(page, ".cards .card") },
  { name: "network", address: "/network?replay=tour.replay&measure=use", prepare: (page) => seen(page, ".numbers tbody tr") },
  {
    name: "curves", address: "/curves?experiment=tour.toml&store=results/store.db",
    prepare: async (page) => {
      await page.locator(".values tbody tr").nth(2).locator("button").nth(1).click();
      await seen(page, ".small-chart canvas");
      await page.locator(".scrolls").evaluate((stage) => stage.scrollTo(0, 0));
    },
  },
  { name: "bottleneck", address: "/replay?file=tour.replay", prepare: bottleneck },
  {
    name: "worm", address: "/replay?file=tour.replay",
    prepare: async (page) => {
      await bottleneck(page);
      await page.locator("details[data-kind=multicast] tbody button").first().click();
      await seen(page, ".follow");
      await page.getByLabel("What the worms do").evaluate((panel) => panel.scrollTo(0, panel.querySelector<HTMLElement>(".follow")!.offsetTop - 60));
    },
  },
  { name: "replay", address: "/replay?file=dead.replay", prepare: (page) => seen(page, ".dead .cycle-list li") },
  { name: "deadlock", address: "/deadlock?topology=torus:4x4&routing=e-cube", prepare: (page) => seen(page, "[data-verdict]") },
  {
    name: "planner", address: "/plan?topology=mesh:8x8&source=4,3&destinations=1,4;1,5;2,7;6,5;7,2;5,1;2,1&algorithms=dual-path,pure-negative-first,u-mesh",
    prepare: async (page) => expect(page.locator("[data-figure=steps]")).toHaveCount(3),
  },
  {
    name: "sweeps", address: "/sweeps",
    prepare: async (page) => {
      await page.getByText("Where it was computed").first().click();
      await seen(page, ".sweep tbody tr");
    },
  },
];

function seen(page: Page, what: string): Promise<void> {
  return expect(page.locator(what).first()).toBeVisible();
}

async function bottleneck(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Find the bottleneck" }).click();
  await seen(page, "details[data-kind=multicast] tbody tr");
}

for (const [style, options, file] of STYLES) {
  test(`pictures, ${style}`, async ({ other, address }) => {
    test.skip(!process.env.WORMCAST_DRAW, "drawn by `npm run draw`");
    const page = await other({ viewport: { width: 1060, height: 625 }, ...options });
    for (const { name, address: path, prepare } of PICTURES) {
      await page.goto(address + path);
      await prepare(page);
      await page.mouse.move(0, 0);
      await page.waitForTimeout(500);
      await page.screenshot({ path: `${IMAGES}/${file(name)}.png` });
    }
  });
}
