// From a model to solids: what bodies, joints and forces look like.

import { IDENTITY, add, between, cross, dot, frame, median, norm, scale, sub, unit } from "./algebra";
import { type Group, Items, type Look } from "./items";
import { type Body, type Element, type Scene, type Vec, box } from "./model";
import type { Primitive } from "./primitives";
import type { Theme } from "./theme";

/** Something that spans between two places and is moved every frame. */
export interface Span { slot: number; ends: [End, End] }
/** A flexible body: a slot for each of its lines. */
export interface Bend { body: number; slots: number[]; lift: number }
/** A rope: a slot for each piece of its course through places and around pulleys. */
export interface RopeParts { slots: number[]; ends: End[]; radii: number[] }
/** A place on a flexible body, which moves with it: a share of the way along one of its lines. */
export interface Seat { slot: number; body: number; line: [number, number]; share: number }
export interface End { slot: number; on: Vec }
/** An arrow for a load or a reaction. */
export interface Arrow { slot: number; joint: number | null; force: number | null; moment: boolean; at: End }

export interface Parts {
  items: Items;
  spans: Span[];
  arrows: Arrow[];
  bends: Bend[];
  ropes: RopeParts[];
  /** By body and place. */
  seats: Map<string, Seat>;
  slots: number;
  /** Half the width of a link. */
  width: number;
  /** Half the thickness of a layer, and the lowest one, in the plane. */
  layer: number;
  floor: number;
  /** A radius around each body's frame that holds the body. */
  reach: Float32Array;
  /** Places on each body where something holds it. */
  held: Vec[][];
}

/** Above these numbers things are drawn with fewer strokes. */
const MANY_SPRINGS = 1500;
/** Pieces of a rope around a pulley. */
export const ARC = 16;
/** More bodies than this are coloured in order. */
const CROWD = 40;
const MANY_SYMBOLS = 20_000;

const Z: Vec = [0, 0, 1];
const NOWHERE: Vec = [0, 0, 0];

/** The size of a body along its longest extent; zero if nothing is said. */
function extent(body: Body): number {
  const s = body.shape;
  switch (s.type) {
    case "rod": return s.length;
    case "cylinder": return Math.max(2 * s.radius, s.length);
    case "box": return Math.max(...s.size);
    case "sphere": return 2 * s.radius;
    default: {
      const { flexible } = body;
      const filled = box(body.solids);
      if (filled) return Math.max(...filled.high.map((x, k) => x - filled.low[k]));
      if (flexible) return norm(sub(flexible.points[flexible.points.length - 1], flexible.points[0]));
      return 0;
    }
  }
}

/** The colour of the i-th of all bodies: its own, or one chosen for it. */
export function bodyColour({ bodies }: Theme, i: number, all: Body[]): string {
  const n = all.length;
  if (all[i]?.colour) return all[i].colour;
  if (n <= CROWD) return bodies[i % bodies.length];
  const hue = 215 - (165 * i) / (n - 1); // from blue over green to gold
  return `hsl(${hue.toFixed(0)}, 42%, ${(52 + 6 * Math.sin(0.5 * i)).toFixed(0)}%)`;
}

/** The slot that carries a place of a body, or of the ground. */
export function slotOf(parts: Parts, body: number | null, on: Vec): number {
  return body === null ? 0 : (parts.seats.get(`${body} ${on}`)?.slot ?? body + 1);
}

/** The line of a flexible body that is next to a place, and how far along it. */
function nextTo(body: Body, on: Vec): { line: [number, number]; share: number } | null {
  const { points, lines } = body.flexible ?? { points: [], lines: [] };
  let best: { line: [number, number]; share: number } | null = null;
  let least = Infinity;
  for (const line of lines) {
    const [a, b] = [points[line[0]], points[line[1]]];
    const along = sub(b, a);
    const share = Math.min(1, Math.max(0, dot(sub(on, a), along) / Math.max(dot(along, along), 1e-300)));
    const far = norm(sub(on, add(a, scale(along, share))));
    if (far < least) [least, best] = [far, { line, share }];
  }
  return best;
}

