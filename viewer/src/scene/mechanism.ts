// A machine in motion: its parts, and where they are at a time. One run has one; a page that compares runs has several.

import type { Results } from "../data/results";
import type { Scene, Vec } from "./model";
import { ARC, type Parts, type RopeParts, type Travel, build } from "./parts";
import { Poses, Slots } from "./poses";
import type { Theme } from "./theme";

export class Mechanism {
  readonly poses: Poses;
  readonly slots: Slots;
  parts: Parts;
  row = 0;
  share = 0;
  /** How much larger deformations of flexible bodies are drawn. */
  deformation = 1;
  private modes: (Float64Array[] | null)[] = [];

  constructor(readonly scene: Scene, readonly results: Results, theme: Theme, private readonly size: number, private readonly travel: Travel) {
    this.poses = new Poses(scene, results);
    this.parts = build(scene, theme, size, travel);
    this.slots = new Slots(this.parts.slots);
  }

  /** New colours, or slides that go further. */
  rebuild(theme: Theme): void {
    this.parts = build(this.scene, theme, this.size, this.travel);
  }

  /** Puts everything where it is at a row, and a share of the way to the next; false while that is being read. */
  seek(row: number, share: number, playing: boolean): boolean {
    this.poses.want(row, playing);
    if (!this.poses.fill(this.slots, row, share)) return false;
    [this.row, this.share] = [row, share];
    this.sit();
    for (const s of this.parts.spans) {
      const [a, b] = s.ends;
      if (this.slots.hidden(a.slot) || this.slots.hidden(b.slot)) this.slots.hide(s.slot);
      else this.slots.span(s.slot, this.slots.point(a.slot, a.on), this.slots.point(b.slot, b.on));
    }
    this.bend();
    this.parts.ropes.forEach((rope) => this.lay(rope));
    return true;
  }

  /** Reads the poses at a time. */
  async load(t: number): Promise<void> {
    const { row } = this.results.locate(t);
    await Promise.all([this.poses.load(row), this.poses.load(Math.min(row + 1, this.results.rows - 1))]);
  }

  /** The value of a column at the present time. */
  at(column: ArrayLike<number>): number {
    return this.share > 0 ? column[this.row] + this.share * (column[this.row + 1] - column[this.row]) : column[this.row];
  }

  /** Reads the modal coordinates of flexible bodies. */
  async loadModes(): Promise<void> {
    await Promise.all(this.parts.bends.map(async (b) => {
      const { flexible } = this.scene.bodies[b.body];
      const columns = (flexible?.modes ?? []).map((m) => this.results.find(m.channel));
      if (columns.every((k) => k >= 0)) this.modes[b.body] = await Promise.all(columns.map((k) => this.results.column(k)));
    }));
  }

  /** The points of a flexible body where its modes have moved them, in the world. */
  bent(body: number, lift = 0): Vec[] {
    const { flexible } = this.scene.bodies[body];
    if (!flexible) return [];
    const amounts = this.amounts(body);
    return flexible.points.map((p, i) => {
      const q: Vec = [p[0], p[1], p[2] + lift];
      amounts.forEach((x, k) => flexible.modes[k].shape[i]?.forEach((d, axis) => (q[axis] += x * d)));
      return this.slots.point(body + 1, q);
    });
  }

  /** How much of each mode of a flexible body there is, as drawn. */
  private amounts(body: number): number[] {
    return (this.modes[body] ?? []).map((c) => {
      const x = this.at(c);
      return Number.isFinite(x) ? this.deformation * x : 0;
    });
  }

  /** What stands on a flexible body moves with it. */
  private sit(): void {
    const amounts = new Map<number, number[]>();
    const d = this.slots.data;
    for (const { slot, body, line: [i, j], share } of this.parts.seats.values()) {
      if (!amounts.has(body)) amounts.set(body, this.amounts(body));
      const off: Vec = [0, 0, 0];
      const modes = this.scene.bodies[body].flexible?.modes ?? [];
      amounts.get(body)?.forEach((x, k) => {
        const [a, b] = [modes[k].shape[i], modes[k].shape[j]];
        if (a && b) a.forEach((_, axis) => (off[axis] += x * (a[axis] + share * (b[axis] - a[axis]))));
      });
      const k = 8 * (body + 1);
      const p = this.slots.point(body + 1, off);
      this.slots.set(slot, p[0], p[1], p[2], d[k + 3], d[k + 4], d[k + 5], d[k + 6], d[k + 7]);
    }
  }

  /** Puts the pieces of a rope along its course. */
  private lay({ slots, ends, radii }: RopeParts): void {
    if (ends.some((e) => this.slots.hidden(e.slot))) return slots.forEach((slot) => this.slots.hide(slot));
    const course = ropeCourse(ends.map((e) => this.slots.point(e.slot, e.on)), radii);
    slots.forEach((slot, k) => this.slots.span(slot, course[k], course[k + 1]));
  }

  /** The segments of flexible bodies. */
  private bend(): void {
    for (const b of this.parts.bends) {
      const at = this.bent(b.body, b.lift);
      const hidden = this.slots.hidden(b.body + 1);
      this.scene.bodies[b.body].flexible?.lines.forEach(([i, j], k) => {
        if (hidden) this.slots.hide(b.slots[k]);
        else this.slots.span(b.slots[k], at[i], at[j]);
      });
    }
  }
}

/**
 * Points along a rope: its ends, and on each pulley ARC + 1 points around it. A negative radius is that of a pulley to its right.
 *
 * With the angle θ of the line between two centres, r = r₂ − r₁ and D their distance, the left normal of the straight part has the
 * angle θ + acos(r/D), and the part touches each pulley at its centre less radius times normal.
 */
export function ropeCourse(points: Vec[], radii: number[]): Vec[] {
  const normal = (k: number) => {
    const [[ax, ay], [bx, by]] = [points[k], points[k + 1]];
    const share = (radii[k + 1] - radii[k]) / Math.hypot(bx - ax, by - ay);
    return Math.atan2(by - ay, bx - ax) + Math.acos(Math.min(1, Math.max(-1, share)));
  };
  return points.flatMap((centre, k) => {
    const r = radii[k];
    if (!r || k === 0 || k === points.length - 1) return [centre];
    const from = normal(k - 1);
    const turn = Math.sign(r) * (normal(k) - from);
    const sweep = Math.sign(r) * (turn - 2 * Math.PI * Math.floor(turn / (2 * Math.PI)));
    return Array.from({ length: ARC + 1 }, (_, i): Vec => {
      const angle = from + (sweep * i) / ARC;
      return [centre[0] - r * Math.cos(angle), centre[1] - r * Math.sin(angle), centre[2]];
    });
  });
}
