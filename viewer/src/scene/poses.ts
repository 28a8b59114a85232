// Where everything is: the poses of all bodies at a time, read window by window.

import type { Results } from "../data/results";
import type { Values } from "../data/source";
import type { Scene, Vec } from "./model";

/** Poses that were read are kept up to so many bytes; a window has about so many values, and few rows of many bodies. */
const KEPT = 128 * 2 ** 20;
const WINDOW = 2 ** 20;
const LEAST = 4;
/** More bodies than this are kept in single precision. */
const MANY = 2000;
/** Slots in a row of the texture. */
export const ROW = 1024;

/**
 * Slots for poses, as they go to the graphics processor: (x, y, z, stretch) and (qx, qy, qz, qw) each.
 * Slot 0 is the ground, then come the bodies, then what spans between two of them. A stretch below zero hides.
 */
export class Slots {
  readonly data: Float32Array<ArrayBuffer>;
  readonly height: number;

  constructor(readonly count: number) {
    this.height = Math.ceil(count / ROW);
    this.data = new Float32Array(this.height * ROW * 8);
    for (let s = 0; s < count; s++) this.set(s, 0, 0, 0, 1, 0, 0, 0, 1);
  }

  set(s: number, x: number, y: number, z: number, stretch: number, qx: number, qy: number, qz: number, qw: number): void {
    const d = this.data;
    const k = 8 * s;
    d[k] = x; d[k + 1] = y; d[k + 2] = z; d[k + 3] = stretch;
    d[k + 4] = qx; d[k + 5] = qy; d[k + 6] = qz; d[k + 7] = qw;
  }

  hide(s: number): void {
    this.data[8 * s + 3] = -1;
  }

  hidden(s: number): boolean {
    return !(this.data[8 * s + 3] >= 0);
  }

  /** A direction of the slot's frame, in the world. */
  direction(s: number, v: Vec): Vec {
    const d = this.data;
    const k = 8 * s + 4;
    const [x, y, z, w] = [d[k], d[k + 1], d[k + 2], d[k + 3]];
    const a = y * v[2] - z * v[1] + w * v[0];
    const b = z * v[0] - x * v[2] + w * v[1];
    const c = x * v[1] - y * v[0] + w * v[2];
    return [v[0] + 2 * (y * c - z * b), v[1] + 2 * (z * a - x * c), v[2] + 2 * (x * b - y * a)];
  }

  /** A point of the slot's frame, in the world. */
  point(s: number, v: Vec): Vec {
    const p = this.direction(s, v);
    const k = 8 * s;
    return [p[0] + this.data[k], p[1] + this.data[k + 1], p[2] + this.data[k + 2]];
  }

  /** Spans a slot from a to b: its x axis runs along, its stretch is the length. */
  span(s: number, a: Vec, b: Vec, shorter = 0): void {
    const [x, y, z] = [b[0] - a[0], b[1] - a[1], b[2] - a[2]];
    const length = Math.hypot(x, y, z);
    if (!(length > 1e-12)) return this.hide(s);
    // the least turn from x to the direction
    const w = 1 + x / length;
    const n = w > 1e-6 ? 1 / Math.sqrt(2 * w) : 0;
    const stretch = Math.max(0, length - shorter);
    if (n === 0) this.set(s, a[0], a[1], a[2], stretch, 0, 0, 1, 0);
    else this.set(s, a[0], a[1], a[2], stretch, 0, (-z / length) * n, (y / length) * n, w * n);
  }
}

interface Window { from: number; rows: number; stride: number; values: Values }

/** How the pose of a body is recorded. */
const enum Layout { Still = 0, PlanePoint = 2, Plane = 3, Point = 4, Full = 7 }

/** Poses of bodies over time. */
export class Poses {
  private columns: Int32Array = new Int32Array(0);
  private readonly layout: Uint8Array;
  private readonly first: Int32Array;
  private windows = new Map<number, Window>();
  private loading = new Map<number, Promise<void>>();
  private height = 1;
  private age = 0;

