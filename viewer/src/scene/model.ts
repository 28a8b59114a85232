// What is drawn: scene.json, or what can be guessed from the names of the channels.

import type { Results } from "../data/results";

export type Vec = [number, number, number];

export type Shape =
  | { type: "unknown" }
  | { type: "rod"; length: number; radius: number }
  | { type: "cylinder"; length: number; radius: number }
  | { type: "box"; size: Vec }
  | { type: "sphere"; radius: number };

/** Triangles on a body, in its frame, with the box they fill. */
export interface Mesh3 { positions: Float32Array; low: Vec; high: Vec }

/** Triangles with a look of their own, where they have one. */
export interface Solid { mesh: Mesh3; colour?: string; opacity?: number }

/** A flexible body: points in its frame, lines between them, and how each mode moves each point. */
export interface Flexible { points: Vec[]; lines: [number, number][]; modes: { channel: string; shape: Vec[] }[]; radius: number }

export interface Body {
  name: string;
  kind: string;
  mass: number;
  at: Vec;
  /** w, x, y, z */
  rotation: [number, number, number, number];
  shape: Shape;
  /** What is drawn in the place of the shape. */
  solids: Solid[];
  colour?: string;
  opacity: number;
  /** Whether the model hides it. */
  hidden: boolean;
  flexible?: Flexible;
}

/** A joint, or a force between bodies or on one body. */
export interface Element {
  name: string;
  kind: string;
  /** Numbers of bodies; null is the ground. */
  between: (number | null)[];
  /** A point on each, in its frame. */
  on: Vec[];
  /** An axis on each, in its frame. */
  axis?: Vec[];
  /** Points of a curve on the first body. */
  path?: Vec[];
  /** What is round about its ends: tyres, rollers, pulleys. */
  radii: number[];
  spring: boolean;
  damper: boolean;
  load?: { force: Vec; torque: Vec };
}

export interface Probe { name: string; body: number | null; on: Vec }

export interface Scene {
  model: string;
  plane: boolean;
  gravity: Vec;
  bodies: Body[];
  /** What is drawn of the ground. */
  ground: Solid[];
  joints: Element[];
  forces: Element[];
  probes: Probe[];
  /** Whether there was a scene, or only names. */
  guessed: boolean;
}

type Json = Record<string, unknown>;

const finite = (x: unknown): number => (typeof x === "number" && Number.isFinite(x) ? x : 0);
const list = (x: unknown): unknown[] => (Array.isArray(x) ? x : []);
const table = (x: unknown): Json => (x && typeof x === "object" ? (x as Json) : {});
const text = (x: unknown): string => (typeof x === "string" ? x : "");

/** Vectors that were seen: many bodies of a large model are alike, and share theirs. */
const seen: Vec[] = [];
const PLACES = 4096;

function vec(x: unknown): Vec {
  const of = list(x);
  const [a, b, c] = [finite(of[0]), finite(of[1]), finite(of[2])];
  const k = ((Math.round(1e4 * a) * 31 + Math.round(1e4 * b)) * 31 + Math.round(1e4 * c)) & (PLACES - 1);
  const old = seen[k];
  if (old && old[0] === a && old[1] === b && old[2] === c) return old;
  return (seen[k] = [a, b, c]);
}

function shape(x: unknown): Shape {
  const s = table(x);
  const [length, radius] = [Math.abs(finite(s.length)), Math.abs(finite(s.radius))];
  switch (s.type) {
    case "rod": return { type: "rod", length, radius };
    case "cylinder": return { type: "cylinder", length, radius };
    case "box": return { type: "box", size: vec(s.size).map(Math.abs) as Vec };
    case "sphere": return { type: "sphere", radius };
    default: return { type: "unknown" };
  }
}

/** Corners of triangles, nine numbers each, as base64 of single-precision numbers. */
function mesh(x: unknown): Mesh3 | undefined {
  const code = text(table(x).triangles);
  if (!code) return undefined;
  const bytes = Uint8Array.from(atob(code), (c) => c.charCodeAt(0));
  const n = Math.floor(bytes.length / 36) * 9;
  const positions = new Float32Array(bytes.buffer, 0, n);
  const [low, high]: [Vec, Vec] = [[Infinity, Infinity, Infinity], [-Infinity, -Infinity, -Infinity]];
  for (let i = 0; i < n; i++) {
    if (!Number.isFinite(positions[i])) positions[i] = 0;
    low[i % 3] = Math.min(low[i % 3], positions[i]);
    high[i % 3] = Math.max(high[i % 3], positions[i]);
  }
  return n > 0 ? { positions, low, high } : undefined;
}

function solid(x: unknown): Solid[] {
  const own = mesh(x);
  return own ? [{ mesh: own, ...look(table(x)) }] : [];
}

