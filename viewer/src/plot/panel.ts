// The plots under the scene: channels of one unit each over time, over another channel or as spectra, linked to the time cursor.

import { number, visible } from "../data/names";
import type { Results } from "../data/results";
import { type Run, sameChannel } from "../data/runs";
import type { Theme } from "../scene/theme";
import { button, download, h, write } from "../ui/dom";
import { type Axes, type Chart, LEFT, RIGHT, draw, tOf, xOf } from "./chart";
import { type Along, type Range, curves, curvesOf, rowsOf } from "./curves";
import { CanvasPen, SvgPen } from "./pen";

/** Bounds of the height of a chart. */
const LOW = 130;
const HIGH = 420;
/** So many curves fit into one plot, and so many plots onto the page. */
const CURVES = 16;
const PLOTS = 24;

interface Plot {
  columns: number[];
  along: Along;
  axis: HTMLSelectElement;
  /** Where each curve is at the present time, in a plot over another channel. */
  spots: HTMLElement[];
  element: HTMLElement;
  canvas: HTMLCanvasElement;
  cursor: HTMLElement;
  ghost: HTMLElement;
  brush: HTMLElement;
  legend: HTMLElement;
  values: HTMLElement[];
  axes: Axes | null;
  width: number;
}

/** Values are told so often while time runs (milliseconds). */
const TELL = 80;

export class PlotPanel {
  readonly element = h("section", { class: "plots", "aria-label": "Plots" });
  private readonly list = h("div", { class: "plot-list" });
  private readonly empty = h("p", { class: "hint" }, "Choose a body, a joint or a channel to see its values over time here.");
  private plots: Plot[] = [];
  private range: Range = { from: 0, to: 1 };
  private zoomed = false;
  private t = 0;
  private hover: number | null = null;
  private pending = false;
  private height = LOW;
  private told = 0;
  onSeek: (t: number) => void = () => undefined;
  onChange: () => void = () => undefined;
  private runs: Run[] = [];

  constructor(private readonly results: Results, private theme: Theme) {
    this.element.append(this.list, this.empty);
    const watch = new ResizeObserver(() => this.redraw());
    watch.observe(this.list);
    watch.observe(this.element);
    this.reset();
  }

  /** Draws other runs beside this one. */
  beside(runs: Run[]): void {
    this.runs = runs;
    this.plots.forEach((p) => {
      this.label(p);
      this.read(p);
    });
    if (!this.zoomed) this.reset();
    this.redraw();
  }

  private get shown(): Run[] {
    return this.runs.filter((r) => r.shown);
  }

  /** When the first of the runs begins, and the last ends. */
  private span(): [number, number] {
    const all = [this.results, ...this.runs.map((r) => r.results)].map((r) => r.times).filter((times) => times.length > 0);
    if (!all.length) return [0, 1];
    return [Math.min(...all.map((times) => times[0])), Math.max(...all.map((times) => times[times.length - 1]))];
  }

  /** Shows the whole time. */
  reset(): void {
    const [from, to] = this.span();
    this.range = to > from ? { from, to } : { from: from - 0.5, to: from + 0.5 };
    this.zoomed = false;
    this.redraw();
  }

  /** There are more rows. */
  extend(): void {
    if (!this.zoomed) this.reset();
    this.plots.forEach((p) => this.read(p));
  }

  paint(theme: Theme): void {
    this.theme = theme;
    this.plots.forEach((p) => this.label(p));
    this.redraw();
  }

  /** Whether a column is plotted, and its colour. */
  colour(column: number): string | null {
    for (const p of this.plots) {
      const k = p.columns.indexOf(column);
      if (k >= 0) return this.theme.series[k % this.theme.series.length];
    }
    return null;
  }

  toggle(column: number): void {
    const p = this.plots.find((p) => p.columns.includes(column));
    if (p) this.drop(p, column);
    else this.add([column]);
  }