/** How far slides go, by the number of their joint. */
export type Travel = Map<number, [number, number]>;

export function build(scene: Scene, theme: Theme, size: number, travel: Travel): Parts {
  return new Builder(scene, theme, size, travel).build();
}

class Builder {
  readonly out: Parts;
  private readonly on: Vec[][]; // attachments of each body
  private readonly level: number[]; // layer of each body
  private readonly w: number;
  private readonly up: Vec;

  constructor(private readonly scene: Scene, private readonly theme: Theme, size: number, private readonly travel: Travel) {
    const n = scene.bodies.length;
    this.on = Array.from({ length: n }, () => []);
    const elements = [...scene.joints, ...scene.forces.filter((f) => f.between.length === 2)];
    for (const e of elements) e.between.forEach((b, k) => b !== null && this.on[b].push(e.on[k]));
    for (const f of scene.forces) if (f.between.length === 1 && f.between[0] !== null && scene.bodies[f.between[0]].flexible) this.on[f.between[0]].push(f.on[0]);
    for (const p of scene.probes) if (p.body !== null) this.on[p.body].push(p.on);
    const lengths = scene.bodies.map((b, i) => extent(b) || Math.max(0, ...this.on[i].map((p) => 2 * norm(p))));
    const spans = elements.map((e) => norm(sub(this.start(e, 1), this.start(e, 0))));
    const typical = median(lengths) || median(spans) || size / Math.max(2, Math.cbrt(n));
    const crowd = Math.max(1, Math.cbrt(n / 8));
    this.w = Math.min(Math.max(0.05 * typical, (0.011 * size) / crowd), 0.05 * Math.max(size, typical)) || 0.05;
    this.up = unit(scale(scene.gravity, -1), scene.plane ? [0, 1, 0] : Z);
    this.level = this.levels(lengths);
    this.out = {
      items: new Items(), spans: [], arrows: [], bends: [], ropes: [], seats: new Map(), slots: n + 1, width: this.w, layer: 0.4 * this.w,
      floor: scene.plane ? -2.2 * this.w : 0, reach: new Float32Array(n), held: this.on,
    };
  }

  /** A place of an element at the start, in the world. */
  private start(e: Element, k: number): Vec {
    const b = e.between[k];
    if (b === null || b === undefined) return e.on[k] ?? [0, 0, 0];
    const body = this.scene.bodies[b];
    const [w, x, y, z] = body.rotation;
    const v = e.on[k];
    const c = add(cross([x, y, z], v), scale(v, w));
    return add(body.at, add(v, scale(cross([x, y, z], c), 2)));
  }

  /** In the plane, bodies that are joined lie in different layers, as in a real linkage; large ones below. */
  private levels(lengths: number[]): number[] {
    const { bodies, joints, plane } = this.scene;
    const level = bodies.map(() => 0);
    if (!plane) return level;
    const beside: number[][] = bodies.map(() => []);
    for (const { between: [a, b] } of joints) {
      if (a !== null && b !== null && a !== undefined && b !== undefined) {
        beside[a].push(b);
        beside[b].push(a);
      }
    }
    const bulk = (i: number) => (["rod", "unknown"].includes(bodies[i].shape.type) ? 0 : 1e9) + lengths[i];
    const order = bodies.map((_, i) => i).sort((i, j) => bulk(j) - bulk(i) || i - j);
    const done = new Set<number>();
    for (const i of order) {
      const taken = new Set(beside[i].filter((j) => done.has(j)).map((j) => level[j]));
      while (taken.has(level[i])) level[i] += 1;
      done.add(i);
    }
    return level;
  }

  private height(body: number | null): number {
    return this.scene.plane ? (body === null ? -1 : this.level[body]) * 0.95 * this.w : 0;
  }

