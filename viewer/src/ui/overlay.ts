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

export class Overlay {
  readonly element = h("div", { class: "overlay" });
  private readonly labels = h("div", { class: "labels", "aria-hidden": "true" });
  private readonly tip = h("div", { class: "tip", hidden: true });
  private readonly bar = h("span", { class: "scale-bar" });
  private readonly barText = h("span", { class: "scale-text" });
  private readonly cross: SVGSVGElement;
  private readonly arms: { line: SVGLineElement; text: SVGTextElement }[] = [];
  private tags: { pick: number; element: HTMLElement }[] = [];

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
    this.labels.replaceChildren();
    this.tags = [];
    if (!on) return;
    const { entities } = this.stage;
    const order = entities.map((_, i) => i).filter((i) => entities[i].kind !== "force" || entities.length < 40);
    this.tags = order.slice(0, LABELS).map((pick) => {
      const element = h("span", { class: `label ${entities[pick].kind}` }, h("bdi", { textContent: visible(entities[pick].name) }));
      this.labels.append(element);
      return { pick, element };
    });
    this.update();
  }

  point(x: number, y: number, text: string | null): void {
    this.tip.hidden = text === null;
    if (text === null) return;
    write(this.tip, text);
    this.tip.style.transform = `translate(${x + 14}px, ${y + 14}px)`;
  }

  /** After every drawing. */
  update(): void {
    const { stage } = this;
    for (const { pick, element } of this.tags) {
      const at = stage.where(pick);
      const p = at && stage.project(at);
      element.hidden = !p;
      const below = stage.entities[pick].kind !== "body";
      if (p) element.style.transform = `translate(${(p[0] + 9).toFixed(1)}px, ${(p[1] + (below ? 5 : -23)).toFixed(1)}px)`;
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
    write(this.barText, stage.flat ? length(step) : `≈ ${length(step)}`);
  }
}
