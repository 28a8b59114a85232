// Several runs that are looked at together. The first one has the say; the others are seen beside it.

import { type Scene, SceneReader, guess } from "../scene/model";
import { Results } from "./results";
import type { Source } from "./source";

/** A run beside the first. */
export interface Run { label: string; results: Results; scene: Scene; shown: boolean }

/** Reads a run; fails with what is wrong with it. */
export async function readRun(source: Source): Promise<Run> {
  const status = await source.status();
  if (status.state === "missing" || status.state === "damaged") throw new Error(`${status.folder}: ${status.message}`);
  const reader = new SceneReader();
  const results = new Results(source, status);
  const [beside, channels] = await Promise.all([source.scene((list, item) => reader.see(list, item)), source.channels()]);
  await results.read(channels);
  if (results.rows === 0) throw new Error(`${status.folder}: nothing was recorded. ${status.message}`);
  return { label: status.folder, results, scene: reader.finish(beside) ?? guess(results), shown: true };
}

/** The column of another run that is the same channel, or −1: one with another unit is not. */
export function sameChannel(results: Results, column: number, other: Results): number {
  if (column === 0) return 0;
  const found = other.find(results.name(column));
  return found >= 0 && other.unit(found) === results.unit(column) ? found : -1;
}