  build(): Parts {
    const { scene } = this;
    const n = scene.bodies.length;
    scene.bodies.forEach((b, i) => b.flexible && this.seat(b, i));
    scene.ground.forEach(({ colour = this.theme.ground, opacity = 1 }, k) => {
      this.put("body", `mesh -1 ${k}`, 0, -1, NOWHERE, { core: [1, 1, 1], colour, opacity });
    });
    scene.bodies.forEach((b, i) => this.body(b, i));
    scene.joints.forEach((j, i) => this.joint(j, n + i, i));
    scene.forces.forEach((f, i) => this.force(f, n + scene.joints.length + i));
    scene.probes.forEach((p, i) => {
      const z = this.height(p.body) + (scene.plane ? this.w : 0);
      this.put("joint", "ball", slotOf(this.out, p.body, p.on), n + scene.joints.length + scene.forces.length + i, add(p.on, [0, 0, z]), {
        round: 0.36 * this.w, colour: this.theme.traces[i % this.theme.traces.length],
      });
    });
    scene.joints.forEach((j, i) => this.arrow(j, i, null, n + i));
    scene.joints.forEach((j, i) => this.arrow(j, i, null, n + i, true));
    return this.out;
  }

  /** Places where something stands on a flexible body. */
  private seat(body: Body, i: number): void {
    for (const on of this.on[i]) {
      const next = nextTo(body, on);
      const key = `${i} ${on}`;
      if (next && !this.out.seats.has(key)) this.out.seats.set(key, { slot: this.out.slots++, body: i, ...next });
    }
  }

  private put(group: Group, solid: Primitive, slot: number, pick: number, place: Vec, more: Partial<Look>): void {
    this.out.items.push(group, solid, slot, pick, place, {
      turn: IDENTITY, core: NOWHERE, ring: 0, round: 0, colour: this.theme.steel, marked: false, opacity: group === "body" ? this.scene.bodies[pick]?.opacity ?? 1 : 1, ...more,
    });
  }

  private colour(i: number): string {
    return bodyColour(this.theme, i, this.scene.bodies);
  }

  /** A link with round ends from a to b on a slot. */
  private link(group: Group, slot: number, pick: number, a: Vec, b: Vec, width: number, colour: string): void {
    const d = sub(b, a);
    const middle = scale(add(a, b), 0.5);
    const half = norm(d) / 2;
    if (this.scene.plane) {
      const thick = Math.min(0.4 * this.w, width);
      const edge = 0.35 * thick;
      this.put(group, "link", slot, pick, middle, {
        turn: frame(d, Z), core: [half, 0, thick - edge], ring: width - edge, round: edge, colour,
      });
    } else {
      this.put(group, "ball", slot, pick, middle, { turn: between([1, 0, 0], d), core: [half, 0, 0], round: width, colour });
    }
  }

