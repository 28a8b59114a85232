// Draws channels over time with a pen.

import { visible } from "../data/names";
import type { Results } from "../data/results";
import type { Theme } from "../scene/theme";
import type { Pen } from "./pen";
import { padded, ticks } from "./ticks";

export interface Range { from: number; to: number }

/** The place of the axes within the chart. */
export const LEFT = 62;
export const RIGHT = 14;
export const BOTTOM = 22;

export interface Chart {
  columns: number[];
  width: number;
  height: number;
  /** Room above the axes, for a legend. */
  top: number;
  range: Range;
  theme: Theme;
  /** Writes the names into the picture: for exports. */
  legend: boolean;
}

export function xOf(chart: Pick<Chart, "width" | "range">, t: number): number {
  const { from, to } = chart.range;
  return LEFT + ((t - from) / (to - from || 1)) * (chart.width - LEFT - RIGHT);
}

export function tOf(chart: Pick<Chart, "width" | "range">, x: number): number {
  const { from, to } = chart.range;
  return from + ((x - LEFT) / (chart.width - LEFT - RIGHT || 1)) * (to - from);
}

/** Rows that a range of time touches, with one more on each side. */
export function rowsOf(results: Results, range: Range): [number, number] {
  const first = results.locate(range.from).row;
  const last = results.locate(range.to).row;
  return [Math.max(0, first - 1), Math.min(results.rows, last + 2)];
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

/** Draws; returns the bounds of the vertical axis. */
export function draw(pen: Pen, results: Results, chart: Chart): Range {
  const { width, height, theme, columns } = chart;
  const top = chart.legend ? 26 : chart.top;
  const [w, h] = [width - LEFT - RIGHT, height - top - BOTTOM];
  const known = columns.map((c) => results.here(c));
  const [first, end] = rowsOf(results, chart.range);
  let [low, high] = [Infinity, -Infinity];
  for (const values of known) {
    if (!values) continue;
    for (let i = first; i < end; i++) {
      const v = values[i];
      if (v < low && v > -Infinity) low = v;
      if (v > high && v < Infinity) high = v;
    }
  }
  const [bottom, above] = padded(low, high);
  const x = (t: number) => xOf(chart, t);
  const y = (v: number) => top + h * (1 - (v - bottom) / (above - bottom));
  pen.box(0, 0, width, height, theme.paper);
  const across = ticks(bottom, above, Math.max(2, Math.round(h / 34)));
  across.values.forEach((v, i) => {
    pen.line([LEFT, y(v), LEFT + w, y(v)], theme.line, 1);
    pen.text(LEFT - 7, y(v) + 3.8, across.labels[i], { colour: theme.muted, align: "end" });
  });
  const along = ticks(chart.range.from, chart.range.to, Math.max(2, Math.round(w / 90)));
  along.values.forEach((t, i) => {
    pen.line([x(t), top, x(t), top + h], theme.line, 1);
    if (x(t) < width - RIGHT - (along.offset || along.factor ? 90 : 26)) pen.text(x(t), height - 7, along.labels[i], { colour: theme.muted, align: "middle" });
  });
  pen.text(width - RIGHT, height - 7, [along.factor, along.offset, "s"].filter(Boolean).join(" "), { colour: theme.muted, align: "end" });
  if (bottom < 0 && above > 0) pen.line([LEFT, y(0), LEFT + w, y(0)], theme.muted, 0.8);
  const unit = [across.factor, across.offset, results.unit(columns[0])].filter(Boolean).join(" ");
  pen.text(13, top + h / 2, unit, { colour: theme.muted, align: "middle", turned: true });
  pen.within(LEFT, top, w, h, () => {
    known.forEach((values, k) => {
      if (values) pen.line(trace(results.times, values, first, end, x, y, w), theme.series[k % theme.series.length], 1.6);
    });
  });
  if (chart.legend) {
    let at = LEFT;
    columns.forEach((c, k) => {
      const name = visible(results.name(c));
      pen.line([at, 13, at + 16, 13], theme.series[k % theme.series.length], 2.4);
      pen.text(at + 21, 17, name, { colour: theme.ink });
      at += 21 + 6.4 * [...name].length + 18;
    });
  }
  return { from: bottom, to: above };
}
