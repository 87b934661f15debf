// What all tests share: the server, and a page that reaches nothing but the server.

import { test as base, expect } from "@playwright/test";
import type { BrowserContext, BrowserContextOptions, Page } from "@playwright/test";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { FOLDER, PROGRAM } from "./command.ts";

interface Shared {
  server: Server;
  /** The server's address, without a slash at its end. */
  address: string;
}

interface Server {
  process: ChildProcess;
  address: string;
  /** What the program prints: the address of a view, with the token. */
  printed: string;
  /** The token, as browsers keep it. */
  cookie: { name: string; value: string; url: string };
}

interface Each {
  /** Nothing leaves the machine, and nothing that the content policy refuses, no error of a script, is overlooked. */
  guards: (context: BrowserContext) => Promise<void>;
  /** A page in another window, of another size or with other colours. */
  other: (options: BrowserContextOptions) => Promise<Page>;
}

/** Starts a server for a folder, or a file in it. */
export async function serve(folder: string, path = "."): Promise<Server> {
  const server = spawn(PROGRAM, ["serve", path, "--port", "0"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const printed = await new Promise<string>((done, fail) => {
    let text = "";
    server.stdout.on("data", (bytes: Buffer) => {
      text += bytes.toString();
      const found = /http:\/\/\S+/.exec(text);
      if (found) done(found[0]);
    });
    server.on("exit", (code) => fail(new Error(`the server ended with ${code}: ${text}`)));
  });
  const { origin, port, searchParams } = new URL(printed);
  const cookie = { name: `wormcast-${port}`, value: searchParams.get("token") ?? "", url: origin };
  return { process: server, address: origin, printed, cookie };
}

/** Ends a server, as Ctrl-C does. */
export async function end(server: ChildProcess): Promise<void> {
  server.removeAllListeners("exit");
  const ended = new Promise((done) => server.on("exit", done));
  server.kill("SIGINT");
  await ended;
}

export const test = base.extend<Each, Shared>({
  server: [
    async ({}, use) => {
      const server = await serve(FOLDER);
      await use(server);
      await end(server.process);
    },
    { scope: "worker" },
  ],
  address: [async ({ server }, use) => use(server.address), { scope: "worker" }],
  guards: async ({ server, address }, use) => {
    const refused: string[] = [];
    const errors: string[] = [];
    await use(async (context) => {
      await context.addCookies([server.cookie]);
      await context.route("**/*", (route) => {
        const url = route.request().url();
        // While the page is being written: what `npm run build` has just made, not what the program embeds.
        const file = process.env.PAGE_FROM_DIST && /^\/(page\.js|page\.css)$/.exec(new URL(url).pathname)?.[1];
        if (file) return route.fulfill({ path: `../dist/${file}` });
        if (url.startsWith(`${address}/`) || url.startsWith("file:")) return route.continue();
        refused.push(url);
        return route.abort();
      });
      context.on("page", (page) => {
        page.on("pageerror", (error) => errors.push(String(error)));
        page.on("console", (message) => {
          // An answer that is an error is said by the page; whether it should have been one, the tests say.
          if (message.type() === "error" && !/Failed to load resource/.test(message.text())) errors.push(message.text());
        });
      });
    });
    expect(refused, "requests that left the machine").toEqual([]);
    expect(errors, "errors of the page").toEqual([]);
  },
  context: async ({ context, guards }, use) => {
    await guards(context);
    await use(context);
  },
  other: async ({ browser, guards }, use) => {
    const made: BrowserContext[] = [];
    await use(async (options) => {
      const context = await browser.newContext(options);
      made.push(context);
      await guards(context);
      return context.newPage();
    });
    for (const context of made) await context.close();
  },
});

export { expect };

/** The cycle that the replay's picture shows, once it shows it with its worms. */
export async function shownCycle(page: Page): Promise<number> {
  return Number(await page.locator(".replay .picture canvas").getAttribute("data-cycle"));
}

export async function gauge(page: Page, name: string): Promise<number> {
  return Number((await page.locator(`[data-count="${name}"]`).innerText()).replace(/,/g, ""));
}