  private body(body: Body, i: number): void {
    const { scene, w } = this;
    const slot = i + 1;
    const colour = this.colour(i);
    const lift: Vec = [0, 0, this.height(i)];
    const flat = scene.plane;
    const thick = 0.4 * w;
    const shape = body.shape;
    const points = this.on[i].filter((p) => norm(p) > 1e-9);
    this.out.reach[i] = Math.max(extent(body) / 2, w, ...points.map(norm));
    /** Holds places beside the body's own shape. */
    const stalks = (inside: (p: Vec) => boolean) => {
      if (points.length > 24) return;
      for (const p of points) if (!inside(p)) this.link("body", slot, i, lift, add(p, lift), 0.4 * w, colour);
    };
    const filled = box(body.solids);
    if (filled) {
      body.solids.forEach((s, k) => {
        this.put("body", `mesh ${i} ${k}`, slot, i, lift, { core: [1, 1, 1], colour: s.colour ?? colour, opacity: s.opacity ?? body.opacity });
      });
      this.out.reach[i] = Math.max(this.out.reach[i], norm(filled.low), norm(filled.high));
      return;
    }
    if (body.flexible) {
      const { lines, radius } = body.flexible;
      const round = radius || 0.8 * w;
      const edge = 0.35 * thick;
      const slots = lines.map(() => {
        const own = this.out.slots++;
        if (flat) this.put("body", "link", own, i, [0.5, 0, 0], { core: [0.5, 0, thick - edge], ring: 0.8 * w - edge, round: edge, colour });
        else this.put("body", "ball", own, i, [0.5, 0, 0], { core: [0.5, 0, 0], round, colour });
        return own;
      });
      this.out.bends.push({ body: i, slots, lift: lift[2] });
      return;
    }
    switch (shape.type) {
      case "rod": {
        const ends: Vec = [shape.length / 2, 0, 0];
        const radius = shape.radius || Math.min(w, shape.length / 4) || w;
        if (!flat && shape.radius > 0) {
          const edge = Math.min(0.25 * radius, 0.1 * shape.length);
          this.put("body", "link", slot, i, lift, {
            turn: between(Z, [1, 0, 0]), core: [0, 0, shape.length / 2 - edge], ring: radius - edge, round: edge, colour,
          });
        } else {
          this.link("body", slot, i, add(scale(ends, -1), lift), add(ends, lift), radius, colour);
        }
        stalks((p) => Math.abs(p[0]) <= shape.length / 2 + radius && Math.hypot(p[1], p[2]) <= 1.5 * radius);
        return;
      }
      case "box": {
        const half: Vec = [shape.size[0] / 2, shape.size[1] / 2, flat ? thick : shape.size[2] / 2];
        const edge = Math.min(0.25 * w, 0.3 * Math.min(...half));
        const core = half.map((h) => Math.max(0, h - edge)) as Vec;
        this.put("body", "box", slot, i, lift, { core, round: edge, colour });
        stalks((p) => p.every((c, k) => Math.abs(c) <= half[k] + w));
        return;
      }
      case "cylinder": {
        const half = flat ? thick : shape.length / 2;
        const edge = Math.min(0.25 * w, 0.3 * half, 0.3 * shape.radius);
        this.put("body", "link", slot, i, lift, {
          core: [0, 0, Math.max(0, half - edge)], ring: Math.max(0, shape.radius - edge), round: edge, colour, marked: true,
        });
        stalks((p) => Math.hypot(p[0], p[1]) <= shape.radius + w && (flat || Math.abs(p[2]) <= half + w));
        return;
      }
      case "sphere": {
        if (flat) {
          const edge = Math.min(0.35 * thick, 0.3 * shape.radius);
          this.put("body", "link", slot, i, lift, { core: [0, 0, thick - edge], ring: Math.max(0, shape.radius - edge), round: edge, colour, marked: true });
        } else {
          this.put("body", "ball", slot, i, lift, { round: shape.radius, colour, marked: true });
        }
        stalks((p) => norm(p) <= shape.radius + w);
        return;
      }
      default:
        this.unknown(body, i, points, lift, colour);
    }
  }

  /** A body without a shape: links between the places where something holds it, and its centre of mass. */
  private unknown(body: Body, i: number, points: Vec[], lift: Vec, colour: string): void {
    const { w } = this;
    const slot = i + 1;
    const distinct: Vec[] = [];
    for (const p of points.slice(0, 64)) if (!distinct.some((q) => norm(sub(p, q)) < 1e-6 + 0.05 * w)) distinct.push(p);
    const link = (a: Vec, b: Vec) => this.link("body", slot, i, add(a, lift), add(b, lift), 0.85 * w, colour);
    const centre: Vec = [0, 0, 0];
    if (body.kind === "point" || distinct.length === 0) {
      const marked = body.kind !== "point";
      const radius = marked ? 2.2 * w : 1.1 * w;
      const flat = this.scene.plane && marked;
      if (flat) this.put("body", "link", slot, i, lift, { core: [0, 0, 0.26 * w], ring: radius, round: 0.14 * w, colour, marked });
      else this.put("body", "ball", slot, i, lift, { round: radius, colour, marked });
      return;
    }
    if (distinct.length === 1) link(centre, distinct[0]);
    else if (distinct.length === 2) link(distinct[0], distinct[1]);
    else if (distinct.length <= 8 && this.scene.plane) {
      const middle = scale(distinct.reduce(add), 1 / distinct.length);
      const angle = (p: Vec) => Math.atan2(p[1] - middle[1], p[0] - middle[0]);
      distinct.sort((a, b) => angle(a) - angle(b));
      distinct.forEach((p, k) => link(p, distinct[(k + 1) % distinct.length]));
    } else distinct.forEach((p) => link(centre, p));
    // the centre of mass, where the links do not pass
    const [a, b] = distinct;
    const off = distinct.length === 2 ? norm(cross(sub(centre, a), unit(sub(b, a), Z))) : distinct.length === 1 ? 0 : 1;
    if (distinct.length === 2 && off > 0.5 * w) link(scale(add(a, b), 0.5), centre);
    if (distinct.length !== 1 && (distinct.length > 2 || off <= 0.5 * w)) return;
    if (this.scene.plane) this.put("body", "link", slot, i, lift, { core: [0, 0, 0.3 * w], ring: 1.6 * w, round: 0.14 * w, colour, marked: true });
    else this.put("body", "ball", slot, i, lift, { round: 1.7 * w, colour, marked: true });
  }

