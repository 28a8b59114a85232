// The stage: renderer, cameras, lights and ground; it draws the mechanism when something has changed.

import {
  Box3, type BufferGeometry, Color, DirectionalLight, HemisphereLight, MOUSE, OrthographicCamera, PCFShadowMap, PerspectiveCamera,
  Scene as Root, Sphere, TOUCH, Vector3, WebGLRenderTarget, WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import type { Results } from "../data/results";
import { dot, norm, scale as times, sub, unit } from "./algebra";
import { Copy } from "./copy";
import { Ghost } from "./ghost";
import { Grid } from "./grid";
import type { Group } from "./items";
import { Mechanism } from "./mechanism";
import { type Entity, type Scene, type Vec, box as boxOf, entities } from "./model";
import { type Parts, type Travel, slotOf } from "./parts";
import type { Poses, Slots } from "./poses";
import { LEVELS, LINES, meshes, primitives } from "./primitives";
import { type Light, Solids } from "./solids";
import type { Theme } from "./theme";
import { Traces } from "./traces";

export type View = "front" | "top" | "side" | "iso";
type Camera = PerspectiveCamera | OrthographicCamera;

const FOV = 32;
const SHADOWED = 5000;
/** A frame that takes longer than SLOW is slow; a picture rests when nothing was drawn for REST (milliseconds). */
const SLOW = 34;
const REST = 500;
/**
 * How a picture is drawn: in full; without shadows; quickly, with all light at the vertices and coarse solids; so with
 * fewer pixels.
 */
const enum Care { Full = 0, Unshadowed = 1, Quick = 2, Least = 3 }
/** So many joints are drawn quickly without symbols, if these are only a few pixels wide. */
const MANY_SYMBOLS = 300;
/** Without a graphics processor more triangles than this are drawn quickly, also at rest. */
const PATIENT = 700_000;
/** So many points decide what a view must show; a ball is seen by the corners of a cube within it. */
const POINTS = 60_000;
const ROUND = 1 / Math.sqrt(3);

/** A moment in the plane that is a smaller share of the largest is not drawn. */
const LITTLE = 1e-3;

/** Columns of each joint, and the size that a full arrow stands for. */
interface Vectors { columns: Float64Array[][]; largest: number }

export interface Shown { joints: boolean; forces: boolean; reactions: boolean; traces: boolean; grid: boolean; labels: boolean }

export class Stage {
  readonly renderer: WebGLRenderer;
  /** Whether there is no graphics processor. */
  readonly software: boolean;
  readonly machine: Mechanism;
  /** The machines of other runs. */
  readonly ghosts: Ghost[] = [];
  readonly entities: Entity[];
  /** What is not drawn, by the numbers of the entities. */
  readonly hidden = new Set<number>();
  view: View = "front";
  flat = false;
  /** The length of the longest reaction arrow, in units of the default. */
  arrowScale = 1;
  onDraw: () => void = () => undefined;
  private readonly root = new Root();
  private readonly perspective = new PerspectiveCamera(FOV, 1, 0.01, 100);
  private readonly orthographic = new OrthographicCamera(-1, 1, 1, -1, 0.01, 100);
  private camera: Camera = this.perspective;
  private controls: OrbitControls;
  private solids: Solids;
  private readonly traces = new Traces();
  private readonly grid: Grid;
  private readonly key = new DirectionalLight(0xffffff, 2.3);
  private readonly fill = new DirectionalLight(0xffffff, 0.55);
  private readonly sky = new HemisphereLight(0xffffff, 0x888888, 1.35);
  private readonly bounds = new Box3();
  private readonly ball = new Sphere();
  /** Some of the points that the motion passes: x, y, z in turn. */
  private points: number[] = [];
  private readonly travel: Travel = new Map();
  private readonly up: Vec;
  private readonly pickTarget = new WebGLRenderTarget(1, 1);
  private dirty = true;
  private drawn = 0;
  drawnAs: number = Care.Full;
  private slow = 0;
  private moving = false;
  private care = Care.Full; // while something moves
  private readonly copy: Copy | null;
  private meshes: Record<string, BufferGeometry> | undefined;
  private readonly solidsAt: (Record<string, BufferGeometry> | undefined)[] = [];
  private readonly light: Light = {
    key: new Vector3(0, 0, 1), fill: new Vector3(1, 0, 0), up: new Vector3(0, 0, 1), sky: new Color(), earth: new Color(), strength: new Vector3(),
  };
  private selected = -1;
  private hovered = -1;
  private flight: { start: number; from: Pose; to: Pose } | null = null;
  /** Whether the view is one of everything, which the user has not changed. */
  private fitted = true;
  /** Forces and moments of the joints, by axes. */
  private reactions: { force: Vectors; moment: Vectors } | null = null;
  /** Columns of the loads on one body, and the largest force among them. */
  private loads: (Float64Array[] | null)[] = [];
  private largestLoad = 0;
  /** The body that the camera moves with, and where it was. */
  private followed: { pick: number; at: Vec } | null = null;
  /** The arrows that are drawn: where their tips are, and what they stand for. */
  readonly drawnArrows: { tip: Vec; size: number; moment: boolean }[] = [];
  private width = 1;
  private height = 1;
  private shown: Shown = { joints: true, forces: true, reactions: false, traces: true, grid: true, labels: false };

  constructor(
    readonly canvas: HTMLCanvasElement, readonly scene: Scene, private readonly results: Results, private theme: Theme,
  ) {
    this.software = software();
    this.care = this.software ? Care.Quick : Care.Full;
    // smooth edges cost a processor as much again, so it draws them only at rest
    this.renderer = new WebGLRenderer({ canvas, antialias: !this.software, alpha: true, powerPreference: "high-performance" });
    this.renderer.setClearColor(0, 0);
    this.renderer.info.autoReset = false;
    this.copy = this.software ? new Copy() : null;
    this.renderer.shadowMap.enabled = scene.bodies.length <= SHADOWED;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.entities = entities(scene);
    scene.bodies.forEach((b, i) => b.hidden && this.hidden.add(i));
    this.up = scene.plane ? [0, 1, 0] : unit(times(scene.gravity, -1), [0, 0, 1]);
    this.machine = new Mechanism(scene, results, theme, this.startSize(), this.travel);
    this.solids = this.makeSolids();
    const floor: Vec = [0, 0, this.parts.floor];
    this.grid = new Grid(scene.plane ? [0, 0, 1] : this.up, floor);
    this.root.add(this.grid.mesh, this.grid.quick, this.grid.shadow, this.solids.node, this.traces.node, this.sky, this.key, this.key.target, this.fill);
    this.key.castShadow = this.renderer.shadowMap.enabled;
    this.key.shadow.mapSize.set(2048, 2048);
    this.key.shadow.radius = 3;
    this.controls = this.makeControls();
    this.colour(theme);
  }

  get slots(): Slots {
    return this.machine.slots;
  }

  get poses(): Poses {
    return this.machine.poses;
  }

  get parts(): Parts {
    return this.machine.parts;
  }

  get row(): number {
    return this.machine.row;
  }

  get share(): number {
    return this.machine.share;
  }

  /** How much larger deformations of flexible bodies are drawn. */
  get deformation(): number {
    return this.machine.deformation;
  }

  set deformation(factor: number) {
    for (const m of [this.machine, ...this.ghosts.map((g) => g.machine)]) m.deformation = factor;
  }

  bent(body: number): Vec[] {
    return this.machine.bent(body);
  }

  /** Adds the machine of another run. */
  async addGhost(scene: Scene, results: Results): Promise<Ghost> {
    const ghost = new Ghost(scene, results, this.theme, this.startSize(), this.ghosts.length, this.software, this.light, () => this.invalidate());
    ghost.solids.resize(this.width, this.height);
    this.ghosts.push(ghost);
    this.root.add(ghost.solids.node);
    await Promise.all([ghost.machine.poses.load(0), ghost.machine.loadModes(), ghost.machine.poses.survey()]);
    this.remeasure();
    return ghost;
  }

  /** Reads what is drawn at a time. */
  async load(t: number): Promise<void> {
    await Promise.all([this.machine, ...this.ghosts.map((g) => g.machine)].map((m) => m.load(t)));
  }

  private startSize(): number {
    const box = new Box3();
    const see = (p: Vec) => box.expandByPoint(new Vector3(...p));
    this.scene.bodies.forEach((b) => see(b.at));
    for (const e of [...this.scene.joints, ...this.scene.forces]) e.between.forEach((b, k) => b === null && see(e.on[k]));
    return box.isEmpty() ? 1 : box.getSize(new Vector3()).length() || 1;
  }

  private makeSolids(): Solids {
    const shadows = this.scene.bodies.length <= SHADOWED;
    this.hidden.forEach((pick) => this.parts.items.hide(pick, true));
    return new Solids(this.parts.items, this.slots, (level) => this.geometries(level), shadows, this.software, this.light);
  }

  /** The solids at a level of detail; meshes of bodies have one. */
  private geometries(level: number): Record<string, BufferGeometry> {
    this.meshes ??= meshes(this.scene);
    return (this.solidsAt[level] ??= { ...primitives(level), ...this.meshes });
  }

  private makeControls(): OrbitControls {
    this.perspective.up.set(...this.up);
    this.orthographic.up.set(...this.up);
    const controls = new OrbitControls(this.camera, this.canvas);
    controls.enableDamping = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    controls.dampingFactor = 0.18;
    controls.zoomToCursor = true;
    controls.screenSpacePanning = true;
    controls.zoomSpeed = 1.4;
    controls.addEventListener("change", () => this.invalidate());
    controls.addEventListener("start", () => {
      this.flight = null;
      this.fitted = false;
    });
    return controls;
  }

  /** New colours. */
  paint(theme: Theme): void {
    this.machine.rebuild(theme);
    for (const g of this.ghosts) {
      this.root.remove(g.solids.node);
      g.paint(theme);
      g.solids.resize(this.width, this.height);
      this.root.add(g.solids.node);
    }
    this.root.remove(this.solids.node);
    this.solids.dispose();
    this.solids = this.makeSolids();
    this.root.add(this.solids.node);
    this.solids.resize(this.width, this.height);
    this.colour(theme);
  }

  private colour(theme: Theme): void {
    this.theme = theme;
    this.show(this.shown);
    const axis = (k: number) => Math.abs(this.up[k]) > 0.999;
    this.grid.paint(theme, this.scene.plane || axis(2) ? "z" : "other");
    this.sky.color.set(theme.sky);
    this.sky.groundColor.set(theme.earth);
    this.key.intensity = 2.3 * theme.light;
    this.light.sky.set(theme.sky);
    this.light.earth.set(theme.earth);
    this.light.strength.set(this.key.intensity, this.fill.intensity, this.sky.intensity);
    this.traces.paint(theme);
    this.select(this.selected);
    this.hover(-1);
    this.invalidate();
  }

  /** Hides or shows an entity, in other runs too where they have it. */
  hide(pick: number, hidden: boolean): void {
    const entity = this.entities[pick];
    if (!entity) return;
    if (hidden) this.hidden.add(pick);
    else this.hidden.delete(pick);
    this.solids.hide(pick, hidden);
    this.ghosts.forEach((g) => g.hide(entity, hidden));
    this.invalidate();
  }

  invalidate(): void {
    this.dirty = true;
  }

  show(shown: Shown): void {
    this.shown = { ...shown };
    const groups: [Group, boolean][] = [["joint", shown.joints], ["force", shown.forces], ["load", shown.forces], ["reaction", shown.reactions]];
    groups.forEach(([g, on]) => this.solids.show(g, on));
    this.traces.node.visible = shown.traces;
    this.showGrid();
    this.invalidate();
  }

  /** Reads what is needed for a first picture. */
  async prepare(): Promise<void> {
    await this.poses.load(0);
    if (this.slides()) this.paint(this.theme);
    this.measure();
    this.goto(this.scene.plane ? "front" : "iso", false);
    this.seek(0, 0);
  }

  /** The paths of probes, once they are read. */
  async loadTraces(): Promise<void> {
    await this.traces.load(this.scene, this.results, this.theme, this.scene.plane ? 0.2 * this.parts.width : 0);
    this.traces.at(this.row, this.share);
    this.invalidate();
  }

  /** How far the slides go; whether there are any. */
  private slides(): boolean {
    const some = this.scene.joints.map((j, i) => ({ j, i })).filter(({ j }) => j.kind === "prismatic" && j.axis).slice(0, 500);
    if (some.length > 0) this.poses.sample(this.slots, 64, () => {
      for (const { j, i } of some) {
        const [a, b] = j.between.map((body) => (body === null ? 0 : body + 1));
        const from = this.slots.point(a, j.on[0]);
        const x = dot(sub(this.slots.point(b, j.on[1]), from), this.slots.direction(a, unit(j.axis?.[0] ?? [1, 0, 0], [1, 0, 0])));
        if (!Number.isFinite(x)) continue;
        const [low, high] = this.travel.get(i) ?? [x, x];
        this.travel.set(i, [Math.min(low, x), Math.max(high, x)]);
      }
    });
    return some.length > 0;
  }

  /** The box that the motion fills, from some of its frames. */
  private measure(): void {
    const box = this.bounds.makeEmpty();
    const round = this.scene.bodies.length <= 400; // of many bodies the size of one does not matter
    this.points = [];
    const grow = (x: number, y: number, z: number, r: number) => {
      if (!Number.isFinite(x + y + z)) return;
      if (this.points.length < 3 * POINTS) {
        this.points.push(x, y, z);
        if (r > 0 && round) for (let k = 0; k < 8; k++) this.points.push(x + (k & 1 ? r : -r) * ROUND, y + (k & 2 ? r : -r) * ROUND, z + (k & 4 ? r : -r) * ROUND);
      }
      box.min.set(Math.min(box.min.x, x - r), Math.min(box.min.y, y - r), Math.min(box.min.z, z - r));
      box.max.set(Math.max(box.max.x, x + r), Math.max(box.max.y, y + r), Math.max(box.max.z, z + r));
    };
    for (const { scene: { bodies }, poses, slots, parts: { width, held } } of [this.machine, ...this.ghosts.map((g) => g.machine)]) {
      const some = Math.max(1, Math.ceil(bodies.length / 1200)); // few enough for all points of all frames
      poses.sample(slots, bodies.length > 400 ? 8 : 48, () => {
        for (let i = 0; i < bodies.length; i += some) {
          if (slots.hidden(i + 1) || this.hidden.has(i)) continue;
          const k = 8 * (i + 1);
          const d = slots.data;
          const s = bodies[i].shape;
          if (s.type === "rod") for (const end of [s.length / 2, -s.length / 2]) grow(...slots.point(i + 1, [end, 0, 0]), width);
          else if (s.type === "box") {
            const [x, y, z] = s.size.map((c) => c / 2);
            for (let c = 0; c < 8; c++) grow(...slots.point(i + 1, [c & 1 ? x : -x, c & 2 ? y : -y, c & 4 ? z : -z]), 0);
          } else if (bodies[i].solids.length) {
            const { low, high } = boxOf(bodies[i].solids) as { low: Vec; high: Vec };
            for (let c = 0; c < 8; c++) grow(...slots.point(i + 1, [c & 1 ? low[0] : high[0], c & 2 ? low[1] : high[1], c & 4 ? low[2] : high[2]]), 0);
          } else grow(d[k], d[k + 1], d[k + 2], s.type === "unknown" ? width : Math.hypot(s.radius, s.type === "cylinder" ? s.length / 2 : 0));
          bodies[i].flexible?.points.forEach((p) => grow(...slots.point(i + 1, p), width));
          for (const p of held[i].slice(0, round ? 16 : 4)) grow(...slots.point(i + 1, p), width);
        }
      });
    }
    for (const e of [...this.scene.joints, ...this.scene.forces]) {
      e.between.forEach((b, k) => {
        if (b !== null || e.between.length < 2) return;
        grow(...e.on[k], this.parts.width);
        if (this.scene.plane && e.kind === "revolute") grow(e.on[k][0], e.on[k][1] - 3.4 * this.parts.width, 0, this.parts.width);
      });
    }
    if (box.isEmpty()) grow(0, 0, 0, 1);
    if (this.scene.plane) box.min.z = box.max.z = 0;
    box.getBoundingSphere(this.ball);
    this.ball.radius = Math.max(this.ball.radius, 3 * this.parts.width, 1e-9);
    if (!this.scene.plane) {
      // the ground lies under what moves; at the origin if that is near
      const low = this.lowest();
      const gap = this.ball.radius * 0.35;
      const height = low > -1e-6 * this.ball.radius && low < gap ? 0 : low - 0.02 * this.ball.radius;
      const at = new Vector3(...this.up).multiplyScalar(height - 2.2 * this.parts.width * (height === 0 && this.supported() ? 1 : 0));
      this.grid.mesh.position.copy(at);
      this.grid.shadow.position.copy(at);
    } else {
      this.grid.mesh.position.z = this.grid.shadow.position.z = this.parts.floor;
    }
    this.shine();
  }

  private supported(): boolean {
    return this.scene.joints.some((j) => j.between.some((b, k) => b === null && Math.abs(new Vector3(...j.on[k]).dot(new Vector3(...this.up))) < this.parts.width));
  }

  /** The lowest corner of the box, along the vertical. */
  private lowest(): number {
    const { min, max } = this.bounds;
    return this.up.reduce((sum, u, k) => sum + u * (u > 0 ? min.getComponent(k) : max.getComponent(k)), 0);
  }

  private shine(): void {
    const { center, radius: r } = this.ball;
    const up = new Vector3(...this.up);
    const side = new Vector3(1, 0, 0).addScaledVector(up, -up.x).normalize();
    if (side.lengthSq() < 0.1) side.set(0, 0, 1);
    const front = this.scene.plane ? new Vector3(0, 0, 1) : new Vector3().crossVectors(side, up);
    const from = this.scene.plane
      ? new Vector3(-0.35, 0.5, 1.2)
      : up.clone().multiplyScalar(1.25).addScaledVector(side, -0.55).addScaledVector(front, 0.75);
    this.key.position.copy(center).addScaledVector(from.normalize(), 4 * r);
    this.key.target.position.copy(center);
    this.fill.position.copy(center).addScaledVector(side, 3 * r).addScaledVector(front, 2 * r).addScaledVector(up, -r);
    this.light.key.copy(from);
    this.light.fill.copy(this.fill.position).sub(center).normalize();
    this.light.up.copy(up);
    const c = this.key.shadow.camera;
    [c.left, c.right, c.top, c.bottom, c.near, c.far] = [-1.35 * r, 1.35 * r, 1.35 * r, -1.35 * r, 0.5 * r, 9 * r];
    c.updateProjectionMatrix();
    this.key.shadow.bias = -0.0006;
    this.key.shadow.normalBias = 0.004 * r;
  }

  /** Shows the time at a row, and a share of the way to the next; false while that is being read. */
  seek(row: number, share: number, playing = false): boolean {
    if (!this.machine.seek(row, share, playing)) return false;
    this.moveAlong();
    this.arrows();
    this.solids.moved();
    this.traces.at(row, share);
    this.invalidate();
    return true;
  }

  /** Lets the camera go with an entity; −1 lets it stand. */
  follow(pick: number): void {
    const at = this.where(pick);
    this.followed = at ? { pick, at } : null;
    if (at) this.focus(pick);
  }

  get following(): number {
    return this.followed?.pick ?? -1;
  }

  private moveAlong(): void {
    const at = this.followed && this.where(this.followed.pick);
    if (!this.followed || !at) return;
    const by = new Vector3(...sub(at, this.followed.at));
    this.followed.at = at;
    if (this.flight) this.flight.to.target.add(by);
    const pose = this.pose();
    this.place({ ...pose, target: pose.target.add(by) });
  }

  /** The force that an arrow of full length stands for: loads and reactions have one scale. */
  private get fullForce(): number {
    return Math.max(this.shown.reactions ? this.reactions?.force.largest ?? 0 : 0, this.shown.forces ? this.largestLoad : 0);
  }

  private arrows(): void {
    const { width } = this.parts;
    const head = 2.6 * 0.85 * width;
    const full = 0.3 * this.ball.radius * this.arrowScale;
    const { fullForce } = this;
    const at = (columns: Float64Array[], k: number) => (columns[k] ? this.machine.at(columns[k]) : 0);
    this.drawnArrows.length = 0;
    for (const a of this.parts.arrows) {
      this.slots.hide(a.slot);
      if (this.slots.hidden(a.at.slot)) continue;
      let v: Vec | null = null;
      let length = 0;
      if (a.joint !== null) {
        const vectors = this.reactions?.[a.moment ? "moment" : "force"];
        const columns = vectors?.columns[a.joint];
        if (!this.shown.reactions || !columns?.length || !vectors || !(vectors.largest > 0)) continue;
        v = a.moment && this.scene.plane ? [0, 0, at(columns, 0)] : [at(columns, 0), at(columns, 1), at(columns, 2)];
        const share = norm(v) / (a.moment ? vectors.largest : fullForce);
        length = a.moment && this.scene.plane ? (share > LITTLE ? 3 * head : 0) : share * full;
      } else if (a.force !== null) {
        const f = this.scene.forces[a.force];
        const columns = this.loads[a.force];
        if (!f.load || !this.shown.forces) continue;
        v = columns ? [at(columns, 0), at(columns, 1), at(columns, 2)] : f.kind === "torque" ? f.load.torque : f.load.force;
        const share = a.moment || !fullForce ? 1 : norm(v) / fullForce;
        length = norm(v) > 0 && share > LITTLE ? Math.max(share * full, 1.6 * head) : 0;
        if (a.moment && norm(v) > 0) length = 3 * head;
      }
      if (!v || !(length > 0.15 * head)) continue;
      const start = this.slots.point(a.at.slot, a.at.on);
      const n = norm(v);
      const tip = start.map((c, k) => c + (v[k] / n) * Math.max(length, 1.1 * head)) as Vec;
      this.slots.span(a.slot, start, tip, head);
      this.drawnArrows.push({ tip, size: n, moment: a.moment });
    }
  }

  /** What an arrow of a length (in m) stands for, in N; nothing if there are no arrows. */
  forceOf(length: number): number | null {
    const largest = this.fullForce;
    return largest && this.drawnArrows.some((a) => !a.moment) ? (length / (0.3 * this.ball.radius * this.arrowScale)) * largest : null;
  }

  /** Reads the reactions of the joints; their arrows are scaled by the largest of the run. */
  async loadReactions(): Promise<boolean> {
    if (!this.reactions) {
      const [force, moment] = await Promise.all(this.scene.plane
        ? [this.vectors(["fx", "fy"]), this.vectors(["mz"])]
        : [this.vectors(["fx", "fy", "fz"]), this.vectors(["mx", "my", "mz"])]);
      this.reactions = { force, moment };
    }
    return this.reactions.force.largest > 0 || this.reactions.moment.largest > 0;
  }

  /** A vector of every joint that has it, by its columns. */
  private async vectors(axes: string[]): Promise<Vectors> {
    const { rows } = this.results;
    const budget = Math.max(1, Math.floor(2e7 / Math.max(1, axes.length * rows)));
    const list = this.scene.joints.slice(0, budget).map((j) => axes.map((a) => this.results.find(`${j.name}.${a}`)));
    const wanted = list.map((c) => (c.every((k) => k >= 0) ? c : []));
    const flat = wanted.flat();
    if (flat.length === 0) return { columns: [], largest: 0 };
    const values = await this.results.source.columns(flat, 0, rows) as Float64Array;
    let next = 0;
    const columns = wanted.map((c) => c.map(() => values.subarray(next * rows, ++next * rows)));
    const sizes: number[] = [];
    const every = Math.max(1, Math.floor(rows / 2000));
    for (const c of columns) {
      for (let i = 0; c.length && i < rows; i += every) {
        const size = Math.hypot(...c.map((x) => x[i]));
        if (Number.isFinite(size)) sizes.push(size);
      }
    }
    sizes.sort((a, b) => a - b);
    return { columns, largest: sizes[Math.floor(0.98 * (sizes.length - 1))] || sizes[sizes.length - 1] || 0 };
  }

  /** Reads loads that were recorded. */
  async loadLoads(): Promise<void> {
    await Promise.all(this.scene.forces.map(async (f, i) => {
      if (!f.load) return;
      const letter = f.kind === "torque" ? "m" : "f";
      const columns = ["x", "y", "z"].map((a) => this.results.find(`${f.name}.${letter}${a}`)).filter((k) => k >= 0);
      if (columns.length) this.loads[i] = await Promise.all(columns.map((k) => this.results.column(k)));
    }));
    this.largestLoad = 0;
    this.scene.forces.forEach((f, i) => {
      if (!f.load || f.kind === "torque") return;
      const own = this.loads[i];
      const sizes = own ? Array.from(own[0] ?? [], (_, row) => Math.hypot(...own.map((x) => x[row]))) : [norm(f.load.force)];
      for (const size of sizes) if (size > this.largestLoad) this.largestLoad = size;
    });
  }

  /** Looks all over a run of which only the beginning was read, so that the view holds the whole motion. */
  async survey(): Promise<void> {
    if (await this.poses.survey()) this.remeasure();
  }

  private remeasure(): void {
    const before = this.bounds.clone();
    const [row, share] = [this.row, this.share];
    this.measure();
    this.seek(row, share);
    this.ghosts.forEach((g) => g.again());
    const grown = before.expandByScalar(0.01 * this.ball.radius);
    if (this.fitted && !grown.containsBox(this.bounds)) this.goto(this.view, false);
  }

  /** There are more rows; `all` also reads again what is read as a whole. */
  async extend(all: boolean): Promise<void> {
    await this.poses.extend();
    this.remeasure();
    await this.machine.loadModes();
    if (!all) return;
    if (this.reactions && this.shown.reactions) {
      this.reactions = null;
      await this.loadReactions();
    } else this.reactions = null;
    await this.loadLoads();
    await this.loadTraces();
  }

  // ————————————————————————————— camera —————————————————————————————

  private pose(): Pose {
    return { target: this.controls.target.clone(), direction: this.camera.position.clone().sub(this.controls.target).normalize(), size: this.extent(), up: this.camera.up.clone() };
  }

  /** Height of the view in the world, at the target. */
  private extent(): number {
    if (this.camera instanceof OrthographicCamera) return (this.camera.top - this.camera.bottom) / this.camera.zoom;
    return 2 * this.camera.position.distanceTo(this.controls.target) * Math.tan((FOV * Math.PI) / 360);
  }

  private place(p: Pose): void {
    const distance = p.size / (2 * Math.tan((FOV * Math.PI) / 360));
    const aspect = this.width / this.height;
    const r = Math.max(this.ball.radius, p.size);
    this.controls.target.copy(p.target);
    this.perspective.up.copy(p.up);
    this.orthographic.up.copy(p.up);
    this.perspective.position.copy(p.target).addScaledVector(p.direction, distance);
    [this.perspective.near, this.perspective.far, this.perspective.aspect] = [r / 500, 200 * r, aspect];
    this.orthographic.position.copy(p.target).addScaledVector(p.direction, 20 * r);
    [this.orthographic.left, this.orthographic.right] = [(-p.size * aspect) / 2, (p.size * aspect) / 2];
    [this.orthographic.top, this.orthographic.bottom, this.orthographic.zoom] = [p.size / 2, -p.size / 2, 1];
    [this.orthographic.near, this.orthographic.far] = [0.1 * r, 80 * r];
    this.perspective.updateProjectionMatrix();
    this.orthographic.updateProjectionMatrix();
    for (const c of [this.perspective, this.orthographic]) c.lookAt(p.target);
    this.invalidate();
  }

  /** Chooses a view of everything. */
  goto(view: View, smoothly = true): void {
    this.view = view;
    this.fitted = true;
    const up = new Vector3(...this.up);
    let side = new Vector3(1, 0, 0);
    if (Math.abs(up.x) > 0.9) side = new Vector3(0, 1, 0);
    side.addScaledVector(up, -side.dot(up)).normalize();
    const front = this.scene.plane ? new Vector3(0, 0, 1) : new Vector3().crossVectors(side, up); // towards the reader
    const eps = 1e-4; // never exactly along the vertical
    const direction = {
      front: front.clone(),
      side: side.clone(),
      top: up.clone().addScaledVector(front, eps),
      iso: front.clone().multiplyScalar(1).addScaledVector(side, 0.75).addScaledVector(up, 0.62),
    }[view].normalize();
    this.setFlat(view !== "iso"); // as on a drawing
    this.setButtons();
    this.fly(this.fitting(direction, up), smoothly);
  }

  /** The view along a direction that shows all of the motion, with a margin. */
  private fitting(direction: Vector3, up: Vector3): Pose {
    const right = new Vector3().crossVectors(up, direction).normalize();
    const above = new Vector3().crossVectors(direction, right);
    const aspect = this.width / this.height;
    const slope = Math.tan((FOV * Math.PI) / 360);
    const target = this.ball.center.clone();
    let size = 3 * this.ball.radius;
    const p = new Vector3();
    for (let pass = 0; pass < 3; pass++) {
      // what is nearer looks larger: the bounds of the picture, as seen from a distance that fits
      const distance = this.flat ? Infinity : Math.max(size / (2 * slope), 1e-9);
      let [l, r, b, t, need] = [Infinity, -Infinity, Infinity, -Infinity, 0];
      for (let k = 0; k < this.points.length; k += 3) {
        p.set(this.points[k], this.points[k + 1], this.points[k + 2]).sub(target);
        const [x, y, near] = [p.dot(right), p.dot(above), p.dot(direction)];
        const larger = this.flat ? 1 : 1 / Math.max(0.05, 1 - near / distance);
        [l, r, b, t] = [Math.min(l, x * larger), Math.max(r, x * larger), Math.min(b, y * larger), Math.max(t, y * larger)];
        need = Math.max(need, 2 * (Math.max(Math.abs(y), Math.abs(x) / aspect) + (this.flat ? 0 : near * slope)));
      }
      if (l > r) break;
      size = Math.max(need, 4 * this.parts.width);
      if (pass < 2) target.addScaledVector(right, (l + r) / 2).addScaledVector(above, (b + t) / 2);
    }
    return { target, direction, size: 1.16 * size, up };
  }

  private setButtons(): void {
    const drawing = this.scene.plane && this.view === "front";
    this.controls.mouseButtons = drawing
      ? { LEFT: MOUSE.PAN, MIDDLE: MOUSE.DOLLY, RIGHT: MOUSE.ROTATE }
      : { LEFT: MOUSE.ROTATE, MIDDLE: MOUSE.DOLLY, RIGHT: MOUSE.PAN };
    this.controls.touches = { ONE: drawing ? TOUCH.PAN : TOUCH.ROTATE, TWO: TOUCH.DOLLY_PAN };
  }

  private fly(to: Pose, smoothly: boolean): void {
    if (!smoothly || matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.flight = null;
      this.place(to);
      return;
    }
    this.flight = { start: performance.now(), from: this.pose(), to };
    this.invalidate();
  }

  /** Chooses parallel or central projection, keeping the view. */
  setFlat(flat: boolean): void {
    const pose = this.pose();
    this.flat = flat;
    this.camera = flat ? this.orthographic : this.perspective;
    this.controls.object = this.camera;
    this.place(pose);
  }

  resize(width: number, height: number): void {
    if (width < 1 || height < 1) return;
    const pose = this.pose();
    [this.width, this.height] = [width, height];
    this.renderer.setPixelRatio(this.ratio(this.drawnAs));
    this.renderer.setSize(width, height, false);
    [this.solids, ...this.ghosts.map((g) => g.solids)].forEach((solids) => solids.resize(width, height));
    // a view of everything stays one; another keeps its place and size
    if (this.fitted && this.points.length > 0) this.goto(this.view, false);
    else if (Number.isFinite(pose.size) && pose.size > 0) this.place(pose);
    this.invalidate();
  }

  /** What a pixel covers at the target. */
  get perPixel(): number {
    return this.extent() / this.height;
  }

  get gridSpacing(): number {
    return this.grid.spacing;
  }

  // ————————————————————————————— drawing —————————————————————————————

  /** Draws if something has changed. */
  frame(now: number): void {
    if (this.flight) {
      const { start, from, to } = this.flight;
      const u = Math.min(1, (now - start) / 380);
      const s = u < 0.5 ? 4 * u ** 3 : 1 - (2 - 2 * u) ** 3 / 2;
      this.place({
        target: from.target.clone().lerp(to.target, s), direction: from.direction.clone().lerp(to.direction, s).normalize(),
        size: from.size * (to.size / from.size) ** s, up: from.up.clone().lerp(to.up, s).normalize(),
      });
      if (u >= 1) this.flight = null;
    } else {
      this.controls.update();
    }
    if (!this.dirty) {
      // at rest the picture is drawn in full
      this.moving = false;
      if (this.drawnAs !== this.atRest && now - this.drawn > REST) this.render(this.atRest, now);
      return;
    }
    this.dirty = this.flight !== null;
    // where drawing is slow, what moves is drawn more simply
    const passed = now - this.drawn;
    if (this.moving && passed > SLOW) this.slow += passed > 4 * SLOW ? 2 : 1;
    else this.slow = Math.max(0, this.slow - 0.1);
    if (this.slow > 4 && this.care < Care.Least) [this.care, this.slow] = [this.care + 1, 0];
    // the first picture comes quickly, too
    this.render(this.moving || this.drawn === 0 ? this.care : this.atRest, now);
    this.moving = true;
  }

  /** How a picture is drawn that does not move. */
  private get atRest(): Care {
    return this.software && this.solids.triangles((thick) => this.levelOfDetail(Care.Full, thick)) > PATIENT ? Care.Quick : Care.Full;
  }

  private render(care: Care, now: number): void {
    if (care !== this.drawnAs || this.drawn === 0) {
      this.key.castShadow = care === Care.Full && this.renderer.shadowMap.enabled;
      this.traces.draft(care >= Care.Quick);
      this.drawnAs = care;
      this.showGrid();
      this.renderer.setPixelRatio(this.ratio(care));
    }
    this.drawn = now;
    this.draw();
    this.onDraw();
  }

  /** Draws as if something moved, or as at rest, and waits for the picture: milliseconds. */
  rehearse(moving: boolean): number {
    this.render(moving ? this.care : this.atRest, performance.now());
    this.renderer.getContext().readPixels(0, 0, 1, 1, 6408, 5121, new Uint8Array(4)); // RGBA of bytes
    const start = performance.now();
    this.draw();
    this.renderer.getContext().readPixels(0, 0, 1, 1, 6408, 5121, new Uint8Array(4));
    return performance.now() - start;
  }

  private showGrid(): void {
    this.grid.mesh.visible = this.shown.grid && this.drawnAs < Care.Quick;
    this.grid.quick.visible = this.shown.grid && this.drawnAs >= Care.Quick;
    this.grid.shadow.visible = this.drawnAs === Care.Full;
  }

  private ratio(care: Care): number {
    const full = Math.min(devicePixelRatio || 1, 2);
    return care === Care.Least ? Math.min(full, 1) * 0.7 : care === Care.Quick ? Math.min(full, 1) : full;
  }

  /** The level of detail: solids that are few pixels wide need few triangles, and so do many of them. */
  private levelOfDetail(care: Care, thick: number): number {
    const pixels = (thick / this.perPixel) * this.ratio(care);
    const n = this.scene.bodies.length;
    if (care >= Care.Quick && n > 150 && pixels < 0.8) return LINES;
    const seen = pixels > 12 ? 0 : pixels > 5 ? 1 : pixels > 2.2 ? 2 : 3;
    const many = n <= 150 ? 0 : n <= 3000 ? 1 : n <= 30_000 ? 2 : 3;
    return Math.min(LEVELS - 1, Math.max(seen, many) + (care >= Care.Quick && n > 150 ? 1 : 0));
  }

  /** The finest level of detail of a body as drawn; 0 is the finest there is. */
  get detail(): number {
    return this.solids.finest;
  }

  draw(): void {
    const face = Math.abs(this.camera.position.clone().sub(this.controls.target).normalize().dot(new Vector3(...(this.scene.plane ? [0, 0, 1] as Vec : this.up))));
    const reach = (this.flat ? 3 * this.extent() * Math.max(1, this.width / this.height) : 16 * Math.max(this.ball.radius, this.extent())) / Math.max(face, 0.15);
    this.grid.follow(this.perPixel * (this.flat ? 1 : 2), this.controls.target, reach, this.flat && face > 0.999);
    this.renderer.info.reset();
    const quick = this.drawnAs >= Care.Quick;
    const symbols = !quick || this.scene.joints.length < MANY_SYMBOLS || this.parts.width > 4 * this.perPixel;
    for (const solids of [this.solids, ...this.ghosts.map((g) => g.solids)]) {
      solids.detail((thick) => this.levelOfDetail(this.drawnAs, thick), quick, symbols, this.perPixel / this.ratio(this.drawnAs));
    }
    if (this.copy && this.drawnAs < Care.Quick) this.copy.smoothly(this.renderer, () => this.renderer.render(this.root, this.camera));
    else this.renderer.render(this.root, this.camera);
  }

  /** A picture of the scene on a ground of the given colour. */
  picture(paper: string): Promise<Blob | null> {
    this.render(Care.Full, this.drawn);
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [this.canvas.width, this.canvas.height];
    const pen = copy.getContext("2d");
    if (pen) {
      pen.fillStyle = paper;
      pen.fillRect(0, 0, copy.width, copy.height);
      pen.drawImage(this.canvas, 0, 0);
    }
    return new Promise((done) => copy.toBlob(done, "image/png"));
  }

  /** The entity at a place of the canvas, or −1. */
  pick(x: number, y: number): number {
    const { renderer, camera } = this;
    const ratio = renderer.getPixelRatio();
    camera.setViewOffset(this.width * ratio, this.height * ratio, Math.floor(x * ratio), Math.floor(y * ratio), 1, 1);
    const hidden = [this.grid.mesh, this.grid.quick, this.grid.shadow, this.traces.node, ...this.ghosts.map((g) => g.solids.node)].filter((o) => o.visible);
    hidden.forEach((o) => (o.visible = false));
    const shadows = renderer.shadowMap.autoUpdate;
    renderer.shadowMap.autoUpdate = false;
    const colour = new Color();
    renderer.getClearColor(colour);
    renderer.setRenderTarget(this.pickTarget);
    renderer.clear();
    this.solids.forPicking(() => renderer.render(this.root, camera));
    const pixel = new Uint8Array(4);
    renderer.readRenderTargetPixels(this.pickTarget, 0, 0, 1, 1, pixel);
    renderer.setRenderTarget(null);
    renderer.shadowMap.autoUpdate = shadows;
    hidden.forEach((o) => (o.visible = true));
    camera.clearViewOffset();
    return pixel[3] === 0 ? -1 : pixel[0] + 256 * pixel[1] + 65536 * pixel[2] - 1;
  }

  select(pick: number): void {
    this.selected = pick;
    this.solids.mark("selected", pick, this.theme.selected);
    this.invalidate();
  }

  hover(pick: number): void {
    if (pick === this.hovered) return;
    this.hovered = pick;
    this.solids.mark("hovered", pick === this.selected ? -1 : pick, this.theme.hovered);
    this.invalidate();
  }

  /** Where an entity is, in the world. */
  where(pick: number): Vec | null {
    const e = this.entities[pick];
    if (!e || this.hidden.has(pick)) return null;
    const slot = (b: number | null | undefined, on: Vec) => slotOf(this.parts, b ?? null, on);
    if (e.kind === "body") return this.slots.hidden(e.index + 1) ? null : this.slots.point(e.index + 1, [0, 0, 0]);
    if (e.kind === "probe") {
      const p = this.scene.probes[e.index];
      return this.slots.point(slot(p.body, p.on), p.on);
    }
    const el = (e.kind === "joint" ? this.scene.joints : this.scene.forces)[e.index];
    const ends = el.between.map((b, k) => this.slots.point(slot(b, el.on[k]), el.on[k]));
    if (ends.length === 2 && (el.kind === "distance" || el.kind === "spring-damper")) {
      return ends[0].map((c, k) => (c + ends[1][k]) / 2) as Vec;
    }
    return ends[ends.length - 1];
  }

  /** A point of the world on the canvas, in pixels; null if it is behind. */
  project(p: Vec): [number, number] | null {
    const v = new Vector3(...p).project(this.camera);
    if (v.z > 1) return null;
    return [((v.x + 1) / 2) * this.width, ((1 - v.y) / 2) * this.height];
  }

  /** Centres the view on an entity. */
  focus(pick: number): void {
    const at = this.where(pick);
    if (!at) return;
    const pose = this.pose();
    this.fitted = false;
    this.fly({ ...pose, target: new Vector3(...at) }, true);
  }

  zoom(factor: number): void {
    const pose = this.pose();
    this.fitted = false;
    this.place({ ...pose, size: pose.size * factor });
  }

  /** How much of the picture the motion takes, across or along, whichever is more. */
  filled(): number {
    let most = 0;
    const p = new Vector3();
    this.camera.updateMatrixWorld();
    for (let k = 0; k < this.points.length; k += 3) {
      p.set(this.points[k], this.points[k + 1], this.points[k + 2]).project(this.camera);
      most = Math.max(most, Math.abs(p.x), Math.abs(p.y));
    }
    return most;
  }

  /** The directions of the axes on the screen: for the small cross in the corner. */
  axes(): [number, number, number][] {
    return [new Vector3(1, 0, 0), new Vector3(0, 1, 0), new Vector3(0, 0, 1)].map((v) => {
      v.transformDirection(this.camera.matrixWorldInverse);
      return [v.x, -v.y, v.z];
    });
  }
}

interface Pose { target: Vector3; direction: Vector3; size: number; up: Vector3 }

/** Whether there is no graphics processor here. */
function software(): boolean {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) return false;
  const about = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(about?.UNMASKED_RENDERER_WEBGL ?? gl.RENDERER));
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}
