// Elements from script, without HTML in strings.

export type Child = Node | string | number | null | undefined | false;

type Props = Record<string, unknown>;

/** An element. `class`, `on…` handlers, `data-…`, `aria-…` and other attributes; properties of that name where an attribute would not do. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props | null, ...children: (Child | Child[])[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2), value as EventListener);
    } else if (name === "value" || name === "checked" || name === "selected" || name === "disabled" || name === "hidden") {
      (element as unknown as Props)[name] = value;
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

export function append(element: Element, children: (Child | Child[])[]): void {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** Replaces what an element contains. */
export function fill(element: Element, ...children: (Child | Child[])[]): void {
  element.replaceChildren();
  append(element, children);
}

/** A coloured square, by CSSOM, as the content security policy has no room for style attributes. */
export function swatch(colour: string, name = "swatch"): HTMLSpanElement {
  const element = h("span", { class: name, "aria-hidden": "true" });
  element.style.background = colour;
  return element;
}

export function button(text: Child, onclick: () => void, props: Props = {}): HTMLButtonElement {
  return h("button", { type: "button", onclick, ...props }, text);
}

/** Pictures on buttons, as paths in a square of 16 by 16; fonts do not have them everywhere. */
const ICONS = {
  play: "M4 2.5v11l9-5.5z",
  pause: "M3.5 2.5h3v11h-3zM9.5 2.5h3v11h-3z",
  next: "M5 3.5v9l6-4.5z",
  back: "M11 3.5v9L5 8z",
  event: "M3 3v10l7-5zM11 3h2.4v10H11z",
  before: "M13 3v10L6 8zM2.6 3H5v10H2.6z",
  all: "M2 6V2h4v1.8H3.8V6zM14 6V2h-4v1.8h2.2V6zM2 10v4h4v-1.8H3.8V10zM14 10v4h-4v-1.8h2.2V10z",
  plus: "M7.1 3h1.8v4.1H13v1.8H8.9V13H7.1V8.9H3V7.1h4.1z",
  minus: "M3 7.1h10v1.8H3z",
} as const;

export function icon(name: keyof typeof ICONS): SVGSVGElement {
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  for (const [key, value] of [["viewBox", "0 0 16 16"], ["width", "15"], ["height", "15"], ["aria-hidden", "true"], ["fill", "currentColor"]]) picture.setAttribute(key, value);
  path.setAttribute("d", ICONS[name]);
  picture.append(path);
  return picture;
}

/** Texts of which none is broken at its spaces. */
export function unbroken(texts: readonly string[], separator: string): Child[] {
  return texts.flatMap((text, i) => [i > 0 ? separator : "", h("span", { class: "whole" }, text)]);
}

export interface Option {
  value: string;
  text: string;
  group?: string;
}

/** A select with its label. */
export function select(label: string, options: Option[], value: string, onchange: (value: string) => void, props: Props = {}): HTMLLabelElement {
  const element = h("select", { onchange: (event: Event) => onchange((event.target as HTMLSelectElement).value), ...props });
  const groups = new Map<string, Element>();
  for (const option of options) {
    let parent: Element = element;
    if (option.group) {
      let group = groups.get(option.group);
      if (!group) {
        group = h("optgroup", { label: option.group });
        groups.set(option.group, group);
        element.append(group);
      }
      parent = group;
    }
    parent.append(h("option", { value: option.value, selected: option.value === value }, option.text));
  }
  element.value = value;
  return h("label", { class: "field" }, h("span", null, label), element);
}

/** A text field with its label; `onchange` on Enter or when it is left. */
export function input(label: string, value: string, onchange: (value: string) => void, props: Props = {}): HTMLLabelElement {
  const element = h("input", { type: "text", value, spellcheck: "false", autocomplete: "off", ...props });
  element.defaultValue = value;
  element.addEventListener("change", () => {
    if (leaving) return;
    element.defaultValue = element.value;
    onchange(element.value.trim());
  });
  return h("label", { class: "field" }, h("span", null, label), element);
}

let leaving = false;

/** What had the focus: its name, and what was selected of its text. */
export interface Focused {
  name: string;
  selected: Selected | null;
}

type Selected = "all" | [from: number, to: number, direction: "forward" | "backward" | "none"];

/** Takes the focus from what has it, without what is typed there being said. Returns what it was, for `returnTo`. */
export function leave(element: Element): Focused | null {
  const focused = document.activeElement;
  if (!(focused instanceof HTMLElement) || !element.contains(focused)) return null;
  const selected = selectedOf(focused);
  leaving = true;
  focused.blur();
  leaving = false;
  return { name: nameOf(focused), selected };
}

/** Gives the focus back to what has this name now, with as much of its text selected. */
export function returnTo(element: Element, focused: Focused | null): void {
  if (focused === null) return;
  for (const other of element.querySelectorAll<HTMLElement>("input, select, button")) {
    if (nameOf(other) !== focused.name) continue;
    other.focus({ preventScroll: true });
    reselect(other, focused.selected);
    return;
  }
}

/** Replaces the text of a field; what is selected of it stays selected. */
export function retext(field: HTMLInputElement, text: string): void {
  if (field.value === text) return;
  const selected = document.activeElement === field ? selectedOf(field) : null;
  field.value = text;
  reselect(field, selected);
}