  private joint(j: Element, pick: number, number: number): void {
    const { theme, w, scene } = this;
    if (scene.joints.length > MANY_SYMBOLS) return;
    if (j.kind === "distance") return this.bar(j, pick);
    const plane = scene.plane;
    if (j.path) this.path("joint", j, pick);
    if (j.radii[1] > 0) this.roller(j, pick);
    const [a, b] = [j.between[0] ?? null, j.between[1] ?? null];
    // the symbol sits on a body, so that it moves; the ground has its own
    const k = b !== null ? 1 : 0;
    const body = j.between[k] ?? null;
    const at = j.on[k];
    const slot = slotOf(this.out, body, at);
    const grounded = [a, b].indexOf(null);
    if (grounded >= 0 && j.on[grounded]) this.support(j, grounded, pick);
    const [low, high] = plane ? [Math.min(this.height(a), this.height(b)), Math.max(this.height(a), this.height(b))] : [0, 0];
    if (j.kind === "revolute" || j.kind === "cylindrical" || j.kind === "universal") {
      if (plane) {
        const half = (high - low) / 2 + 0.62 * w;
        const place = add(at, [0, 0, (high + low) / 2]);
        this.put("joint", "link", slot, pick, place, { core: [0, 0, half - 0.1 * w], ring: 0.42 * w, round: 0.1 * w });
        this.put("joint", "link", slot, pick, place, { core: [0, 0, half - 0.16 * w], ring: 0.56 * w, round: 0.06 * w, colour: theme.bright });
      } else {
        const turn = between(Z, j.axis?.[k] ?? Z);
        this.put("joint", "link", slot, pick, at, { turn, core: [0, 0, 1.5 * w], ring: 0.7 * w, round: 0.12 * w });
        this.put("joint", "link", slot, pick, at, { turn, core: [0, 0, 0.8 * w], ring: 1.25 * w, round: 0.12 * w, colour: theme.bright });
      }
    } else if (j.kind === "prismatic") {
      const axis = unit(j.axis?.[k] ?? [1, 0, 0], [1, 0, 0]);
      const rail = j.between[0] ?? null;
      const along = unit(j.axis?.[0] ?? axis, [1, 0, 0]);
      const rider = j.between[1] ?? null;
      const block = rider === null ? null : scene.bodies[rider].shape;
      // a block between two guides, or on one
      const sized = block?.type === "box";
      const across = cross(Z, along);
      const half = sized ? Math.abs(along[0]) * block.size[0] / 2 + Math.abs(along[1]) * block.size[1] / 2 : 1.6 * w;
      const beside = sized ? Math.abs(across[0]) * block.size[0] / 2 + Math.abs(across[1]) * block.size[1] / 2 : 1.1 * w;
      const [low, high] = this.travel.get(number) ?? [-3 * half, 3 * half];
      const middle = add(j.on[0], scale(along, (low + high) / 2));
      const core: Vec = [(high - low) / 2 + half + 0.6 * w, 0.1 * w, plane ? 0.3 * w : 0.1 * w];
      const turn = frame(along, Z);
      const colour = rail === null ? theme.ground : theme.steel;
      const guide = (off: Vec) => this.put("joint", "box", slotOf(this.out, rail, j.on[0]), pick, add(middle, off), { turn, core, round: 0.08 * w, colour });
      if (plane) [-1, 1].forEach((side) => guide(add(scale(across, side * (beside + 0.3 * w)), [0, 0, this.height(rider)])));
      else guide([0, 0, 0]);
      const shape = body === null ? "unknown" : scene.bodies[body].shape.type;
      if (shape === "unknown" || shape === "rod") {
        this.put("joint", "box", slot, pick, add(at, [0, 0, this.height(body)]), {
          turn: frame(axis, Z), core: [1.6 * w, 0.9 * w, plane ? 0.36 * w : 0.9 * w], round: 0.12 * w, colour: body === null ? theme.ground : this.colour(body),
        });
      }
    } else if (j.kind === "fixed") {
      const place = add(at, [0, 0, high]);
      this.put("joint", "box", slot, pick, place, { core: [0.5 * w, 0.5 * w, plane ? 0.5 * w : 0.5 * w], round: 0.12 * w });
    } else {
      this.put("joint", "ball", slot, pick, add(at, [0, 0, high]), { round: 1.15 * w });
    }
  }

