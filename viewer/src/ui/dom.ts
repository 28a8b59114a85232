// Elements without markup: text is always text.

type Child = Node | string | null | undefined | false;
type Properties = Record<string, unknown>;

/** Makes an element; `on…` are listeners, `class`, `data-…` and `aria-…` attributes, the rest properties. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, properties: Properties = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value as EventListener);
    else if (name === "class" || name === "role" || name === "for" || name === "list" || name.includes("-")) e.setAttribute(name, String(value));
    else (e as unknown as Properties)[name] = value;
  }
  e.append(...children.filter((c): c is Node | string => c !== null && c !== undefined && c !== false));
  return e;
}

const PATHS: Record<string, string> = {
  play: "M7 4.5v15l12-7.5z",
  pause: "M7 5h3.4v14H7zM13.6 5H17v14h-3.4z",
  start: "M6 5h2.2v14H6zM19 5v14l-9.5-7z",
  end: "M15.800 5H18v14h-2.2zM5 5v14l9.500-7z",
  back: "M16 5v14L7 12z",
  forward: "M8 5v14l9-7z",
};
const STROKES: Record<string, string> = {
  loop: "M17 3l3 3-3 3M20 6H8a4 4 0 0 0-4 4v1M7 21l-3-3 3-3M4 18h12a4 4 0 0 0 4-4v-1",
  fit: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.400 1.400M17.600 17.600L19 19M5 19l1.400-1.400M17.600 6.400L19 5",
  moon: "M20 14.500A8.500 8.500 0 1 1 9.500 4 7 7 0 0 0 20 14.500z",
  help: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M9.500 9.500a2.500 2.500 0 1 1 3.500 2.300c-.700.300-1 .800-1 1.700M12 16.700v.1",
  camera: "M4 8h3l2-3h6l2 3h3v11H4zM12 16.500a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7",
  close: "M6 6l12 12M18 6L6 18",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  eye: "M2.500 12S6 5.500 12 5.500 21.500 12 21.500 12 18 18.500 12 18.500 2.500 12 2.500 12zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6",
  shut: "M3 5l18 14M9.500 6c.800-.300 1.600-.500 2.500-.500 6 0 9.500 6.500 9.500 6.500a17 17 0 0 1-3 3.700M14 14.500a3 3 0 0 1-4.200-4.200M6.500 8A16 16 0 0 0 2.500 12S6 18.500 12 18.500c1.200 0 2.300-.300 3.300-.700",
  save: "M12 4v11M7.500 11L12 15.500 16.500 11M4 19h16",
  panel: "M4 5h16v14H4zM15 5v14",
  plot: "M4 4v16h16M7 15l4-5 3 3 5-7",
  cube: "M12 3l8 4.500v9L12 21l-8-4.500v-9zM4 7.500l8 4.500 8-4.500M12 12v9",
  follow: "M3 12h11M10 7l5 5-5 5M19 5v14",
  target: "M12 19a7 7 0 1 0 0-14 7 7 0 0 0 0 14M12 2v5M12 17v5M2 12h5M17 12h5",
};

const SVG = "http://www.w3.org/2000/svg";

export function icon(name: string): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", "icon");
  const path = document.createElementNS(SVG, "path");
  const solid = PATHS[name];
  path.setAttribute("d", solid ?? STROKES[name] ?? "");
  path.setAttribute("class", solid ? "solid" : "stroke");
  svg.append(path);
  return svg;
}

/** A button with an icon, a name for those who do not see it, and its key. */
export function button(name: string, label: string, key: string, press: () => void): HTMLButtonElement {
  const title = key ? `${label}  (${key})` : label;
  return h("button", { type: "button", class: "tool", title, "aria-label": label, onclick: press }, icon(name));
}

/** Sets a text only when it changes: the page is not laid out again for nothing. */
export function write(e: Node, text: string): void {
  if (e.textContent !== text) e.textContent = text;
}

/** Offers a file. */
export function download(name: string, data: Blob): void {
  const url = URL.createObjectURL(data);
  const safe = name.replace(/[^\p{L}\p{N}._ -]+/gu, "_").slice(0, 80) || "bellcrank";
  h("a", { href: url, download: safe }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
