// The planner between networks: what is kept, what is said, and how often.

import { expect, test } from "./support.ts";

/** What the planner drops, as it says it. */
const DROPPED = /^Dropped on the way to /;

test("another topology keeps what it has too, and what is dropped is told", async ({ page, address }) => {
  await page.goto(`${address}/plan?topology=mesh:4x4&source=0,0&destinations=3,3;1,2&algorithms=u-mesh&failed=0,0-1,0;3,3-2,3`);
  await expect(page.getByRole("article")).toHaveCount(1);
  const field = page.getByLabel("Topology");
  await field.fill("mesh:3x3");
  await page.keyboard.press("Enter");
  await expect(page.locator("main").getByText(DROPPED)).toHaveText("Dropped on the way to mesh:3x3: destination 3,3; failed link 3,3-2,3.");
  await expect(page.locator("[aria-live=polite]")).toHaveText(/^Dropped on the way to mesh:3x3/);
  await expect(page).toHaveURL(/topology=mesh:3x3&source=0,0&destinations=1,2&algorithms=u-mesh&failed=0,0-1,0$/);
  await expect(page.getByRole("article")).toHaveAttribute("aria-label", "u-mesh");
  await expect(page.getByLabel("Destinations")).toHaveValue("1,2");
  await expect(field).toBeFocused();
  // What is done next is not about it any more; back is where one was.
  await page.getByLabel("Failed links").fill("");
  await page.keyboard.press("Enter");
  await expect(page.locator("main").getByText(DROPPED)).toHaveCount(1);
  await expect(page.locator("main").getByText(DROPPED)).toBeHidden();
  await expect(page.locator("[data-figure=channels]")).toHaveText("3");
  await page.goBack();
  await page.goBack();
  await expect(page.getByLabel("Destinations")).toHaveValue("3,3;1,2");
  await expect(page).toHaveURL(/failed=0,0-1,0;3,3-2,3$/);
  await expect(page.locator("main").getByText(DROPPED)).toBeHidden();
});

test("a network of another shape drops algorithms, routing and source; a wrong one drops nothing", async ({ page, address }) => {
  await page.goto(`${address}/plan?topology=mesh:4x4&source=3,3&destinations=1;2;0,3&algorithms=separate,u-mesh,dual-path&routing=xy&ports=all`);
  await expect(page.getByRole("article")).toHaveCount(3);
  const field = page.getByLabel("Topology");
  await field.fill("hypercube:");
  await page.keyboard.press("Enter");
  await expect(page.locator(".problem")).toContainText("hypercube:");
  await expect(page).toHaveURL(/destinations=1;2;0,3&algorithms=separate,u-mesh,dual-path&routing=xy/);
  await expect(page.locator("main").getByText(DROPPED)).toBeHidden();
  await field.fill("hypercube:3");
  await page.keyboard.press("Enter");
  await expect(page.locator("main").getByText(DROPPED)).toHaveText("Dropped on the way to hypercube:3: algorithms u-mesh and dual-path; routing xy; source 3,3; destination 0,3.");
  await expect(page).toHaveURL(/topology=hypercube:3&destinations=1;2&algorithms=separate&ports=all$/);
  await expect(page.getByLabel("Source")).toHaveValue("0");
  await expect(page.locator("[data-figure=startups]")).toBeVisible();
});

test("algorithms that nobody chose are those that are usual for the network", async ({ page, address }) => {
  await page.goto(`${address}/plan?topology=torus:4x4&destinations=1,1`);
  await expect(page.getByRole("article", { name: "spam" })).toBeVisible();
  await page.getByLabel("Topology").fill("mesh:3x3x3");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("article", { name: "dual-path" })).toBeVisible();
  await expect(page.locator("main").getByText(DROPPED)).toHaveText("Dropped on the way to mesh:3x3x3: destination 1,1.");
  // None of them is for meshes with two dimensions alone.
  await expect(page.getByRole("article", { name: "column-path" })).toHaveCount(0);
});

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

test("a seed goes to the algorithms that draw", async ({ page, address }) => {
  const idle = page.getByRole("article").getByText("`seed` makes no difference");
  const to = `${address}/plan?topology=torus:4x4&source=0,0&destinations=2,2&seed=1`;
  await page.goto(`${to}&algorithms=dstm-2,separate`);
  await expect(page.getByRole("article").locator("[data-figure=steps]")).toHaveCount(2);
  await expect(idle).toHaveCount(0);
  await page.goto(`${to}&algorithms=separate`);
  await expect(idle).toHaveCount(1);
});