  /** Where the ground holds something: a wedge on hatching in the plane, a foot in space. */
  private support(j: Element, k: number, pick: number): void {
    const { theme, w } = this;
    const at = j.on[k];
    const colour = theme.ground;
    if (j.kind === "prismatic") return;
    if (this.scene.plane) {
      const z = this.height(null);
      const turn = frame(cross(this.up, Z), Z);
      const local = (x: number, y: number): Vec => add(add(at, [0, 0, z]), add(scale(cross(this.up, Z), x * w), scale(this.up, y * w)));
      const s = 1.5 * w;
      this.put("joint", "wedge", 0, pick, add(at, [0, 0, z]), { turn, core: [s, s, 0.26 * w], round: 0.12 * w, colour });
      this.put("joint", "box", 0, pick, local(0, -2.6), { turn, core: [2.3 * w, 0.06 * w, 0.2 * w], round: 0.06 * w, colour });
      for (let i = -2; i <= 2; i++) {
        const from = local(i + 0.45, -2.75);
        const to = local(i - 0.25, -3.4);
        this.put("joint", "ball", 0, pick, scale(add(from, to), 0.5), {
          turn: between([1, 0, 0], sub(to, from)), core: [norm(sub(to, from)) / 2, 0, 0], round: 0.07 * w, colour,
        });
      }
    } else {
      const turn = between(Z, this.up);
      this.put("joint", "link", 0, pick, add(at, scale(this.up, -1.9 * w)), { turn, core: [0, 0, 0.25 * w], ring: 2.2 * w, round: 0.14 * w, colour });
      this.put("joint", "link", 0, pick, add(at, scale(this.up, -1.1 * w)), { turn, core: [0, 0, 0.8 * w], ring: 0.75 * w, round: 0.12 * w, colour });
    }
  }

  private span(e: Element): number {
    const slot = this.out.slots++;
    this.out.spans.push({ slot, ends: [this.end(e, 0), this.end(e, 1)] });
    return slot;
  }

  private end(e: Element, k: number): End {
    const body = e.between[k] ?? null;
    return { slot: slotOf(this.out, body, e.on[k]), on: add(e.on[k], [0, 0, this.scene.plane ? Math.max(0, this.height(body)) : 0]) };
  }

  private bar(j: Element, pick: number): void {
    const slot = this.span(j);
    const many = this.scene.joints.length > 200;
    this.put("joint", "ball", slot, pick, [0.5, 0, 0], { core: [0.5, 0, 0], round: (many ? 0.3 : 0.4) * this.w });
  }