  constructor(private readonly scene: Scene, private readonly results: Results) {
    const n = scene.bodies.length;
    this.layout = new Uint8Array(n);
    this.first = new Int32Array(n);
    this.restart();
  }

  /** Finds the columns; forgets what was read, since there may be more rows now. */
  restart(): void {
    const { scene, results } = this;
    const columns = new Int32Array(7 * scene.bodies.length);
    const options: [Layout, string[]][] = scene.plane
      ? [[Layout.Plane, [".x", ".y", ".angle"]], [Layout.PlanePoint, [".x", ".y"]]]
      : [[Layout.Full, [".x", ".y", ".z", ".qw", ".qx", ".qy", ".qz"]], [Layout.Point, [".x", ".y", ".z"]]];
    let n = 0;
    scene.bodies.forEach(({ name }, i) => {
      this.layout[i] = Layout.Still;
      this.first[i] = n;
      for (const [layout, endings] of options) {
        let found = 0;
        for (; found < endings.length; found++) {
          const column = results.find(name, endings[found]);
          if (column < 0) break;
          columns[n + found] = column;
        }
        if (found < endings.length) continue;
        this.layout[i] = layout;
        n += found;
        break;
      }
    });
    this.columns = columns.subarray(0, n);
    this.height = Math.max(LEAST, Math.min(8192, Math.floor(WINDOW / Math.max(1, n))));
    this.windows.clear();
    this.loading.clear();
    this.age += 1;
  }

  /** Whether the pose at a row is here. */
  has(row: number): boolean {
    if (this.columns.length === 0) return true;
    const w = this.windows.get(Math.floor(row / this.height));
    return !!w && row < w.from + w.rows;
  }

  /** Reads the window of a row. */
  load(row: number): Promise<void> {
    if (this.has(row) || row >= this.results.rows) return Promise.resolve();
    const k = Math.floor(row / this.height);
    const known = this.loading.get(k);
    if (known) return known;
    const age = this.age;
    const from = k * this.height;
    const to = Math.min(this.results.rows, from + this.height);
    const read = this.results.source
      .columns(this.columns, from, to, this.scene.bodies.length > MANY)
      .then((values) => {
        if (age !== this.age) return;
        const other = this.windows.get(k);
        if (other && other.rows >= to - from) return;
        this.windows.set(k, { from, rows: to - from, stride: to - from, values });
        let kept = 0;
        for (const [other, w] of [...this.windows].reverse()) {
          kept += w.values.byteLength;
          if (kept > KEPT && other !== k) this.windows.delete(other);
        }
      })
      .finally(() => age === this.age && this.loading.delete(k));
    this.loading.set(k, read);
    return read;
  }

  /** There are more rows: those of a window that is here are added to it. */
  async extend(): Promise<void> {
    const { rows } = this.results;
    for (const [k, w] of [...this.windows]) {
      const [done, to] = [w.from + w.rows, Math.min(rows, w.from + this.height)];
      if (done >= to || w.rows === this.height) continue;
      const age = this.age;
      const single = this.scene.bodies.length > MANY;
      const more = await this.results.source.columns(this.columns, done, to, single);
      if (age !== this.age || this.windows.get(k) !== w) continue;
      const [n, before] = [to - done, w.rows];
      if (to - w.from > w.stride) {
        const stride = Math.min(this.height, 2 * (to - w.from));
        const values = single ? new Float32Array(stride * this.columns.length) : new Float64Array(stride * this.columns.length);
        for (let c = 0; c < this.columns.length; c++) values.set(w.values.subarray(c * w.stride, c * w.stride + before), c * stride);
        [w.values, w.stride] = [values, stride];
      }
      for (let c = 0; c < this.columns.length; c++) w.values.set(more.subarray(c * n, (c + 1) * n), c * w.stride + before);
      w.rows = to - w.from;
    }
  }