function selectedOf(element: HTMLElement): Selected | null {
  if (!(element instanceof HTMLInputElement) || element.selectionStart === null || element.selectionEnd === null) return null;
  const { selectionStart: from, selectionEnd: to, value } = element;
  // Of an empty field, too, so that what is typed takes the place of a value that comes just before.
  return from === 0 && to === value.length ? "all" : [from, to, element.selectionDirection ?? "none"];
}

function reselect(element: HTMLElement, selected: Selected | null): void {
  if (!(element instanceof HTMLInputElement) || selected === null) return;
  if (selected === "all") element.select();
  else element.setSelectionRange(...selected);
}

function nameOf(element: HTMLElement): string {
  return `${element.tagName} ${element.getAttribute("aria-label") ?? element.closest("label")?.querySelector("span")?.textContent ?? element.textContent ?? ""}`;
}

/** Whether somebody types in it: what is typed and not said yet stays. */
export function isTyped(element: Element): boolean {
  const focused = document.activeElement;
  return focused instanceof HTMLInputElement && element.contains(focused) && focused.type !== "checkbox" && focused.value !== focused.defaultValue;
}

/** Replaces what an element contains; who has the focus in it keeps the place. */
export function refill(element: Element, ...children: (Child | Child[])[]): void {
  const focused = leave(element);
  fill(element, ...children);
  returnTo(element, focused);
}

/** A field whose value cannot be: says why below it. */
export function complain(field: HTMLLabelElement, why: string): HTMLLabelElement {
  field.querySelector("input")?.setAttribute("aria-invalid", "true");
  field.querySelector(".missing")?.remove();
  field.append(h("span", { class: "missing", role: "alert" }, why));
  return field;
}

export function checkbox(label: Child, checked: boolean, onchange: (checked: boolean) => void, props: Props = {}): HTMLLabelElement {
  const element = h("input", { type: "checkbox", checked, ...props });
  element.addEventListener("change", () => onchange(element.checked));
  return h("label", { class: "check" }, element, h("span", null, label));
}

/** A group of buttons of which one is pressed. */
export function choice(label: string, options: Option[], value: string, onchange: (value: string) => void): HTMLDivElement {
  const group = h("div", { class: "choice", role: "group", "aria-label": label });
  for (const option of options) {
    group.append(
      button(
        option.text,
        () => {
          for (const other of group.children) other.setAttribute("aria-pressed", String(other === chosen));
          onchange(option.value);
        },
        { "aria-pressed": String(option.value === value), "data-value": option.value },
      ),
    );
    const chosen = group.lastElementChild;
  }
  return group;
}

/** A list of terms and what belongs to them. */
export function facts(entries: [string, Child | Child[]][]): HTMLDListElement {
  const list = h("dl", { class: "facts" });
  for (const [term, value] of entries) append(list, [h("dt", null, term), h("dd", null, value)]);
  return list;
}

export interface Column {
  name: string;
  numeric?: boolean;
}

/** A table with a caption that screen readers say. */
export function table(caption: string, columns: Column[], rows: Child[][], props: Props = {}): HTMLDivElement {
  const head = h("tr", null, ...columns.map((column) => h("th", { scope: "col", class: column.numeric ? "number" : undefined }, column.name)));
  const body = rows.map((row) => h("tr", null, ...row.map((cell, i) => h("td", { class: columns[i]?.numeric ? "number" : undefined }, cell))));
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", props, h("caption", null, caption), h("thead", null, head), h("tbody", null, ...body)),
  );
}

/** A number as people read it. */
export function figure(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Number(value.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits });
}

/** A number at an axis, with all digits that it has; nothing where the axis leaves one out. */
export function tick(value: number | null): string {
  if (value === null) return "";
  // Steps that are added up are off in their last digits.
  return (Number(value.toPrecision(10)) || 0).toLocaleString("en", { maximumSignificantDigits: 10 });
}

/**
 * A value with as many decimals as its interval makes sense of: two digits of the half width, as the command prints it. An interval that does not lie evenly around
 * the value, as those of percentiles, is told by its ends.
 */
export function withInterval(value: number, ends: [number, number] | null): string {
  if (!ends) return figure(value);
  const [low, high] = ends;
  const half = (high - low) / 2;
  if (half <= 1e-12) return figure(value);
  const decimals = Math.min(13, Math.max(0, 1 - Math.floor(Math.log10(half))));
  const fixed = (number: number): string => number.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).replace(/^-(?=[0.]+$)/, "");
  const even = Math.abs(high - value - (value - low)) <= 1e-6 * half;
  return even ? `${fixed(value)} ± ${fixed(half)}` : `${fixed(value)} (${fixed(low)} to ${fixed(high)})`;
}

/** The first of some names, as many as the command prints. */
export function listed(names: readonly string[]): string {
  return `${names.slice(0, 12).join(", ")}${names.length > 12 ? ` and ${names.length - 12} more` : ""}`;
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(1)}%`;
}

export function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  if (count < 1e6) return `${(count / 1e3).toFixed(1)} kB`;
  return `${(count / 1e6).toFixed(1)} MB`;
}

export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** Hands a file to the browser's download. */
export function download(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
