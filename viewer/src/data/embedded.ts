import { ChannelNames } from "./channels";
import { LISTS } from "./pieces";
import type { Channels, Extras, Source, Status, Values } from "./source";

interface Data {
  format: string;
  version: number;
  status: Status;
  scene: unknown;
  names: string[];
  units: string[];
  rows: number;
  every: number;
  columns: string[];
  plots: string[][];
  sections: Extras["sections"];
}

/** Results that came with the page: a report. */
export class EmbeddedSource implements Source {
  readonly watched = false;
  readonly extras: Extras;
  private readonly decoded = new Map<number, Float64Array>();

  private constructor(private readonly data: Data) {
    this.extras = { plots: data.plots, sections: data.sections, every: data.every };
  }

  /** The data of this page, if it has any. */
  static find(): EmbeddedSource | null {
    const text = document.getElementById("bellcrank-data")?.textContent;
    if (!text) return null;
    const data = JSON.parse(text) as Data;
    if (data.format !== "bellcrank-data" || data.version > 1) {
      throw new Error("This report was made by a later version of Bellcrank than its page.");
    }
    return new EmbeddedSource(data);
  }

  async status(): Promise<Status> {
    return { ...this.data.status, rows: this.data.rows };
  }

  async scene(see: (list: string, item: unknown) => void): Promise<unknown> {
    const { scene } = this.data;
    for (const name of LISTS) ((scene as Record<string, unknown[]> | null)?.[name] ?? []).forEach((item) => see(name, item));
    return scene;
  }

  async channels(): Promise<Channels> {
    const { names, units, rows } = this.data;
    return { generation: this.data.status.generation, rows, names: ChannelNames.of(names, units) };
  }

  async columns(at: ArrayLike<number>, from: number, to: number, single = false): Promise<Values> {
    const rows = to - from;
    const out = single ? new Float32Array(at.length * rows) : new Float64Array(at.length * rows);
    for (let k = 0; k < at.length; k++) out.set(this.column(at[k]).subarray(from, to), k * rows);
    return out;
  }

  private column(i: number): Float64Array {
    let column = this.decoded.get(i);
    if (!column) {
      const text = atob(this.data.columns[i]);
      const bytes = new Uint8Array(text.length);
      for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
      column = new Float64Array(bytes.buffer);
      this.data.columns[i] = ""; // its text is not needed any more
      this.decoded.set(i, column);
    }
    return column;
  }
}
