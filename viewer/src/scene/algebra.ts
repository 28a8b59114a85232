// The little of vectors and rotations that drawing needs.

import type { Vec } from "./model";

export type Quat = [number, number, number, number]; // x, y, z, w

export const add = (a: Vec, b: Vec): Vec => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const sub = (a: Vec, b: Vec): Vec => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scale = (a: Vec, c: number): Vec => [a[0] * c, a[1] * c, a[2] * c];
export const dot = (a: Vec, b: Vec): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a: Vec, b: Vec): Vec =>
  [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
export const norm = (a: Vec): number => Math.hypot(a[0], a[1], a[2]);
export const unit = (a: Vec, otherwise: Vec): Vec => {
  const n = norm(a);
  return n > 1e-12 ? scale(a, 1 / n) : otherwise;
};

export const IDENTITY: Quat = [0, 0, 0, 1];

/** The least turn from one direction to another. */
export function between(from: Vec, to: Vec): Quat {
  const [a, b] = [unit(from, [1, 0, 0]), unit(to, [1, 0, 0])];
  const w = 1 + dot(a, b);
  if (w < 1e-6) {
    const side = Math.abs(a[0]) < 0.9 ? cross(a, [1, 0, 0]) : cross(a, [0, 1, 0]);
    const [x, y, z] = unit(side, [0, 0, 1]);
    return [x, y, z, 0];
  }
  const c = cross(a, b);
  const n = 1 / Math.hypot(c[0], c[1], c[2], w);
  return [c[0] * n, c[1] * n, c[2] * n, w * n];
}

/** A frame whose x axis is `x`, and whose z axis is as near to `z` as can be. */
export function frame(x: Vec, z: Vec): Quat {
  const ex = unit(x, [1, 0, 0]);
  let ez = sub(z, scale(ex, dot(z, ex)));
  if (norm(ez) < 1e-6) return between([1, 0, 0], ex);
  ez = unit(ez, [0, 0, 1]);
  const ey = cross(ez, ex);
  // of the matrix with these columns, by its trace or its largest diagonal entry
  const m = [ex[0], ey[0], ez[0], ex[1], ey[1], ez[1], ex[2], ey[2], ez[2]];
  const t = m[0] + m[4] + m[8];
  let q: Quat;
  if (t > 0) q = [m[7] - m[5], m[2] - m[6], m[3] - m[1], 1 + t];
  else if (m[0] > m[4] && m[0] > m[8]) q = [1 + m[0] - m[4] - m[8], m[1] + m[3], m[2] + m[6], m[7] - m[5]];
  else if (m[4] > m[8]) q = [m[1] + m[3], 1 + m[4] - m[0] - m[8], m[5] + m[7], m[2] - m[6]];
  else q = [m[2] + m[6], m[5] + m[7], 1 + m[8] - m[0] - m[4], m[3] - m[1]];
  const n = 1 / Math.hypot(...q);
  return q.map((c) => c * n) as Quat;
}

export const median = (values: number[]): number => {
  const sorted = values.filter((x) => x > 0 && Number.isFinite(x)).sort((a, b) => a - b);
  return sorted.length ? sorted[sorted.length >> 1] : 0;
};
