// What a view is to the page around it.

import { h, fill } from "./dom.ts";
import type { Child } from "./dom.ts";
import type { Query, ViewName } from "./address.ts";
import type { Info } from "./api.ts";
import { isAborted } from "./api.ts";

export interface Page {
  readonly info: Info;
  /** Looks again at what is in the folder. */
  refresh(): Promise<Info>;
  /** Changes the view's part of the address; `replace` makes no entry in the history. The view is not told: it knows. */
  set(changes: Readonly<Record<string, string | number | null | undefined>>, replace?: boolean): void;
  go(view: ViewName, query: Query): void;
  /** Says what is wrong with values of the address, as far as only the view knows; "" is nothing. */
  wrong(said: readonly string[]): void;
  /** Says something to screen readers. */
  announce(text: string): void;
  /** Names the page in the browser's tab. */
  title(text: string): void;
  /** Calls back with the server's events of a name. Returns what ends that. */
  listen(event: string, heard: (data: unknown) => void): () => void;
}

export interface View {
  readonly element: HTMLElement;
  /** The address has changed by back or forward. */
  update(query: Query): void;
  /** The view is left: everything that runs ends. */
  end(): void;
  /** A key that no field took; true if it is done. */
  key?(event: KeyboardEvent): boolean;
}

/** A link inside of the page. */
export function link(page: Page, view: ViewName, query: Query, address: string, text: Child): HTMLAnchorElement {
  return h(
    "a",
    {
      href: address,
      onclick: (event: MouseEvent) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        page.go(view, query);
      },
    },
    text,
  );
}

/** Shows that something is awaited, then what it gives, or its error. Only the last request of an element counts. */
export async function awaiting<T>(element: HTMLElement, what: string, work: (signal: AbortSignal) => Promise<T>, done: (value: T) => void): Promise<void> {
  const controller = new AbortController();
  running.get(element)?.abort();
  running.set(element, controller);
  element.setAttribute("aria-busy", "true");
  const slow = setTimeout(() => fill(element, h("p", { class: "quiet", role: "status" }, `${what} …`)), 150);
  try {
    const value = await work(controller.signal);
    if (controller.signal.aborted) return;
    clearTimeout(slow);
    done(value);
  } catch (error) {
    if (controller.signal.aborted || isAborted(error)) return;
    clearTimeout(slow);
    fill(element, problem(error));
  } finally {
    clearTimeout(slow);
    if (running.get(element) === controller) element.removeAttribute("aria-busy");
  }
}

const running = new WeakMap<HTMLElement, AbortController>();

/** Gives up what an element awaits. */
export function giveUp(element: HTMLElement): void {
  running.get(element)?.abort();
}

export function problem(error: unknown): HTMLDivElement {
  return h("div", { class: "problem", role: "alert" }, error instanceof Error ? error.message : String(error));
}

/** A part of the panel beside a picture. */
export function section(title: string, ...children: (Child | Child[])[]): HTMLElement {
  return h("section", { class: "part" }, h("h2", null, title), ...children);
}
