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

test("an error that all algorithms have is said once", async ({ page, address }) => {
  await page.goto(`${address}/plan?topology=mesh:3x4&source=0,0&destinations=12&algorithms=u-mesh,dual-path,separate`);
  await expect(page.getByRole("article").locator(".problem")).toHaveText(Array(3).fill(/node 12 is out of range/));
  await expect(page.getByRole("alert").filter({ hasText: "node 12" })).toHaveCount(1);
  await expect(page.getByRole("alert").getByText("node 12")).toHaveCount(1);
  // Errors that differ are all said.
  await page.getByLabel("Destinations").fill("11");
  await page.keyboard.press("Enter");
  await expect(page.locator(".problem")).toHaveCount(0);
  await expect(page.getByRole("alert").getByText("node 12")).toHaveCount(0);
  await page.getByLabel("Failed links").fill("0,0-1,0");
  await page.keyboard.press("Enter");
  await expect(page.locator(".problem")).toHaveCount(3);
  await expect(page.getByRole("alert").locator("p")).toHaveCount(3);
});
