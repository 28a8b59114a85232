// What lies over the scene: names, the axes in the corner, the scale, the name under the pointer.

import { visible } from "../data/names";
import type { Stage } from "../scene/stage";
import type { Theme } from "../scene/theme";
import { h, write } from "./dom";

const LABELS = 120;
const SVG = "http://www.w3.org/2000/svg";

const PREFIXES: [number, string][] = [[1e3, "km"], [1, "m"], [1e-2, "cm"], [1e-3, "mm"], [1e-6, "µm"]];

function length(x: number): string {
  const [size, unit] = PREFIXES.find(([size]) => x >= size * 0.999) ?? PREFIXES[PREFIXES.length - 1];
  return `${+(x / size).toPrecision(3)} ${unit}`;
}

/** A force or moment with three digits. */
function withPrefix(x: number, unit: string): string {
  const [size, prefix] = ([[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"]] as [number, string][]).find(([size]) => x >= size * 0.9995) ?? [1, ""];
  return `${+(x / size).toPrecision(3)} ${prefix}${unit}`;
}

type Rectangle = [left: number, top: number, right: number, bottom: number];

/** Where a label may stand beside its point: right above, right below, left above, left below. */
const PLACES: [side: number, up: boolean][] = [[1, true], [1, false], [-1, true], [-1, false]];
/** So many arrows have numbers. */
const SIZES = 60;

/** Puts a label beside a point where no other stands; hides it where there is no room. */
function place(element: HTMLElement, p: ArrayLike<number> | null | undefined, width: number, taken: Rectangle[], places: typeof PLACES): void {
  const free = p && places.map(([side, up]): Rectangle => {
    const [left, top] = [side > 0 ? p[0] + 9 : p[0] - 9 - width, p[1] + (up ? -23 : 5)];
    return [left, top, left + width, top + 18];
  }).find((r) => taken.every((t) => r[2] < t[0] || r[0] > t[2] || r[3] < t[1] || r[1] > t[3]));
  element.hidden = !free;
  if (!free) return;
  taken.push(free);
  element.style.transform = `translate(${free[0].toFixed(1)}px, ${free[1].toFixed(1)}px)`;
}

export class Overlay {
  readonly element = h("div", { class: "overlay" });
  private readonly labels = h("div", { class: "labels", "aria-hidden": "true" });
  private readonly tip = h("div", { class: "tip", hidden: true });
  private readonly bar = h("span", { class: "scale-bar" });
  private readonly barText = h("span", { class: "scale-text" });
  private readonly cross: SVGSVGElement;
  private readonly arms: { line: SVGLineElement; text: SVGTextElement }[] = [];
  private tags: { pick: number; element: HTMLElement; width: number }[] = [];
  private readonly sizes: HTMLElement[] = [];

  constructor(private readonly stage: Stage) {
    this.cross = document.createElementNS(SVG, "svg");
    this.cross.setAttribute("class", "cross");
    this.cross.setAttribute("viewBox", "-34 -34 68 68");
    this.cross.setAttribute("aria-hidden", "true");
    for (const name of ["x", "y", "z"]) {
      const line = document.createElementNS(SVG, "line");
      const text = document.createElementNS(SVG, "text");
      text.textContent = name;
      line.setAttribute("class", `axis ${name}`);
      text.setAttribute("class", `axis ${name}`);
      this.cross.append(line, text);
      this.arms.push({ line, text });
    }
    this.element.append(this.labels, this.cross, h("div", { class: "scale" }, this.bar, this.barText), this.tip);
  }

  paint(theme: Theme): void {
    ["x", "y", "z"].forEach((a, k) => {
      const colour = theme.grid[a as "x" | "y" | "z"];
      this.arms[k].line.style.stroke = colour;
      this.arms[k].text.style.fill = colour;
    });
  }

  /** Writes names beside the entities. */
  showLabels(on: boolean): void {
    this.tags.forEach((tag) => tag.element.remove());
    this.tags = [];
    if (on) {
      const { entities } = this.stage;
      const order = entities.map((_, i) => i).filter((i) => entities[i].kind !== "force" || entities.length < 40);
      this.tags = order.slice(0, LABELS).map((pick) => {
        const element = h("span", { class: `label ${entities[pick].kind}` }, h("bdi", { textContent: visible(entities[pick].name) }));
        this.labels.append(element);
        return { pick, element, width: 0 };
      });
      for (const tag of this.tags) tag.width = tag.element.offsetWidth;
    }
    this.update();
  }

  point(x: number, y: number, text: string | null): void {
    this.tip.hidden = text === null;
    if (text === null) return;
    write(this.tip, text);
    this.tip.style.transform = `translate(${x + 14}px, ${y + 14}px)`;
  }

  /** How large the forces and moments of the arrows are, at their tips. */
  private writeSizes(taken: Rectangle[]): void {
    const arrows = this.stage.drawnArrows.length <= SIZES ? this.stage.drawnArrows : [];
    while (this.sizes.length < arrows.length) {
      const element = h("span", { class: "label size" });
      this.labels.append(element);
      this.sizes.push(element);
    }
    this.sizes.forEach((element, k) => {
      if (!arrows[k]) return void (element.hidden = true);
      const text = withPrefix(arrows[k].size, arrows[k].moment ? "N m" : "N");
      write(element, text);
      element.classList.toggle("moment", arrows[k].moment);
      place(element, this.stage.project(arrows[k].tip), 12 + 6.4 * text.length, taken, PLACES);
    });
  }

  /** After every drawing. */
  update(): void {
    const { stage } = this;
    const taken: Rectangle[] = [];
    this.writeSizes(taken);
    for (const { pick, element, width } of this.tags) {
      const at = stage.where(pick);
      place(element, at && stage.project(at), width, taken, stage.entities[pick].kind === "body" ? PLACES : [...PLACES].reverse());
    }
    stage.axes().forEach(([x, y, z], k) => {
      const { line, text } = this.arms[k];
      line.setAttribute("x2", (x * 20).toFixed(1));
      line.setAttribute("y2", (y * 20).toFixed(1));
      text.setAttribute("x", (x * 27).toFixed(1));
      text.setAttribute("y", (y * 27 + 3.5).toFixed(1));
      const gone = Math.abs(z) > 0.995;
      line.style.opacity = text.style.opacity = gone ? "0" : "1";
    });
    const per = stage.perPixel;
    const raw = per * 110;
    const decade = 10 ** Math.floor(Math.log10(raw));
    const step = [5, 2, 1].map((s) => s * decade).find((s) => s <= raw) ?? decade;
    this.bar.style.width = `${(step / per).toFixed(1)}px`;
    const force = stage.forceOf(step);
    const arrow = force === null ? "" : ` ↔ ${withPrefix(force, "N")}`;
    write(this.barText, `${stage.flat ? "" : "≈ "}${length(step)}${arrow}`);
  }
}
