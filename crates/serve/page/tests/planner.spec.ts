// The planner: what it says, and how often.

import { expect, test } from "./support.ts";

test("what a click does is said as it is", async ({ page, address }) => {
  await page.goto(`${address}/plan?topology=mesh:4x4&algorithms=u-mesh,dual-path`);
  const hints = page.getByRole("article").locator(".card-below");
  const click = async (what: string, hint: string): Promise<void> => {
    await page.getByRole("button", { name: what, exact: true }).click();
    await expect(hints).toHaveText([hint, hint]);
  };
  await expect(hints).toHaveText(["Click a router to make it a destination.", "Click a router to make it a destination."]);
  await click("source", "Click a router to make it the source. There is no destination yet.");
  await click("a failed link", "Click a link to fail it, or a failed one to mend it. There is no destination yet.");
  await click("destinations", "Click a router to make it a destination.");
});