  /** Adds columns: to a plot of the same unit, which is brought into sight, or to a new one. The first ones of a page are `fresh`. */
  add(columns: number[], fresh = false): void {
    const made = new Set<Plot>();
    let own: Plot | undefined;
    for (const c of columns) {
      if (this.plots.some((p) => p.columns.includes(c))) continue;
      const unit = this.results.unit(c);
      const fits = (p: Plot) => this.results.unit(p.columns[0]) === unit && p.columns.length < CURVES;
      let plot = fresh ? (own && fits(own) ? own : undefined) : this.plots.find(fits);
      if (!plot) {
        if (this.plots.length >= PLOTS) break;
        plot = this.make();
        own = plot;
      }
      plot.columns.push(c);
      made.add(plot);
    }
    made.forEach((p) => {
      this.label(p);
      this.read(p);
    });
    this.changed();
    if (!fresh) [...made].at(-1)?.element.scrollIntoView({ block: "nearest" });
  }

  clear(): void {
    this.plots.forEach((p) => p.element.remove());
    this.plots = [];
    this.changed();
  }

  private changed(): void {
    this.empty.hidden = this.plots.length > 0;
    this.offer();
    this.redraw();
    this.onChange();
  }

  private drop(plot: Plot, column: number): void {
    plot.columns = plot.columns.filter((c) => c !== column);
    if (plot.columns.length === 0) this.remove(plot);
    else this.label(plot);
    this.changed();
  }

  private remove(plot: Plot): void {
    plot.element.remove();
    this.plots = this.plots.filter((p) => p !== plot);
    this.changed();
  }

  private make(): Plot {
    const canvas = h("canvas", { class: "chart", tabIndex: 0, role: "img" });
    const cursor = h("div", { class: "cursor" });
    const ghost = h("div", { class: "cursor ghost", hidden: true });
    const brush = h("div", { class: "brush", hidden: true });
    const legend = h("div", { class: "legend" });
    const frame = h("div", { class: "chart-frame" }, canvas, brush, ghost, cursor);
    const axis = h("select", { class: "axis-choice", title: "Horizontal axis", "aria-label": "Horizontal axis", onchange: () => {
      this.over(plot, axis.value === "frequency" ? "frequency" : Number(axis.value));
    } });
    const plot: Plot = { columns: [], along: 0, axis, spots: [], element: h("div", { class: "plot" }), canvas, cursor, ghost, brush, legend, values: [], axes: null, width: 0 };
    const save = h("select", { class: "save", title: "Save this plot", "aria-label": "Save this plot", onchange: () => {
      this.save(plot, save.value);
      save.value = "";
    } }, h("option", { value: "", textContent: "Save…" }), ...["PNG", "SVG", "CSV"].map((f) => h("option", { value: f, textContent: f })));
    const tools = h("div", { class: "plot-tools" },
      axis,
      button("fit", "Show the whole time", "double click", () => this.reset()),
      save,
      button("close", "Remove this plot", "", () => this.remove(plot)));
    plot.element.append(h("div", { class: "plot-head" }, legend, tools), frame);
    this.listen(plot, frame);
    this.list.append(plot.element);
    this.plots.push(plot);
    return plot;
  }

  /** Draws a plot over something else. */
  over(plot: Plot, along: Along): void {
    plot.along = along;
    plot.element.classList.toggle("not-time", along !== 0);
    this.label(plot);
    this.read(plot);
    this.changed();
  }

  /** What plots can be drawn over: time, frequency, and every channel that is plotted. */
  private offer(): void {
    const columns = [...new Set(this.plots.flatMap((p) => [...p.columns, typeof p.along === "number" ? p.along : 0]))].filter((c) => c > 0);
    const option = (value: string, textContent: string) => h("option", { value, textContent });
    for (const p of this.plots) {
      p.axis.replaceChildren(option("0", "over time"), option("frequency", "spectrum"), ...columns.map((c) => option(String(c), `over ${visible(this.results.name(c))}`)));
      p.axis.value = String(p.along);
    }
  }

