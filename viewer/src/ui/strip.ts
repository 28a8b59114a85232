// What the solver does while it runs: step size, order, iterations, refused steps and events, in a strip.

import { number, power, short, visible } from "../data/names";
import type { Theme } from "../scene/theme";
import { h, write } from "./dom";

/** t, steps, least and largest step, lowest and highest order, iterations, refused. */
export type Stretch = [number, number, number, number, number, number, number, number];

export interface News {
  generation: number;
  rows: number;
  t: number;
  /** Seconds on the wall. */
  wall: number;
  age: number;
  strip: Stretch[];
  events: string[];
  ended: boolean;
}

const HEIGHT = 76;
const EVENTS = 100;

export class Strip {
  readonly element: HTMLElement;
  stretches: Stretch[] = [];
  events: string[] = [];
  private readonly canvas = h("canvas", { class: "strip-chart", role: "img", "aria-label": "Step size, order and iterations over time" });
  private readonly facts: Record<string, HTMLElement> = {};
  private readonly list = h("div", { class: "strip-events", "aria-live": "polite" });
  private age = -1;
  private pending = false;

  constructor(private theme: Theme) {
    const fact = (key: string, label: string) => {
      this.facts[key] = h("dd", {}, "–");
      return [h("dt", { textContent: label }), this.facts[key]];
    };
    this.element = h("section", { class: "strip", "aria-label": "The solver at work" },
      h("dl", {}, ...fact("t", "Time"), ...fact("h", "Step"), ...fact("order", "Order"), ...fact("iterations", "Iterations"), ...fact("rejected", "Rejected"), ...fact("rate", "Speed")),
      this.canvas, this.list);
    new ResizeObserver(() => this.redraw()).observe(this.canvas);
  }

  paint(theme: Theme): void {
    this.theme = theme;
    this.redraw();
  }

  add(news: News): void {
    if (news.age !== this.age) [this.stretches, this.age] = [[], news.age];
    this.stretches.push(...news.strip);
    this.events.push(...news.events);
    const last = this.stretches[this.stretches.length - 1];
    const steps = this.stretches.reduce((n, s) => n + s[1], 0);
    const refused = this.stretches.reduce((n, s) => n + s[7], 0);
    write(this.facts.t, `${number(news.t)} s`);
    write(this.facts.rate, `${news.wall > 0 ? number(news.t / news.wall, 3) : "–"} s/s`);
    if (last) {
      write(this.facts.h, `${number(last[3], 3)} s`);
      write(this.facts.order, last[4] === last[5] ? String(last[4]) : `${last[4]} – ${last[5]}`);
      write(this.facts.iterations, `${short(+(last[6] / Math.max(1, last[1])).toFixed(2))} per step`);
      write(this.facts.rejected, `${refused} of ${steps + refused}`);
    }
    this.list.replaceChildren(...this.events.slice(-EVENTS).reverse().map((e) => h("div", {}, h("bdi", { textContent: visible(e) }))));
    this.list.hidden = this.events.length === 0;
    this.redraw();
  }

  private redraw(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw();
    });
  }

  private draw(): void {
    const { canvas, stretches, theme } = this;
    const [width, ratio] = [canvas.clientWidth, Math.min(devicePixelRatio || 1, 2)];
    if (width < 10) return;
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(HEIGHT * ratio)];
    const c = canvas.getContext("2d");
    if (!c || stretches.length === 0) return;
    c.scale(ratio, ratio);
    const left = 42;
    const first = stretches[0][0] - stretches[0][1] * stretches[0][3];
    const end = stretches[stretches.length - 1][0];
    const x = (t: number) => left + ((t - first) / (end - first || 1)) * (width - left - 4);
    let [low, high, top] = [Infinity, -Infinity, 1];
    for (const s of stretches) {
      if (s[2] > 0) [low, high] = [Math.min(low, Math.log10(s[2])), Math.max(high, Math.log10(s[3]))];
      top = Math.max(top, s[5], s[6] / Math.max(1, s[1]));
    }
    if (high - low < 1) [low, high] = [(low + high - 1) / 2, (low + high + 1) / 2];
    const y = (h: number) => 4 + (1 - (Math.log10(h) - low) / (high - low)) * (HEIGHT - 20);
    const base = HEIGHT - 12;
    c.font = "10.5px system-ui, 'Noto Sans', 'DejaVu Sans', sans-serif";
    c.textAlign = "right";
    for (let k = Math.ceil(low); k <= high; k++) {
      c.fillStyle = theme.line;
      c.fillRect(left, y(10 ** k), width - left - 4, 1);
      c.fillStyle = theme.muted;
      c.fillText(power(k), left - 5, y(10 ** k) + 3.5);
    }
    let before = first;
    for (const s of stretches) {
      const [a, b] = [x(before), Math.max(x(s[0]), x(before) + 1)];
      // iterations as bars from below, step sizes as a band, refused steps as marks, the order as a line
      c.fillStyle = theme.line;
      const bar = (s[6] / Math.max(1, s[1]) / top) * (HEIGHT - 20) * 0.5;
      c.fillRect(a, base - bar, b - a, bar);
      c.fillStyle = theme.series[0];
      if (s[2] > 0) c.fillRect(a, y(s[3]) - 1, b - a, Math.max(2, y(s[2]) - y(s[3]) + 2));
      c.fillStyle = theme.series[1];
      c.fillRect(a, base - (s[5] / top) * (HEIGHT - 20) * 0.5, b - a, 1.5);
      if (s[7] > 0) {
        c.fillStyle = theme.series[3];
        c.fillRect(a, base + 2, Math.max(2, b - a), 7);
      }
      before = s[0];
    }
  }
}
