// The paths of probes: what was passed in full colour, what is to come faintly.

import { Color, Group } from "three";
import { Line2 } from "three/addons/lines/Line2.js";
import { LineGeometry } from "three/addons/lines/LineGeometry.js";
import { LineMaterial } from "three/addons/lines/LineMaterial.js";
import type { Results } from "../data/results";
import type { Scene } from "./model";
import type { Theme } from "./theme";

/** Longer paths are drawn with so many points. */
const POINTS = 6000;
/** So many probes are traced. */
const PROBES = 60;

interface Trace { whole: Line2; past: Line2; every: number; points: number }

export class Traces {
  readonly node = new Group();
  private traces: Trace[] = [];
  private lift = 0;

  async load(scene: Scene, results: Results, theme: Theme, lift: number): Promise<void> {
    this.lift = lift;
    const made: Trace[] = [];
    await Promise.all(scene.probes.slice(0, PROBES).map(async (probe, i) => {
      const axes = (scene.plane ? ["x", "y"] : ["x", "y", "z"]).map((a) => results.find(`${probe.name}.${a}`));
      if (axes.some((k) => k < 0) || results.rows < 2) return;
      const columns = await Promise.all(axes.map((k) => results.column(k)));
      const every = Math.max(1, Math.ceil(results.rows / POINTS));
      const points: number[] = [];
      for (let row = 0; row < results.rows; row += every) {
        const p = columns.map((c) => c[row]);
        if (p.every(Number.isFinite)) points.push(p[0], p[1], (p[2] ?? 0) + this.lift);
        else if (points.length) points.push(...points.slice(-3));
        else points.push(0, 0, 0);
      }
      if (points.length < 6) return;
      const colour = theme.traces[i % theme.traces.length];
      const line = (width: number, opacity: number) => {
        const material = new LineMaterial({ color: new Color(colour).getHex(), linewidth: width, transparent: true, opacity, depthWrite: false });
        const l = new Line2(new LineGeometry(), material);
        l.geometry.setPositions(points);
        l.frustumCulled = false;
        l.renderOrder = 5;
        return l;
      };
      made[i] = { whole: line(1.2, 0.35), past: line(2.2, 0.95), every, points: points.length / 3 };
    }));
    this.clear();
    this.traces = made.filter(Boolean);
    this.traces.forEach((t) => this.node.add(t.whole, t.past));
  }

  /** The time is at a row, and a share of the way to the next. */
  at(row: number, share: number): void {
    for (const t of this.traces) {
      t.past.geometry.instanceCount = Math.min(t.points - 1, Math.floor((row + share) / t.every));
      t.past.visible = t.past.geometry.instanceCount > 0;
    }
  }

  /** Leaves out what is to come. */
  draft(on: boolean): void {
    this.traces.forEach((t) => (t.whole.visible = !on));
  }

  paint(theme: Theme): void {
    this.traces.forEach((t, i) => [t.whole, t.past].forEach((l) => l.material.color.set(theme.traces[i % theme.traces.length])));
  }

  clear(): void {
    for (const t of this.traces) {
      for (const l of [t.whole, t.past]) {
        this.node.remove(l);
        l.geometry.dispose();
        l.material.dispose();
      }
    }
    this.traces = [];
  }
}