  private force(f: Element, pick: number): void {
    const { theme, w, scene } = this;
    if (scene.forces.length > MANY_SYMBOLS) return;
    if (f.path) return this.path("force", f, pick);
    if (f.kind === "rope") return this.rope(f, pick);
    if (f.kind === "tyre") return this.tyre(f, pick);
    if (f.between.length === 1) return this.arrow(f, null, pick - scene.bodies.length - scene.joints.length, pick);
    if (f.kind === "spring-damper") {
      const slot = this.span(f);
      const slim = scene.forces.length > 60 ? 0.6 : 1;
      if (scene.forces.length > MANY_SPRINGS) {
        this.put("force", "ball", slot, pick, [0.5, 0, 0], { core: [0.5, 0, 0], round: 0.25 * w, colour: theme.spring });
        return;
      }
      if (f.spring) {
        this.put("force", "coil", slot, pick, [0, 0, 0], { core: [1, 1, 1], ring: 1.25 * w * slim, round: 0.2 * w * slim, colour: theme.spring });
        for (const x of [0.03, 0.97]) {
          this.put("force", "ball", slot, pick, [x, 0, 0], { core: [0.03, 0, 0], round: 0.2 * w * slim, colour: theme.spring });
        }
      }
      if (f.damper || !f.spring) {
        const turn = between(Z, [1, 0, 0]);
        this.put("force", "link", slot, pick, [0.36, 0, 0], { turn, core: [0, 0, 0.2], ring: 0.62 * w * slim, round: 0.08 * w, colour: theme.steel });
        this.put("force", "ball", slot, pick, [0.5, 0, 0], { core: [0.5, 0, 0], round: 0.2 * w * slim, colour: theme.steel });
      }
      return;
    }
    const k = f.between[1] !== null && f.between[1] !== undefined ? 1 : 0;
    const body = f.between[k] ?? null;
    const slot = slotOf(this.out, body, f.on[k]);
    const place = add(f.on[k], [0, 0, this.height(body) + (scene.plane ? 0.8 * w : 0)]);
    const turn = between(Z, f.axis?.[k] ?? Z);
    if (f.kind === "torsional-spring-damper") {
      // a short spring about the axis
      const along = between([1, 0, 0], f.axis?.[k] ?? Z);
      this.put("force", "coil", slot, pick, place, { turn: along, core: [0.9 * w, 1, 1], ring: 1.9 * w, round: 0.16 * w, colour: theme.spring });
    } else if (f.kind === "bushing") {
      this.put("force", "link", slot, pick, place, { turn, core: [0, 0, 0.5 * w], ring: 1.35 * w, round: 0.25 * w, colour: theme.rubber });
    }
  }

  /** The curve on the first body that an element follows. */
  private path(group: Group, e: Element, pick: number): void {
    const { w, theme } = this;
    const body = e.between[0] ?? null;
    const lift: Vec = [0, 0, this.height(body)];
    e.path?.slice(1).forEach((p, k) => {
      const from = e.path?.[k] as Vec;
      this.link(group, slotOf(this.out, body, from), pick, add(from, lift), add(p, lift), 0.22 * w, body === null ? theme.ground : theme.steel);
    });
  }

  /** The roller of a cam, about the place on the second body. */
  private roller(j: Element, pick: number): void {
    const body = j.between[1] ?? null;
    const slot = slotOf(this.out, body, j.on[1]);
    const edge = 0.1 * this.w;
    if (!this.scene.plane) return this.put("joint", "ball", slot, pick, j.on[1], { round: j.radii[1], colour: this.theme.bright });
    const place = add(j.on[1], [0, 0, this.height(j.between[0] ?? null)]);
    this.put("joint", "link", slot, pick, place, {
      core: [0, 0, 0.4 * this.w - edge], ring: Math.max(0, j.radii[1] - edge), round: edge, colour: this.theme.bright, marked: true,
    });
  }

