// A scale of colours with its ends; its colours, for light and dark, are in the style sheet.

import { h } from "../dom.ts";

export function legend(least: string, most: string): HTMLDivElement {
  return h("div", { class: "legend" }, h("span", null, least), h("div", { class: "strip", "aria-hidden": "true" }), h("span", null, most));
}