  private label(plot: Plot): void {
    plot.spots.forEach((e) => e.remove());
    plot.spots = plot.columns.map((_, k) => {
      const spot = h("div", { class: "spot", hidden: true });
      spot.style.background = this.theme.series[k % this.theme.series.length];
      return spot;
    });
    plot.canvas.after(...plot.spots);
    plot.values = plot.columns.map(() => h("span", { class: "value" }));
    plot.legend.replaceChildren(...plot.columns.map((c, k) => {
      const swatch = h("span", { class: "swatch" });
      swatch.style.background = this.theme.series[k % this.theme.series.length];
      const name = visible(this.results.name(c));
      return h("button", { type: "button", class: "entry", title: `${name}: remove from the plot`, onclick: () => this.drop(plot, c) },
        swatch, h("bdi", { textContent: name }), plot.values[k]);
    }));
    plot.canvas.setAttribute("aria-label", `Plot of ${plot.columns.map((c) => visible(this.results.name(c))).join(", ")} ${this.overWhat(plot)}`);
    this.update();
  }

  private overWhat(plot: Plot): string {
    if (plot.along === "frequency") return "as spectrum";
    return `over ${plot.along === 0 ? "time" : visible(this.results.name(plot.along))}`;
  }

  private read(plot: Plot): void {
    for (const read of this.needed(plot)) read.then(() => this.redraw(), () => undefined);
  }

  /** The columns that a plot needs, of all runs. */
  private needed(plot: Plot): Promise<Float64Array>[] {
    const columns = typeof plot.along === "number" ? [plot.along, ...plot.columns] : plot.columns;
    const others = this.shown.flatMap(({ results }) => columns.map((c) => sameChannel(this.results, c, results)).filter((c) => c >= 0).map((c) => results.column(c)));
    return [...columns.map((c) => this.results.column(c)), ...others];
  }

