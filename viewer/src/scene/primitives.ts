// Solids whose proportions can change without bending their roundings.
//
// A vertex is   core ∘ a + ring · b + normal · c   with the numbers a (three), b and c of the instance: a skeleton
// that is stretched, a radius around it, and a rounding of the edges. Normals hold for all of them.

import { BufferAttribute, BufferGeometry } from "three";
import type { Scene, Solid } from "./model";

interface Vertex { core: number[]; ring: number[]; normal: number[] }

function geometry(vertices: Vertex[], index: number[]): BufferGeometry {
  const g = new BufferGeometry();
  const put = (name: string, of: (v: Vertex) => number[]) =>
    g.setAttribute(name, new BufferAttribute(new Float32Array(vertices.flatMap(of)), 3));
  put("position", (v) => v.core);
  put("ring", (v) => v.ring);
  put("normal", (v) => v.normal);
  g.setIndex(index);
  return g;
}

/**
 * A prism along z over a convex polygon, with rounded corners and edges. Two corners make a link with round
 * ends; with a length of zero that is a disk or a cylinder, with a rounding only a capsule or a ball. Without steps
 * in the quarter circle of its edges it has the same size, sharp edges and a fourth of the triangles.
 */
function prism(corners: [number, number][], around: number, quarter: number): BufferGeometry {
  const outline: { core: [number, number]; ring: [number, number] }[] = [];
  const n = corners.length;
  const outward = (i: number) => {
    const [a, b] = [corners[(i + n) % n], corners[(i + 1) % n]];
    return Math.atan2(-(b[0] - a[0]), b[1] - a[1]);
  };
  for (let i = 0; i < n; i++) {
    const from = outward(i - 1);
    let turn = outward(i) - from;
    while (turn < 1e-9) turn += 2 * Math.PI;
    while (turn > 2 * Math.PI) turn -= 2 * Math.PI;
    const steps = Math.max(1, Math.round((turn / (2 * Math.PI)) * around));
    for (let k = 0; k <= steps; k++) {
      const angle = from + (turn * k) / steps;
      outline.push({ core: corners[i], ring: [Math.cos(angle), Math.sin(angle)] });
    }
  }
  const vertices: Vertex[] = [];
  const index: number[] = [];
  const m = outline.length;
  const rows: [number, number][] = []; // elevation of the normal, side
  if (quarter === 0) rows.push([Math.PI / 4, 1], [-Math.PI / 4, -1]);
  for (let k = 0; quarter > 0 && k <= quarter; k++) rows.push([(Math.PI / 2) * (1 - k / quarter), 1]);
  for (let k = 0; quarter > 0 && k <= quarter; k++) rows.push([-(Math.PI / 2) * (k / quarter), -1]);
  const size = quarter === 0 ? Math.SQRT2 : 1;
  for (const [elevation, side] of rows) {
    for (const { core, ring } of outline) {
      const flat = Math.abs(Math.abs(elevation) - Math.PI / 2) < 1e-9 ? 0 : size * Math.cos(elevation);
      vertices.push({ core: [...core, side], ring: [...ring, 0], normal: [flat * ring[0], flat * ring[1], size * Math.sin(elevation)] });
    }
  }
  for (let r = 0; r + 1 < rows.length; r++) {
    for (let k = 0; k < m; k++) {
      const [a, b] = [r * m + k, r * m + ((k + 1) % m)];
      index.push(a, a + m, b, b, a + m, b + m);
    }
  }
  const last = (rows.length - 1) * m;
  for (let k = 1; k + 1 < m; k++) {
    index.push(0, k, k + 1);
    index.push(last, last + k + 1, last + k);
  }
  return geometry(vertices, index);
}

/** The head of an arrow: from its base at the core to a tip 2.6 radii further along x. */
function cone(around: number): BufferGeometry {
  const vertices: Vertex[] = [];
  const index: number[] = [];
  const slant = Math.atan2(1, 2.6);
  for (let k = 0; k <= around; k++) {
    const [y, z] = [Math.cos((2 * Math.PI * k) / around), Math.sin((2 * Math.PI * k) / around)];
    const normal = [Math.sin(slant), Math.cos(slant) * y, Math.cos(slant) * z];
    vertices.push({ core: [1, 0, 0], ring: [0, y, z], normal }, { core: [1, 0, 0], ring: [2.6, 0, 0], normal });
    vertices.push({ core: [1, 0, 0], ring: [0, y, z], normal: [-1, 0, 0] }, { core: [1, 0, 0], ring: [0, 0, 0], normal: [-1, 0, 0] });
    if (k > 0) {
      const [a, b] = [4 * (k - 1), 4 * k];
      index.push(a, b, a + 1, a + 2, a + 3, b + 2);
    }
  }
  return geometry(vertices, index);
}