  /** A tyre about its wheel. */
  private tyre(f: Element, pick: number): void {
    const { theme, scene, w } = this;
    const [body, radius, on] = [f.between[1] ?? null, f.radii[1] ?? 0, f.on[1]];
    if (!(radius > 0) || !on) return;
    const shape = body === null ? null : scene.bodies[body].shape;
    const turn = between(Z, unit(f.axis?.[1] ?? Z, Z));
    const slot = slotOf(this.out, body, on);
    // a wheel that is a cylinder shows its sides: only the tread is around it
    const wheel = shape?.type === "cylinder" && shape.radius > 0.8 * radius ? shape : null;
    const half = scene.plane ? 0.3 * w : wheel ? 0.46 * wheel.length : 0.18 * radius;
    const [ring, edge] = [wheel ? Math.max(radius, 1.03 * wheel.radius) : radius, Math.min(0.9 * half, 0.12 * radius)];
    const place = add(on, [0, 0, this.height(body) - (scene.plane && !wheel ? 0.5 * w : 0)]);
    this.put("force", "link", slot, pick, place, { turn, core: [0, 0, half - edge], ring: ring - edge, round: edge, colour: theme.rubber });
    if (wheel || scene.plane) return;
    this.put("force", "link", slot, pick, place, { turn, core: [0, 0, half], ring: 0.55 * radius, round: 0.02 * radius, colour: theme.bright, marked: true });
  }

  /** A rope through places and around pulleys: pieces that are put where they belong in every frame. */
  private rope(f: Element, pick: number): void {
    const { theme, scene, w } = this;
    const ends = f.on.map((_, k) => this.end(f, k));
    const pieces = f.on.length - 1 + f.radii.filter((r) => r !== 0).length * ARC;
    const slots = Array.from({ length: pieces }, () => this.out.slots++);
    for (const slot of slots) this.put("force", "ball", slot, pick, [0.5, 0, 0], { core: [0.5, 0, 0], round: 0.18 * w, colour: theme.rubber });
    this.out.ropes.push({ slots, ends, radii: f.on.map((_, k) => f.radii[k] ?? 0) });
    // pulleys that no body shows
    f.radii.forEach((r, k) => {
      const body = f.between[k] ?? null;
      const shape = body === null ? "unknown" : scene.bodies[body].shape.type;
      if (r === 0 || shape === "cylinder" || shape === "sphere") return;
      const edge = 0.08 * w;
      this.put("force", "link", ends[k].slot, pick, ends[k].on, { core: [0, 0, 0.25 * w], ring: Math.abs(r) - 0.18 * w - edge, round: edge, colour: theme.steel, marked: body !== null });
    });
  }

  /** An arrow at a joint (its reaction) or for a load on one body. A moment has two heads in space and is an arc in the plane. */
  private arrow(e: Element, joint: number | null, force: number | null, pick: number, moment = e.kind === "torque"): void {
    const { theme, w, scene } = this;
    if (joint !== null && scene.joints.length > 2000) return;
    const k = joint !== null ? 1 : 0;
    const body = e.between[k] ?? null;
    const slot = this.out.slots++;
    const lift = scene.plane ? 4 * w : 0;
    this.out.arrows.push({ slot, joint, force, moment, at: { slot: slotOf(this.out, body, e.on[k]), on: add(e.on[k] ?? [0, 0, 0], [0, 0, lift]) } });
    const group: Group = joint !== null ? "reaction" : "load";
    const colour = joint === null ? theme.load : moment ? theme.moment : theme.reaction;
    if (moment && (joint === null || scene.plane)) {
      const ring = 2.6 * w;
      this.put(group, "arc", slot, pick, [0, 0, 0], { ring, round: 0.24 * w, colour });
      this.put(group, "cone", slot, pick, [0, ring, -0.2 * w], { turn: between([1, 0, 0], [0, -0.28, 1]), ring: 0.85 * w, colour });
      return;
    }
    this.put(group, "ball", slot, pick, [0.5, 0, 0], { core: [0.5, 0, 0], round: 0.26 * w, colour });
    this.put(group, "cone", slot, pick, [0, 0, 0], { core: [1, 0, 0], ring: 0.85 * w, colour });
    if (moment) this.put(group, "cone", slot, pick, [1.6 * w, 0, 0], { core: [1, 0, 0], ring: 0.85 * w, colour });
  }
}