  /** Draws all plots at the next frame. */
  redraw(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.measure();
      this.plots.forEach((p) => this.drawOne(p));
      this.update();
    });
  }

  /** Gives the charts the height that the panel has for them. */
  private measure(): void {
    const rows = new Set(this.plots.map((p) => p.element.offsetTop)).size || 1;
    const heads = Math.max(0, ...this.plots.map((p) => (p.element.firstElementChild as HTMLElement).offsetHeight));
    this.height = Math.min(Math.max(Math.floor(this.element.clientHeight / rows) - heads - 2, LOW), HIGH);
  }

  private chart(plot: Plot, legend = false): Chart {
    const width = plot.canvas.parentElement?.clientWidth || 600;
    return { columns: plot.columns, width, height: this.height, top: 8, along: plot.along, range: this.range, theme: this.theme, legend, label: this.results.status.folder, beside: this.shown };
  }

  private drawOne(plot: Plot): void {
    const chart = this.chart(plot);
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const { canvas } = plot;
    const [w, t] = [Math.round(chart.width * ratio), Math.round(chart.height * ratio)];
    if (canvas.width !== w || canvas.height !== t) [canvas.width, canvas.height] = [w, t];
    canvas.style.height = `${chart.height}px`;
    plot.width = chart.width;
    const context = canvas.getContext("2d");
    if (!context) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    plot.axes = draw(new CanvasPen(context), this.results, chart);
  }

  /** The time has moved. */
  seek(t: number, playing: boolean): void {
    this.t = t;
    this.update(playing);
  }

  private update(playing = false): void {
    const at = this.hover ?? this.t;
    // letters that change make the browser lay out the page: not at every frame
    const told = !playing || performance.now() - this.told > TELL;
    if (told) this.told = performance.now();
    for (const p of this.plots) {
      const { width } = p;
      if (!width) continue;
      if (p.along !== 0) {
        this.updateOther(p, told);
        continue;
      }
      p.spots.forEach((e) => (e.hidden = true));
      const place = (e: HTMLElement, t: number) => {
        const x = xOf({ width, range: this.range }, t);
        e.hidden = x < LEFT - 1 || x > width - RIGHT + 1;
        e.style.transform = `translateX(${Math.round(x)}px)`;
      };
      place(p.cursor, this.t);
      if (this.hover === null) p.ghost.hidden = true;
      else place(p.ghost, this.hover);
      if (told) p.values.forEach((e, k) => write(e, this.inWords(p.columns[k], at)));
    }
  }

  /** The same where the horizontal axis is not time: a spot on each curve, or the frequency of its peak. */
  private updateOther(p: Plot, told: boolean): void {
    p.cursor.hidden = p.ghost.hidden = true;
    const { along, axes } = p;
    p.spots.forEach((e, k) => {
      const v = this.results.value(p.columns[k], this.t);
      const u = typeof along === "number" ? this.results.value(along, this.t) : undefined;
      e.hidden = !axes || u === undefined || v === undefined || !axes.drawn.values[k] || !Number.isFinite(u + v);
      if (!e.hidden && axes) e.style.transform = `translate(${axes.x(u as number).toFixed(1)}px, ${axes.y(v as number).toFixed(1)}px)`;
    });
    if (!told) return;
    p.values.forEach((e, k) => write(e, along === "frequency" ? this.peak(p, k) : this.inWords(p.columns[k], this.t)));
  }

  /** The values of a channel at a time, that of the first run first; – where a run has none then. */
  private inWords(column: number, t: number): string {
    if (!this.shown.length) return this.results.told(column, t);
    const of = (results: Results, c: number) => (c >= 0 && results.covers(t) ? results.told(c, t) : "–");
    return [of(this.results, column), ...this.shown.map(({ results }) => of(results, sameChannel(this.results, column, results)))].join("  |  ");
  }

  /** The frequency with the largest amplitude. */
  private peak(p: Plot, k: number): string {
    const [values, x] = [p.axes?.drawn.values[k], p.axes?.drawn.x];
    if (!values?.length || !x) return "…";
    let top = 0;
    for (let i = 1; i < values.length; i++) if (values[i] > values[top]) top = i;
    return values[top] > 0 ? `peak at ${number(x[top], 4)} Hz` : "";
  }

  /** Goes to the time at which a curve comes closest to a place. */
  private seekNear(p: Plot, x: number, y: number): void {
    if (!p.axes || p.along === "frequency") return;
    const { drawn } = p.axes;
    let [best, row] = [Infinity, -1];
    for (const values of drawn.values) {
      if (!values) continue;
      for (let i = drawn.first; i < drawn.end; i++) {
        const d = (p.axes.x(drawn.x[i]) - x) ** 2 + (p.axes.y(values[i]) - y) ** 2;
        if (d < best) [best, row] = [d, i];
      }
    }
    if (row >= 0) this.onSeek(this.results.times[row]);
  }

  private zoomBy(factor: number, about: number): void {
    const { from, to } = this.range;
    const [start, end] = this.span();
    const least = Math.max(1e-12 * Math.abs(to), (end - start) * 1e-7);
    const centre = Math.min(Math.max(about, from), to);
    const next = { from: centre - (centre - from) * factor, to: centre + (to - centre) * factor };
    if (next.to - next.from < least) return;
    this.setRange(next);
  }

  private setRange(next: Range): void {
    const [start, end] = this.span();
    if (!(end > start)) return;
    const span = Math.min(next.to - next.from, end - start);
    const from = Math.min(Math.max(next.from, start), end - span);
    this.range = { from, to: from + span };
    this.zoomed = span < (end - start) * (1 - 1e-9);
    this.redraw();
  }

  private listen(plot: Plot, frame: HTMLElement): void {
    let drag: { x: number; how: "seek" | "zoom" | "pan" | null; range: Range } | null = null;
    const width = () => plot.canvas.clientWidth;
    const xAt = (e: PointerEvent | WheelEvent | MouseEvent) => e.clientX - frame.getBoundingClientRect().left;
    const tAt = (x: number) => tOf({ width: width(), range: this.range }, Math.min(Math.max(x, LEFT), width() - RIGHT));
    frame.addEventListener("pointerdown", (e) => {
      if (e.button !== 0) return;
      if (plot.along !== 0) return this.seekNear(plot, xAt(e), e.clientY - frame.getBoundingClientRect().top);
      const x = xAt(e);
      const near = Math.abs(x - xOf({ width: width(), range: this.range }, this.t)) < 7;
      drag = { x, how: near || e.pointerType === "touch" ? "seek" : e.shiftKey ? "pan" : null, range: { ...this.range } };
      frame.setPointerCapture(e.pointerId);
    });
    frame.addEventListener("pointermove", (e) => {
      if (plot.along !== 0) return;
      const x = xAt(e);
      this.hover = e.pointerType === "touch" ? null : tAt(x);
      if (drag) {
        if (drag.how === null && Math.abs(x - drag.x) > 4) drag.how = "zoom";
        if (drag.how === "seek") this.onSeek(tAt(x));
        if (drag.how === "pan") {
          const per = (drag.range.to - drag.range.from) / (width() - LEFT - RIGHT);
          this.setRange({ from: drag.range.from - (x - drag.x) * per, to: drag.range.to - (x - drag.x) * per });
        }
        if (drag.how === "zoom") {
          const [a, b] = [Math.min(x, drag.x), Math.max(x, drag.x)].map((v) => Math.min(Math.max(v, LEFT), width() - RIGHT));
          plot.brush.hidden = false;
          plot.brush.style.transform = `translateX(${a}px)`;
          plot.brush.style.width = `${b - a}px`;
        }
      }
      frame.classList.toggle("at-cursor", Math.abs(x - xOf({ width: width(), range: this.range }, this.t)) < 7);
      this.update();
    });
    const end = (e: PointerEvent) => {
      if (!drag) return;
      const { x, how } = drag;
      drag = null;
      plot.brush.hidden = true;
      if (e.type === "pointercancel") return;
      if (how === null) this.onSeek(tAt(x));
      if (how === "zoom") {
        const [a, b] = [tAt(x), tAt(xAt(e))].sort((p, q) => p - q);
        if (b > a) this.setRange({ from: a, to: b });
      }
    };
    frame.addEventListener("pointerup", end);
    frame.addEventListener("pointercancel", end);
    frame.addEventListener("pointerleave", () => {
      this.hover = null;
      this.update();
    });
    frame.addEventListener("dblclick", () => this.reset());
    plot.canvas.addEventListener("keydown", (e) => {
      const factor = { "+": 0.5, "=": 0.5, "-": 2 }[e.key];
      if (factor === undefined && e.key !== "0") return;
      e.stopPropagation();
      if (factor === undefined) this.reset();
      else this.zoomBy(factor, this.t);
    });
    frame.addEventListener("wheel", (e) => {
      if (plot.along !== 0) return;
      e.preventDefault();
      const sideways = Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey;
      const delta = (e.deltaX || e.deltaY) * (e.deltaMode === 1 ? 16 : 1);
      if (sideways) {
        const per = (this.range.to - this.range.from) / width();
        this.setRange({ from: this.range.from + delta * per, to: this.range.to + delta * per });
      } else this.zoomBy(Math.exp(Math.max(-1, Math.min(1, e.deltaY * (e.deltaMode === 1 ? 16 : 1) * 0.0018))), tAt(xAt(e)));
    }, { passive: false });
  }

  /** What is plotted: for tests and for saving. */
  describe(): { columns: number[]; names: string[]; unit: string; along: string; bounds: Range; range: Range; values: (number | undefined)[]; told: string[]; beside: (number | undefined)[][] }[] {
    return this.plots.map((p) => ({
      columns: [...p.columns], names: p.columns.map((c) => this.results.name(c)), unit: this.results.unit(p.columns[0]), along: this.overWhat(p),
      bounds: p.axes?.bounds ?? { from: 0, to: 1 }, range: { ...(p.along === 0 ? this.range : p.axes?.range ?? this.range) }, values: p.columns.map((c) => this.results.value(c, this.t)),
      told: p.values.map((e) => e.textContent ?? ""),
      beside: this.shown.map(({ results }) => p.columns.map((c) => results.value(sameChannel(this.results, c, results), this.t))),
    }));
  }

  /** Draws the plot with this number over a channel, time or frequency. */
  setAxis(k: number, along: Along): void {
    if (this.plots[k]) this.over(this.plots[k], along);
  }

  /** A plot as a file. */
  async file(k: number, format: string): Promise<Blob | null> {
    const plot = this.plots[k];
    if (!plot) return null;
    await Promise.all(this.needed(plot));
    const chart = { ...this.chart(plot, true), height: 300 };
    if (format === "SVG") {
      const pen = new SvgPen(chart.width, chart.height);
      draw(pen, this.results, chart);
      return new Blob([pen.toString()], { type: "image/svg+xml" });
    }
    if (format === "PNG") {
      const canvas = h("canvas", { width: 2 * chart.width, height: 2 * chart.height });
      const context = canvas.getContext("2d");
      if (!context) return null;
      context.scale(2, 2);
      draw(new CanvasPen(context), this.results, chart);
      return new Promise((done) => canvas.toBlob(done, "image/png"));
    }
    return new Blob([this.csv(plot)], { type: "text/csv" });
  }

  /** The rows in view, as in results.csv; of a spectrum the frequencies and amplitudes. */
  private csv(plot: Plot): string {
    const { results } = this;
    const quoted = (field: string) =>
      field === "" || /[,"\n\r]|^[=+\-@\t ]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
    const shown = (x: number) => (Number.isFinite(x) ? (Number.isInteger(x) && Math.abs(x) < 1e15 ? (Object.is(x, -0) ? "-0.0" : `${x}.0`) : String(x)) : Number.isNaN(x) ? "NaN" : x > 0 ? "inf" : "-inf");
    // the tables of all runs side by side: their times differ
    const of = (run: Results, tag: string) => {
      const label = (c: number) => quoted(`${results.name(c)}${tag}${results.unit(c) ? ` [${results.unit(c)}]` : ""}`);
      if (plot.along === "frequency") {
        const drawn = run === results ? curves(results, plot.columns, "frequency", this.range) : curvesOf(run, results, plot.columns, "frequency", this.range);
        const lists = drawn ? [drawn.x, ...drawn.values.map((v) => v ?? [])] : [];
        return { head: [quoted(`frequency${tag} [Hz]`), ...plot.columns.map(label)], lists, first: 0, end: drawn?.end ?? 0 };
      }
      const columns = [...new Set([0, plot.along, ...plot.columns])].filter((c) => sameChannel(results, c, run) >= 0);
      const lists = columns.map((c) => run.here(sameChannel(results, c, run)) ?? new Float64Array(0));
      const [first, end] = this.zoomed ? rowsOf(run, this.range) : [0, run.rows];
      return { head: columns.map(label), lists, first, end };
    };
    const tables = [of(results, ""), ...this.shown.map((r) => of(r.results, ` (${r.label})`))];
    const lines = [tables.flatMap((t) => t.head).join(",")];
    for (let i = 0; tables.some((t) => t.first + i < t.end); i++) {
      lines.push(tables.flatMap((t) => t.lists.map((v) => (t.first + i < t.end ? shown(v[t.first + i]) : ""))).join(","));
    }
    return `${lines.join("\n")}\n`;
  }

  private async save(plot: Plot, format: string): Promise<void> {
    const k = this.plots.indexOf(plot);
    const data = format ? await this.file(k, format) : null;
    if (data) download(`${visible(this.results.name(plot.columns[0]))}.${format.toLowerCase()}`, data);
  }
}