/** A wire that winds about x from 0 to 1. */
function coil(turns: number, around: number, sides: number): BufferGeometry {
  const vertices: Vertex[] = [];
  const index: number[] = [];
  const n = turns * around;
  for (let k = 0; k <= n; k++) {
    const u = k / n;
    const angle = 2 * Math.PI * turns * u;
    const reach = Math.min(1, Math.min(u, 1 - u) * turns * 1.4); // begins and ends on the axis
    const [y, z] = [Math.cos(angle), Math.sin(angle)];
    for (let j = 0; j <= sides; j++) {
      const around = (2 * Math.PI * j) / sides;
      const [c, s] = [Math.cos(around), Math.sin(around)];
      vertices.push({ core: [0.06 + 0.88 * u, 0, 0], ring: [0, reach * y, reach * z], normal: [s, c * y, c * z] });
      if (k > 0 && j > 0) {
        const row = sides + 1;
        const [a, b] = [(k - 1) * row + j - 1, k * row + j - 1];
        index.push(a, b, a + 1, a + 1, b, b + 1);
      }
    }
  }
  return geometry(vertices, index);
}

/** Three quarters of a circle about x, for a torque; its end is where y is positive and z is zero. */
function arc(around: number, sides: number): BufferGeometry {
  const vertices: Vertex[] = [];
  const index: number[] = [];
  for (let k = 0; k <= around; k++) {
    const angle = -1.5 * Math.PI * (1 - k / around);
    const [y, z] = [Math.cos(angle), Math.sin(angle)];
    for (let j = 0; j <= sides; j++) {
      const [c, s] = [Math.cos((2 * Math.PI * j) / sides), Math.sin((2 * Math.PI * j) / sides)];
      vertices.push({ core: [0, 0, 0], ring: [0, y, z], normal: [s, c * y, c * z] });
      if (k > 0 && j > 0) {
        const [a, b] = [(k - 1) * (sides + 1) + j - 1, k * (sides + 1) + j - 1];
        index.push(a, b, a + 1, a + 1, b, b + 1);
      }
    }
  }
  return geometry(vertices, index);
}

const LINK: [number, number][] = [[-1, 0], [1, 0]];
const SQUARE: [number, number][] = [[-1, -1], [1, -1], [1, 1], [-1, 1]];
/** Its upper corner is the origin. */
const WEDGE: [number, number][] = [[-0.8, -1.5], [0.8, -1.5], [0, 0]];

export type Primitive = `mesh ${number} ${number}` | "link" | "ball" | "box" | "wedge" | "cone" | "coil" | "arc";

/** The meshes of bodies, each a solid of its own with the name `mesh`, the number of its body and its own; those of the ground are of body −1. */
export function meshes({ bodies, ground }: Scene): Record<string, BufferGeometry> {
  const made: Record<string, BufferGeometry> = {};
  const make = (solids: Solid[], i: number) => solids.forEach(({ mesh: { positions } }, k) => {
    const g = new BufferGeometry();
    g.setAttribute("position", new BufferAttribute(positions, 3));
    g.computeVertexNormals(); // corners are not shared: flat faces
    g.setAttribute("ring", new BufferAttribute(new Float32Array(positions.length), 3));
    g.setIndex(new BufferAttribute(Uint32Array.from({ length: positions.length / 3 }, (_, n) => n), 1));
    made[`mesh ${i} ${k}`] = g;
  });
  bodies.forEach((b, i) => make(b.solids, i));
  make(ground, -1);
  return made;
}

/** How finely solids are drawn: 0 is the finest. */
export const LEVELS = 4;
/** Beyond the coarsest level links, balls and boxes are lines. */
export const LINES = LEVELS;
export const LINED = ["link", "ball", "box"];

/** A line through a solid, from end to end. */
export function line(): BufferGeometry {
  const end = (side: number): Vertex => ({ core: [side, side, side], ring: [side, 0, 0], normal: [0, 0, 1] });
  return geometry([end(-1), end(1)], [0, 1]);
}

/** The solids at a level of detail; a link has 716, 308, 76 and 20 triangles. */
export function primitives(level: number): Record<string, BufferGeometry> {
  const of = (...options: [number, number, number, number]) => options[level];
  return {
    link: prism(LINK, of(40, 24, 8, 4), of(3, 2, 1, 0)),
    ball: prism(LINK, of(32, 18, 8, 4), of(8, 4, 2, 0)),
    box: prism(SQUARE, of(12, 4, 4, 4), of(3, 1, 1, 0)),
    wedge: prism(WEDGE, of(12, 12, 8, 3), of(2, 2, 1, 0)),
    cone: cone(of(20, 12, 8, 5)),
    coil: coil(of(8, 6, 4, 4), of(18, 10, 6, 4), of(7, 5, 3, 3)),
    arc: arc(of(40, 30, 16, 10), of(8, 6, 4, 3)),
  };
}
