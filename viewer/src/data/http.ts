import { type Channels, Replaced, type Source, type Status, type Values, noExtras } from "./source";

/** One answer of the server holds at most so many values, and a request so many characters. */
const VALUES = 2 ** 20;
const CHARACTERS = 6000;
/** Requests at a time: a browser opens six connections. */
const AT_ONCE = 4;

/** Results behind the server of `bellcrank view`. */
export class HttpSource implements Source {
  readonly watched = true;
  readonly extras = noExtras;
  private generation = 0;
  private active = 0;
  private waiting: (() => void)[] = [];

  private async get(path: string): Promise<Response> {
    if (this.active >= AT_ONCE) await new Promise<void>((go) => this.waiting.push(go));
    this.active += 1;
    try {
      const response = await fetch(path, { cache: "no-store" }).catch(() => {
        throw new Error("The viewer's server does not answer. Was `bellcrank view` ended?");
      });
      if (response.ok) return response;
      const told: unknown = await response.json().catch(() => null);
      const message = (told as { error?: string } | null)?.error ?? `The server answered ${response.status}.`;
      throw response.status === 409 ? new Replaced(message) : new Error(message);
    } finally {
      this.active -= 1;
      this.waiting.shift()?.();
    }
  }

  async status(): Promise<Status> {
    const status: Status = await (await this.get("/api/summary")).json();
    return status;
  }

  async scene(): Promise<unknown> {
    return (await this.get("/api/scene")).json();
  }

  async channels(): Promise<Channels> {
    const channels: Channels = await (await this.get("/api/channels")).json();
    this.generation = channels.generation;
    return channels;
  }

  async columns(at: ArrayLike<number>, from: number, to: number, single = false): Promise<Values> {
    const rows = to - from;
    const out = single ? new Float32Array(at.length * rows) : new Float64Array(at.length * rows);
    const parts: Promise<void>[] = [];
    const part = (first: number, n: number, list: string, a: number, b: number) => {
      const query = `at=${list}&from=${a}&to=${b}&as=${single ? "f32" : "f64"}&generation=${this.generation}`;
      parts.push(this.get(`/api/columns?${query}`).then(async (r) => {
        const bytes = await r.arrayBuffer();
        const values = single ? new Float32Array(bytes) : new Float64Array(bytes);
        if (values.length !== n * (b - a)) throw new Error("The server sent fewer values than were asked for.");
        for (let k = 0; k < n; k++) {
          out.set(values.subarray(k * (b - a), (k + 1) * (b - a)), (first + k) * rows + a - from);
        }
      }));
    };
    const height = Math.max(1, Math.min(rows, VALUES)); // of a block of rows
    const width = Math.max(1, Math.floor(VALUES / height)); // columns in it
    for (let a = from; a < to; a += height) {
      const b = Math.min(to, a + height);
      for (let k = 0; k < at.length; ) {
        const first = k;
        let list = "";
        while (k < at.length && k - first < width && list.length < CHARACTERS) {
          const start = at[k];
          let last = start;
          k += 1;
          while (k < at.length && k - first < width && at[k] === last + 1) {
            last += 1;
            k += 1;
          }
          list += `${list && ","}${start}${last > start ? `-${last}` : ""}`;
        }
        part(first, k - first, list, a, b);
      }
    }
    await Promise.all(parts);
    return out;
  }
}
