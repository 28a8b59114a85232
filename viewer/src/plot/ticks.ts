// Round numbers for axes.

import { power } from "../data/names";

export interface Ticks {
  values: number[];
  labels: string[];
  /** A common power of ten, or none. */
  factor: string;
  /** What is to be added to all labels, where they differ by little; or none. */
  offset: string;
}

/** Bounds that differ by less than this, relative to their size, are written as differences. */
const LITTLE = 2e-4;

/** About `n` round numbers between two bounds. */
export function ticks(low: number, high: number, n: number): Ticks {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return { values: [low], labels: [String(low)], factor: "", offset: "" };
  const raw = span / Math.max(1, n);
  const decade = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((s) => s * decade).find((s) => s >= raw * 0.999) ?? 10 * decade;
  const values: number[] = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * span && values.length < 100; k++) values.push(k * step);
  const large = Math.max(Math.abs(low), Math.abs(high));
  const base = span < LITTLE * large ? values[0] ?? low : 0;
  const size = base === 0 ? large : span;
  const exponent = Math.floor(Math.log10(size));
  const shift = exponent >= 5 || exponent <= -3 ? exponent : 0;
  const decimals = Math.max(0, Math.min(12, Math.ceil(-Math.log10(step / 10 ** shift) - 1e-9) + (step / decade === 2.5 ? 1 : 0)));
  const labels = values.map((v) => {
    const text = ((v - base) / 10 ** shift).toFixed(decimals);
    return (Number(text) === 0 ? (0).toFixed(decimals) : text).replace("-", "−");
  });
  const digits = Math.min(15, Math.max(4, Math.ceil(Math.log10(large / step)) + 1));
  const offset = base === 0 ? "" : `${base < 0 ? "−" : "+"} ${String(+Math.abs(base).toPrecision(digits))}`;
  return { values, labels, factor: shift ? `×${power(shift)}` : "", offset };
}

/** Bounds with a little room. */
export function padded(low: number, high: number): [number, number] {
  if (!(low <= high)) return [-1, 1];
  const size = Math.max(Math.abs(low), Math.abs(high));
  // a line that is flat but for rounding is drawn flat
  if (high - low <= 1e-12 * size || high === low) return size === 0 ? [-1, 1] : [low - 0.05 * size, high + 0.05 * size];
  const room = 0.06 * (high - low);
  return [low - room, high + room];
}
