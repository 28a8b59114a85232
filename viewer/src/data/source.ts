// Where results come from: the server of a folder, or the page itself.

import type { ChannelNames } from "./channels";

export type State =
  | "finished" | "failed" | "interrupted" | "running" | "killed" | "unknown" | "damaged" | "missing";

/** How a run stands. */
export interface Status {
  folder: string;
  /** Changes when the folder holds another run. */
  generation: number;
  state: State;
  /** What the user should know; empty if all is well. */
  message: string;
  rows: number;
  summary: unknown;
  /** Whether the run itself answers, and news come from it. */
  live?: boolean;
  /** How many runs there are to see, where there are several. */
  runs?: number;
}

/** The columns of a result; the first is the time. */
export interface Channels {
  generation: number;
  rows: number;
  names: ChannelNames;
}

export interface Fact { name: string; value: string; verdict: "" | "good" | "doubtful" | "bad"; note?: string }
/** Points are a time, and the least and the greatest value since the one before. */
export interface Diagram { title: string; unit: string; logarithmic: boolean; points: [number, number, number][]; marks: number[]; marked: string }
export interface Section { title: string; text: string; facts: Fact[]; table: string[][]; diagrams: Diagram[]; code: string }

/** What comes with a report. */
export interface Extras { plots: string[][]; sections: Section[]; every: number }

export type Values = Float64Array | Float32Array;

export interface Source {
  /** Whether the results may change while they are looked at. */
  readonly watched: boolean;
  readonly extras: Extras;
  /** The source of another run beside this one, by its number from 1 on. */
  beside?(run: number): Source;
  status(): Promise<Status>;
  /** scene.json, or null; what its long lists hold goes to `see`, one after the other. */
  scene(see: (list: string, item: unknown) => void): Promise<unknown>;
  channels(): Promise<Channels>;
  /** Rows [from, to) of columns, one column after the other. */
  columns(at: ArrayLike<number>, from: number, to: number, single?: boolean): Promise<Values>;
}

/** The folder holds another run by now. */
export class Replaced extends Error {}

export const noExtras: Extras = { plots: [], sections: [], every: 1 };
