// What a plot draws: channels over time, over another channel, or their spectra.

import { visible } from "../data/names";
import type { Results } from "../data/results";
import { sameChannel } from "../data/runs";
import { spectrum } from "./spectrum";

export interface Range { from: number; to: number }

/** What the horizontal axis is: a column (0 is time), or frequency. */
export type Along = number | "frequency";

export interface Curves {
  x: ArrayLike<number>;
  /** One for each column; nothing where it is not here yet, or is the horizontal axis itself. */
  values: (ArrayLike<number> | undefined)[];
  first: number;
  end: number;
  /** Of the horizontal axis. */
  range: Range;
  /** What stands at the end of the horizontal axis. */
  label: string;
  unit: string;
  /** Whether x only grows, so that many samples can share a pixel. */
  ascending: boolean;
  /** Whether both axes have one unit, so that a circle should look like one. */
  alike: boolean;
}

/** A spectrum is drawn up to where all that follows is a smaller share of its peak, but not shorter than so many lines. */
const QUIET = 2e-3;
const LEAST = 12;

/** Rows that a range of time touches, with one more on each side. */
export function rowsOf(results: Results, range: Range): [number, number] {
  const first = results.locate(range.from).row;
  const last = results.locate(range.to).row;
  return [Math.max(0, first - 1), Math.min(results.rows, last + 2)];
}

/** The least and the greatest of some numbers. */
export function bounds(lists: (ArrayLike<number> | undefined)[], first: number, end: number): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const values of lists) {
    if (!values) continue;
    for (let i = first; i < end; i++) {
      const v = values[i];
      if (v < low && v > -Infinity) low = v;
      if (v > high && v < Infinity) high = v;
    }
  }
  return [low, high];
}

/** The curves of columns within a range of time. */
export function curves(results: Results, columns: number[], along: Along, time: Range): Curves {
  const unit = results.unit(columns[0]);
  const known = columns.map((c) => results.here(c));
  if (along === "frequency") {
    const { frequencies, amplitudes } = spectrum(results.times, known, time);
    const [, top] = bounds(amplitudes, 0, frequencies.length);
    let last = frequencies.length - 1;
    while (last > LEAST && amplitudes.every((a) => !a || a[last] < QUIET * top)) last--;
    const to = frequencies[Math.min(frequencies.length - 1, Math.round(1.3 * last))] || 1;
    return { x: frequencies, values: amplitudes, first: 0, end: frequencies.length, range: { from: 0, to }, label: "Hz", unit, ascending: true, alike: false };
  }
  const [first, end] = rowsOf(results, time);
  if (along === 0) return { x: results.times, values: known, first, end, range: time, label: "s", unit, ascending: true, alike: false };
  const x = results.here(along) ?? [];
  const [low, high] = bounds([x], first, Math.min(end, x.length));
  const room = 0.04 * (high - low) || 0.05 * Math.abs(high) || 1;
  const range = low <= high ? { from: low - room, to: high + room } : { from: -1, to: 1 };
  const values = known.map((v, k) => (columns[k] === along && columns.length > 1 ? undefined : v));
  const label = [visible(results.name(along)), results.unit(along)].filter(Boolean).join(", ");
  return { x, values, first, end: Math.min(end, x.length), range, label, unit, ascending: false, alike: results.unit(along) === unit };
}

/** The curves of another run: of the channels that it has, too; nothing if it lacks that of the horizontal axis. */
export function curvesOf(other: Results, results: Results, columns: number[], along: Along, time: Range): Curves | null {
  const over = typeof along === "number" ? sameChannel(results, along, other) : along;
  if (over === -1) return null;
  return curves(other, columns.map((c) => sameChannel(results, c, other)), over, time);
}
