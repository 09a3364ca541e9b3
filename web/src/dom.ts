// Elements without a framework: what is not given is not set.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

const SVG = "http://www.w3.org/2000/svg";

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child) element.append(child);
}

/** An HTML element. Functions among the attributes are listeners. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

/** An SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  fill(element, attributes, children);
  return element;
}

/** The element with this id; the page has it. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element as T;
}

/** A button that copies a text and says so. */
export function copyButton(text: () => string, what: string, title = "Copy"): HTMLButtonElement {
  const button = h("button", { type: "button", class: "copy", "aria-label": `${title} ${what}` }, title);
  let timer = 0;
  const say = (words: string) => {
    button.textContent = words;
    clearTimeout(timer);
    timer = window.setTimeout(() => (button.textContent = title), 1600);
  };
  button.addEventListener("click", () => {
    copy(text()).then(
      () => say("Copied"),
      () => say("Not allowed"),
    );
  });
  return button;
}

async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Pages from a folder have no clipboard of their own.
  const area = h("textarea", { class: "offscreen", readonly: true });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("the browser refuses to copy");
}

let announcer = 0;

/** Says something to screen readers, once it has stopped changing. */
export function announce(text: string): void {
  clearTimeout(announcer);
  announcer = window.setTimeout(() => (byId("announcer").textContent = text), 400);
}

/** Calls `work` once its caller has been quiet for a while. */
export function debounce(milliseconds: number, work: () => void): () => void {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = window.setTimeout(work, milliseconds);
  };
}
