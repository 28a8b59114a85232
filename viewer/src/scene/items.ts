// Instances of solids as the graphics processor reads them: four texels each.

import { Color } from "three";
import type { Quat } from "./algebra";
import type { Vec } from "./model";
import type { Primitive } from "./primitives";

/** What can be shown and hidden. */
export type Group = "body" | "joint" | "force" | "load" | "reaction";
export const GROUPS: Group[] = ["body", "joint", "force", "load", "reaction"];

/** Numbers of an instance, and instances in a row of their texture. */
const WIDTH = 16;
export const PER_ROW = 512;

/** How an instance of a solid looks; see primitives.ts for core, ring and round. */
export interface Look {
  turn: Quat;
  core: Vec;
  ring: number;
  round: number;
  colour: string;
  /** Quadrants in two shades, so that a turn is seen. */
  marked: boolean;
  opacity: number;
}

/** What is added to the flags of an instance that is not drawn. */
export const HIDDEN = 512;
/** The end of the keys of solids that one sees through. */
export const GLASS = " glass";

/** Place and slot; turn; core and ring; round, number for picking, colour, flags: marked + 2 · transparency of 255, and HIDDEN. */
export class Items {
  data = new Float32Array(WIDTH * PER_ROW);
  count = 0;
  /** The numbers of the instances of each solid in each group. */
  readonly lists = new Map<string, number[]>();
  private readonly colours = new Map<string, number>();

  push(group: Group, solid: Primitive, slot: number, pick: number, place: Vec, look: Look): void {
    const k = WIDTH * this.count;
    if (k >= this.data.length) {
      const more = new Float32Array(2 * this.data.length);
      more.set(this.data);
      this.data = more;
    }
    const d = this.data;
    d[k] = place[0]; d[k + 1] = place[1]; d[k + 2] = place[2]; d[k + 3] = slot;
    d[k + 4] = look.turn[0]; d[k + 5] = look.turn[1]; d[k + 6] = look.turn[2]; d[k + 7] = look.turn[3];
    d[k + 8] = look.core[0]; d[k + 9] = look.core[1]; d[k + 10] = look.core[2]; d[k + 11] = look.ring;
    d[k + 12] = look.round; d[k + 13] = pick; d[k + 14] = this.colour(look.colour); d[k + 15] = (look.marked ? 1 : 0) + 2 * Math.round(255 * (1 - look.opacity));
    const key = `${group} ${solid}${look.opacity < 1 ? GLASS : ""}`;
    const list = this.lists.get(key);
    if (list) list.push(this.count);
    else this.lists.set(key, [this.count]);
    this.count += 1;
  }

  /** A colour as one number, exact in single precision. */
  private colour(text: string): number {
    let value = this.colours.get(text);
    if (value === undefined) {
      value = new Color(text).getHex();
      this.colours.set(text, value);
    }
    return value;
  }

  /** Rows of the texture. */
  get height(): number {
    return Math.max(1, Math.ceil(this.count / PER_ROW));
  }

  /** What is needed of the numbers, and no more. */
  texels(): Float32Array<ArrayBuffer> {
    return this.data.slice(0, WIDTH * PER_ROW * this.height);
  }

  /** Half of what an instance measures across its length. */
  thickness(i: number): number {
    const k = WIDTH * i;
    const d = this.data;
    const around = d[k + 11] + d[k + 12];
    if (around > 0 && d[k + 9] === 0) return around;
    const [x, y, z] = [Math.abs(d[k + 8]), Math.abs(d[k + 9]), Math.abs(d[k + 10])];
    return x + y + z - Math.max(x, y, z) - Math.min(x, y, z) + around; // the middle one
  }

  /** Hides or shows an entity, here and in `texels`. */
  hide(pick: number, hidden: boolean, texels?: Float32Array): void {
    for (let i = 0; i < this.count; i++) {
      const k = WIDTH * i;
      if (this.data[k + 13] !== pick) continue;
      this.data[k + 15] = (this.data[k + 15] % HIDDEN) + (hidden ? HIDDEN : 0);
      if (texels) texels[k + 15] = this.data[k + 15];
    }
  }

  /** Which of some instances belong to an entity. */
  of(pick: number, list: number[]): number[] {
    return list.filter((i) => this.data[WIDTH * i + 13] === pick);
  }
}