/** A colour and an opacity; a colour is six digits, so that no other text gets anywhere. */
function look({ colour, opacity }: Json): { colour?: string; opacity?: number } {
  return {
    ...(/^#[0-9a-f]{6}$/i.test(text(colour)) ? { colour: text(colour) } : {}),
    ...(typeof opacity === "number" && opacity >= 0 && opacity <= 1 ? { opacity } : {}),
  };
}

function flexible(x: unknown): Flexible | undefined {
  const f = table(x);
  const points = list(f.nodes).map(vec);
  if (points.length < 2) return undefined;
  const far = (a: Vec, b: Vec) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
  // a beam is its centre line; else each node is joined with the one next to it
  const near = (i: number) => points.reduce((best, p, k) => (k !== i && (best < 0 || far(p, points[i]) < far(points[best], points[i])) ? k : best), -1);
  const lines = f.line === true || points.length > 2000
    ? points.slice(1).map((_, i): [number, number] => [i, i + 1])
    : points.map((_, i): [number, number] => [i, near(i)]);
  const modes = list(f.modes).map((m) => ({ channel: text(table(m).channel), shape: list(table(m).shape).map(vec) }));
  return { points, lines, modes, radius: Math.abs(finite(f.radius)) };
}

/** Reads a scene item by item; whatever is missing or strange is left out, so that the rest can be seen. */
export class SceneReader {
  private readonly bodies: Body[] = [];
  private readonly ground: Solid[] = [];
  private readonly joints: Element[] = [];
  private readonly forces: Element[] = [];
  private readonly probes: Probe[] = [];
  private alike: Shape = { type: "unknown" };

  /** An item of one of the lists. */
  see(name: string, item: unknown): void {
    if (name === "bodies") this.bodies.push(this.body(item));
    else if (name === "ground") this.ground.push(...solid(item));
    else if (name === "joints") this.joints.push(element(item));
    else if (name === "forces") this.forces.push(element(item));
    else if (name === "probes") this.probes.push({ name: text(table(item).name), body: number(table(item).body), on: vec(table(item).on) });
  }

  private body(x: unknown): Body {
    const b = table(x);
    const q = list(b.rotation).map(finite);
    const own = shape(b.shape);
    const [s, t] = [own, this.alike] as unknown as Json[];
    if (own.type === "box" || s.type !== t.type || s.length !== t.length || s.radius !== t.radius) this.alike = own;
    const out: Body = {
      name: text(b.name), kind: text(b.kind), mass: finite(b.mass), at: vec(b.at),
      rotation: q.length === 4 && q.some((c) => c !== 0) ? (q as Body["rotation"]) : [1, 0, 0, 0], shape: this.alike,
      solids: list(b.solids).flatMap(solid), opacity: 1, hidden: b.hidden === true, ...look(b),
    };
    if (b.flexible) out.flexible = flexible(b.flexible);
    return out;
  }

  /** The scene, with what stands beside the lists; nothing if there is none. */
  finish(json: unknown): Scene | null {
    if (json === null || json === undefined) return null;
    const s = table(json);
    if (s.format !== "bellcrank-scene") throw new Error("scene.json is no scene of Bellcrank.");
    if (finite(s.version) > 1) throw new Error("scene.json was written by a later version of Bellcrank than this viewer.");
    const { bodies, ground, probes } = this;
    const body = (b: number | null) => (b !== null && bodies[b] ? b : null);
    const whole = (e: Element) => {
      e.between.forEach((b, k) => (e.between[k] = body(b)));
      return e.between.length > 0 && e.on.length === e.between.length;
    };
    probes.forEach((p) => (p.body = body(p.body)));
    return {
      model: text(s.model), plane: s.space === "plane", gravity: vec(s.gravity), bodies, ground,
      joints: this.joints.filter(whole), forces: this.forces.filter(whole), probes, guessed: false,
    };
  }
}

const number = (x: unknown): number | null => (Number.isInteger(x) ? (x as number) : null);

function element(x: unknown): Element {
  const e = table(x);
  const out: Element = {
    name: text(e.name), kind: text(e.kind), between: list(e.between).map(number), on: list(e.on).map(vec), spring: e.spring === true, damper: e.damper === true,
    radii: list(e.radii).map(finite),
  };
  if (Array.isArray(e.path)) out.path = e.path.map((p) => vec(p));
  if (Array.isArray(e.axis)) out.axis = e.axis.map(vec);
  if (e.load) out.load = { force: vec(table(e.load).force), torque: vec(table(e.load).torque) };
  return out;
}

/** Without a scene: a point for every NAME.x and NAME.y. */
export function guess(results: Results): Scene {
  const bodies: Body[] = [];
  let plane = true;
  results.names.stems((stem) => {
    if (results.find(stem, ".x") < 0 || results.find(stem, ".y") < 0) return;
    if (results.find(stem, ".z") >= 0) plane = false;
    const turns = results.find(stem, ".angle") >= 0 || results.find(stem, ".qw") >= 0;
    bodies.push({
      name: stem, kind: turns ? "rigid" : "point", mass: 0, at: [0, 0, 0], rotation: [1, 0, 0, 0], shape: { type: "unknown" }, solids: [], opacity: 1, hidden: false,
    });
  });
  const model = text(table(results.status.summary).model);
  return { model, plane, gravity: plane ? [0, -1, 0] : [0, 0, -1], bodies, ground: [], joints: [], forces: [], probes: [], guessed: true };
}

/** What can be picked and looked at. */
export type Kind = "body" | "joint" | "force" | "probe";
export interface Entity { kind: Kind; index: number; name: string }

/** The box that the solids of a body fill. */
export function box(solids: Solid[]): { low: Vec; high: Vec } | null {
  if (!solids.length) return null;
  const all = (side: "low" | "high", of: (...x: number[]) => number) => [0, 1, 2].map((k) => of(...solids.map((s) => s.mesh[side][k]))) as Vec;
  return { low: all("low", Math.min), high: all("high", Math.max) };
}

/** All entities, in the order of their numbers for picking. */
export function entities(scene: Scene): Entity[] {
  const of = (kind: Kind, items: { name: string }[]) => items.map((x, index): Entity => ({ kind, index, name: x.name }));
  return [...of("body", scene.bodies), ...of("joint", scene.joints), ...of("force", scene.forces), ...of("probe", scene.probes)];
}
