// Draws channels with a pen: over time, over another channel, or over frequency.

import { visible } from "../data/names";
import type { Results } from "../data/results";
import type { Theme } from "../scene/theme";
import { type Along, type Curves, type Range, bounds, curves, curvesOf } from "./curves";
import type { Pen } from "./pen";
import { padded, ticks } from "./ticks";

/** The place of the axes within the chart. */
export const LEFT = 62;
export const RIGHT = 14;
export const BOTTOM = 22;

/** How the curves of each run are dashed: those of the first are whole. */
export const DASHES: number[][] = [[], [7, 4], [2, 3.5], [10, 3, 2, 3]];

/** A run whose curves are drawn. */
export interface Drawn { label: string; results: Results }

export interface Chart {
  columns: number[];
  /** Runs beside the first, which have their curves in the same axes. */
  beside: Drawn[];
  width: number;
  height: number;
  /** Room above the axes, for a legend. */
  top: number;
  /** The horizontal axis. */
  along: Along;
  /** The time that is shown, or that the curves are of. */
  range: Range;
  theme: Theme;
  /** Writes the names into the picture: for exports. */
  legend: boolean;
  /** The name of the run. */
  label: string;
}

export function xOf(chart: Pick<Chart, "width" | "range">, t: number): number {
  const { from, to } = chart.range;
  return LEFT + ((t - from) / (to - from || 1)) * (chart.width - LEFT - RIGHT);
}

export function tOf(chart: Pick<Chart, "width" | "range">, x: number): number {
  const { from, to } = chart.range;
  return from + ((x - LEFT) / (chart.width - LEFT - RIGHT || 1)) * (to - from);
}

/** Where the curves were drawn. */
export interface Axes {
  /** Of the vertical axis. */
  bounds: Range;
  /** Of the horizontal axis. */
  range: Range;
  drawn: Curves;
  /** The same of the other runs; nothing where one lacks the horizontal axis. */
  others: (Curves | null)[];
  x: (value: number) => number;
  y: (value: number) => number;
}

/** Makes one unit as long on both axes. */
function evened(range: Range, [low, high]: [number, number], w: number, h: number): [Range, [number, number]] {
  const per = Math.max((range.to - range.from) / w, (high - low) / h);
  const wider = (from: number, to: number, pixels: number): [number, number] => {
    const middle = (from + to) / 2;
    return [middle - (per * pixels) / 2, middle + (per * pixels) / 2];
  };
  const [from, to] = wider(range.from, range.to, w);
  return [{ from, to }, wider(low, high, h)];
}

/** A curve as points of the picture: all samples, or for many the first, least, greatest and last of each pixel. */
export function trace(
  times: ArrayLike<number>, values: ArrayLike<number>, first: number, end: number, x: (t: number) => number, y: (v: number) => number, pixels: number,
): number[] {
  const points: number[] = [];
  if (end - first <= 4 * pixels) {
    for (let i = first; i < end; i++) points.push(x(times[i]), y(values[i]));
    return points;
  }
  let i = first;
  while (i < end) {
    const column = Math.floor(x(times[i]));
    let [low, high] = [i, i];
    const start = i;
    while (i < end && Math.floor(x(times[i])) === column) {
      if (values[i] < values[low] || Number.isNaN(values[low])) low = i;
      if (values[i] > values[high] || Number.isNaN(values[high])) high = i;
      i += 1;
    }
    for (const k of [start, Math.min(low, high), Math.max(low, high), i - 1]) points.push(x(times[k]), y(values[k]));
  }
  return points;
}

/** Draws; tells where. */
export function draw(pen: Pen, results: Results, chart: Chart): Axes {
  const { width, height, theme, columns } = chart;
  const top = chart.legend ? 26 : chart.top;
  const [w, h] = [width - LEFT - RIGHT, height - top - BOTTOM];
  const drawn = curves(results, columns, chart.along, chart.range);
  const others = chart.beside.map((run) => curvesOf(run.results, results, columns, chart.along, chart.range));
  let { range } = drawn;
  let [low, high] = bounds(drawn.values, drawn.first, drawn.end);
  for (const other of others) {
    if (!other) continue;
    const [least, most] = bounds(other.values, other.first, other.end);
    [low, high] = [Math.min(low, least), Math.max(high, most)];
    if (chart.along !== 0 && other.values.some(Boolean)) range = { from: Math.min(range.from, other.range.from), to: Math.max(range.to, other.range.to) };
  }
  let [bottom, above] = padded(low, high);
  if (chart.along === "frequency") bottom = Math.min(0, bottom + 0.06 * (above - bottom));
  if (drawn.alike) [range, [bottom, above]] = evened(range, [bottom, above], w, h);
  const x = (v: number) => xOf({ width, range }, v);
  const y = (v: number) => top + h * (1 - (v - bottom) / (above - bottom));
  pen.box(0, 0, width, height, theme.paper);
  const across = ticks(bottom, above, Math.max(2, Math.round(h / 34)));
  across.values.forEach((v, i) => {
    pen.line([LEFT, y(v), LEFT + w, y(v)], theme.line, 1);
    pen.text(LEFT - 7, y(v) + 3.8, across.labels[i], { colour: theme.muted, align: "end" });
  });
  const along = ticks(range.from, range.to, Math.max(2, Math.round(w / 90)));
  const named = [along.factor, along.offset, drawn.label].filter(Boolean).join(" ");
  const taken = named.length === 1 ? 26 : 14 + 6.2 * [...named].length;
  along.values.forEach((t, i) => {
    pen.line([x(t), top, x(t), top + h], theme.line, 1);
    if (x(t) < width - RIGHT - taken) pen.text(x(t), height - 7, along.labels[i], { colour: theme.muted, align: "middle" });
  });
  pen.text(width - RIGHT, height - 7, named, { colour: theme.muted, align: "end" });
  if (bottom < 0 && above > 0) pen.line([LEFT, y(0), LEFT + w, y(0)], theme.muted, 0.8);
  const unit = [across.factor, across.offset, drawn.unit].filter(Boolean).join(" ");
  pen.text(13, top + h / 2, unit, { colour: theme.muted, align: "middle", turned: true });
  pen.within(LEFT, top, w, h, () => {
    [drawn, ...others].forEach((run, number) => run?.values.forEach((values, k) => {
      if (!values) return;
      const pixels = run.ascending ? w : Infinity;
      pen.line(trace(run.x, values, run.first, run.end, x, y, pixels), theme.series[k % theme.series.length], 1.6, DASHES[number % DASHES.length]);
    }));
  });
  if (chart.legend) {
    let at = LEFT;
    columns.forEach((c, k) => {
      const name = visible(results.name(c));
      pen.line([at, 13, at + 16, 13], theme.series[k % theme.series.length], 2.4);
      pen.text(at + 21, 17, name, { colour: theme.ink });
      at += 21 + 6.4 * [...name].length + 18;
    });
    [chart.label, ...chart.beside.map((run) => run.label)].forEach((label, number) => {
      if (!chart.beside.length) return;
      pen.line([at, 13, at + 22, 13], theme.muted, 1.6, DASHES[number % DASHES.length]);
      pen.text(at + 27, 17, visible(label), { colour: theme.muted });
      at += 27 + 6.4 * [...visible(label)].length + 18;
    });
  }
  return { bounds: { from: bottom, to: above }, range, drawn, others, x, y };
}