  /** Makes sure of what a time needs, and of what comes next. */
  want(row: number, ahead: boolean): void {
    const swallow = () => undefined;
    this.load(row).catch(swallow);
    if (row + 1 < this.results.rows) this.load(row + 1).catch(swallow);
    const next = (Math.floor(row / this.height) + 1) * this.height;
    if (ahead && next < this.results.rows && this.columns.length * this.height * 3 * 8 < KEPT) this.load(next).catch(swallow);
  }

  /** Writes the poses at a row, and a share of the way to the next, into the slots; false if they are not here. */
  fill(slots: Slots, row: number, share: number): boolean {
    const next = share > 0 ? row + 1 : row;
    const a = this.windows.get(Math.floor(row / this.height));
    const b = this.windows.get(Math.floor(next / this.height));
    const { bodies } = this.scene;
    if (this.columns.length > 0 && (!a || !b || row >= a.from + a.rows || next >= b.from + b.rows)) return false;
    const d = slots.data;
    for (let i = 0; i < bodies.length; i++) {
      const layout = this.layout[i];
      if (layout === Layout.Still || !a || !b) {
        const { at, rotation: q } = bodies[i];
        slots.set(i + 1, at[0], at[1], at[2], 1, q[1], q[2], q[3], q[0]);
        continue;
      }
      const va = a.values;
      const vb = b.values;
      const sa = a.stride;
      const sb = b.stride;
      const ka = this.first[i] * sa + row - a.from;
      const kb = this.first[i] * sb + next - b.from;
      const k = 8 * (i + 1);
      const flat = layout === Layout.PlanePoint || layout === Layout.Plane;
      d[k] = va[ka] + share * (vb[kb] - va[ka]);
      d[k + 1] = va[ka + sa] + share * (vb[kb + sb] - va[ka + sa]);
      d[k + 2] = flat ? 0 : va[ka + 2 * sa] + share * (vb[kb + 2 * sb] - va[ka + 2 * sa]);
      d[k + 4] = d[k + 5] = d[k + 6] = 0;
      d[k + 7] = 1;
      if (layout === Layout.Plane) {
        const half = 0.5 * (va[ka + 2 * sa] + share * (vb[kb + 2 * sb] - va[ka + 2 * sa]));
        d[k + 6] = Math.sin(half);
        d[k + 7] = Math.cos(half);
      } else if (layout === Layout.Full) {
        let same = 0;
        for (let j = 3; j < 7; j++) same += va[ka + j * sa] * vb[kb + j * sb];
        const sign = same < 0 ? -1 : 1; // q and −q are one turn
        let square = 0;
        for (let j = 3; j < 7; j++) {
          const q = va[ka + j * sa] + share * (sign * vb[kb + j * sb] - va[ka + j * sa]);
          d[j === 3 ? k + 7 : k + j] = q; // w is last here
          square += q * q;
        }
        const n = square > 0 ? 1 / Math.sqrt(square) : 1;
        for (let j = 4; j < 8; j++) d[k + j] *= n;
      }
      d[k + 3] = Number.isFinite(d[k] + d[k + 1] + d[k + 2] + d[k + 4] + d[k + 5] + d[k + 6] + d[k + 7]) ? 1 : -1;
    }
    return true;
  }

  /** Calls `see` with some rows that are here, for a first idea of where the motion goes. */
  sample(slots: Slots, n: number, see: () => void): void {
    const here = [...this.windows.values()];
    if (here.length === 0) {
      if (this.fill(slots, 0, 0)) see();
      return;
    }
    const per = Math.max(2, Math.ceil(n / here.length));
    for (const w of here) {
      for (let k = 0; k < per; k++) {
        const row = w.from + Math.round((k / (per - 1)) * (w.rows - 1));
        if (this.fill(slots, row, 0)) see();
      }
    }
  }
}
