// The accuracy report: sections of facts, tables and diagrams, beside the scene.

import { power, visible } from "../data/names";
import type { Diagram, Section } from "../data/source";
import { padded, ticks } from "../plot/ticks";
import { h } from "./dom";

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [720, 190, 66, 12, 10, 26];
const MARKS: Record<string, string> = { good: "✓", doubtful: "!", bad: "✗" };

function node(name: string, attributes: Record<string, string | number>, text?: string): SVGElement {
  const e = document.createElementNS(SVG, name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, String(v));
  if (text !== undefined) e.textContent = text;
  return e;
}

export function verdict(word: string): HTMLElement | null {
  return word ? h("span", { class: `verdict ${word}`, role: "img", "aria-label": word, title: word, textContent: MARKS[word] ?? "" }) : null;
}

/** A band from the least to the greatest value over time, with marks below. */
function diagram(d: Diagram): HTMLElement {
  const points = d.points.filter((p) => p.every(Number.isFinite) && (!d.logarithmic || p[1] > 0));
  const svg = node("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "diagram", role: "img" });
  const title = `${d.title}${d.unit ? ` in ${d.unit}` : ""}`;
  svg.setAttribute("aria-label", title);
  if (points.length > 0) {
    const f = d.logarithmic ? Math.log10 : (x: number) => x;
    let [low, high] = [Infinity, -Infinity];
    for (const [, a, b] of points) [low, high] = [Math.min(low, f(a)), Math.max(high, f(b))];
    [low, high] = d.logarithmic ? [Math.floor(low - 0.05), Math.ceil(high + 0.05)] : padded(Math.min(low, 0), high);
    const start = Math.min(0, points[0][0]);
    const end = Math.max(points[points.length - 1][0], start + 1e-300);
    const x = (t: number) => LEFT + ((t - start) / (end - start)) * (WIDTH - LEFT - RIGHT);
    const y = (v: number) => TOP + (1 - (v - low) / (high - low || 1)) * (HEIGHT - TOP - BOTTOM);
    const lines = d.logarithmic
      ? Array.from({ length: high - low + 1 }, (_, k) => low + k).filter((_, k) => k % Math.ceil((high - low) / 5) === 0).map((v) => [v, power(v)] as const)
      : (() => {
        const t = ticks(low, high, 4);
        return t.values.map((v, k) => [v, `${t.labels[k]}${t.factor}`] as const);
      })();
    for (const [v, label] of lines) {
      svg.append(node("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(v), y2: y(v), class: "rule" }), node("text", { x: LEFT - 7, y: y(v) + 4, "text-anchor": "end" }, label));
    }
    const along = ticks(start, end, 7);
    along.values.forEach((t, k) => {
      svg.append(node("line", { x1: x(t), x2: x(t), y1: TOP, y2: HEIGHT - BOTTOM, class: "rule" }));
      if (x(t) < WIDTH - RIGHT - 60) svg.append(node("text", { x: x(t), y: HEIGHT - 8, "text-anchor": "middle" }, along.labels[k]));
    });
    svg.append(node("text", { x: WIDTH - RIGHT, y: HEIGHT - 8, "text-anchor": "end" }, [along.factor, "t in s"].filter(Boolean).join(" ")));
    // each value holds since the time before
    const [upper, lower]: [string[], string[]] = [[], []];
    let before = start;
    for (const [t, a, b] of points) {
      for (const s of [before, t]) {
        upper.push(`${x(s).toFixed(1)},${y(f(b)).toFixed(1)}`);
        lower.push(`${x(s).toFixed(1)},${y(f(a)).toFixed(1)}`);
      }
      before = t;
    }
    svg.append(node("path", { d: `M${upper.join("L")}L${lower.reverse().join("L")}Z`, class: "band" }), node("path", { d: `M${upper.join("L")}`, class: "curve" }));
    for (const t of d.marks.slice(0, 2000)) svg.append(node("line", { x1: x(t), x2: x(t), y1: HEIGHT - BOTTOM - 7, y2: HEIGHT - BOTTOM, class: "mark" }));
  }
  return h("figure", {}, h("figcaption", {}, title, d.marks.length ? h("span", { class: "marked", textContent: `  ${d.marked}` }) : null), svg as unknown as Node);
}

function table(rows: string[][]): HTMLElement {
  const numeric = (k: number) => rows.slice(1).every((r) => /^[-−\d.]/.test(r[k] ?? "") || r[k] === "NaN");
  const cell = (tag: "th" | "td") => (text: string, k: number) => h(tag, { class: numeric(k) ? "number" : "" }, h("bdi", { textContent: visible(text) }));
  return h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, ...rows[0].map(cell("th")))), h("tbody", {}, ...rows.slice(1).map((r) => h("tr", {}, ...r.map(cell("td")))))));
}

/** All sections as an article. */
export function truth(model: string, sections: Section[]): HTMLElement {
  const one = (s: Section, k: number) => {
    const parts: (HTMLElement | null)[] = [h("h2", { textContent: visible(s.title) })];
    if (s.text) parts.push(h("p", { textContent: visible(s.text) }));
    if (s.facts.length) {
      parts.push(h("div", { class: "facts" }, ...s.facts.map((f) => h("div", { class: `fact ${f.verdict}` },
        h("span", { class: "what" }, verdict(f.verdict), h("bdi", { textContent: visible(f.name) })),
        h("span", { class: "is" }, h("bdi", { textContent: visible(f.value) })),
        h("span", { class: "note" }, h("bdi", { textContent: visible(f.note ?? "") }))))));
    }
    if (s.table?.length > 1) parts.push(table(s.table));
    parts.push(...(s.diagrams ?? []).map(diagram));
    if (s.code) parts.push(h("details", { class: "code" }, h("summary", { textContent: "The whole file" }), h("pre", { textContent: s.code.split("\n").map(visible).join("\n") })));
    return h("section", { class: k === 0 ? "first" : "" }, ...parts);
  };
  return h("article", { class: "truth", "aria-label": "Accuracy report", tabIndex: -1, hidden: true },
    h("div", { class: "sheet-of-paper" }, h("h1", {}, "Accuracy report ", h("bdi", { textContent: visible(model) })), ...sections.map(one)));
}
