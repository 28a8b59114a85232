import { ChannelNames } from "./channels";
import { Pieces } from "./pieces";
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

  constructor(private readonly run = 0) {}

  beside(run: number): Source {
    return new HttpSource(run);
  }

  private async get(what: string): Promise<Response> {
    const path = this.run ? `${what}${what.includes("?") ? "&" : "?"}run=${this.run}` : what;
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

  async scene(see: (list: string, item: unknown) => void): Promise<unknown> {
    const body = (await this.get("/api/scene")).body?.pipeThrough(new TextDecoderStream()).getReader();
    const pieces = new Pieces(see);
    for (let part = await body?.read(); part && !part.done; part = await body?.read()) pieces.add(part.value);
    return pieces.end();
  }

  /** The length of a head, the head, where names end, which unit each has, and the names. */
  async channels(): Promise<Channels> {
    const bytes = await (await this.get("/api/channels?as=bytes")).arrayBuffer();
    const size = new DataView(bytes).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, size))) as { generation: number; rows: number; count: number; units: string[] };
    const ends = new Uint32Array(bytes, 4 + size, head.count);
    const kinds = new Uint16Array(bytes, ends.byteOffset + 4 * head.count, head.count);
    this.generation = head.generation;
    return { ...head, names: new ChannelNames(new Uint8Array(bytes, kinds.byteOffset + 2 * head.count), ends, kinds, head.units) };
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
        const end = Math.min(at.length, first + width);
        while (k < end && list.length < CHARACTERS) {
          // columns in a row, and how often as many come again at the same distance: the poses of many bodies
          let n = 1;
          while (k + n < end && at[k + n] === at[k] + n) n += 1;
          const step = k + n < end ? at[k + n] - at[k] : 0;
          let times = 1;
          while (step > 0 && alike(at, k, n, step, times) && k + (times + 1) * n <= end) times += 1;
          if (times < 3) times = 1; // else a list that begins in the middle of a body never finds its step
          list += `${list && ","}${at[k]}${n > 1 ? `-${at[k] + n - 1}` : ""}${times > 1 ? `*${times}+${step}` : ""}`;
          k += n * times;
        }
        part(first, k - first, list, a, b);
      }
    }
    await Promise.all(parts);
    return out;
  }
}

/** Whether n columns from k on come again, `times` times `step` further. */
function alike(at: ArrayLike<number>, k: number, n: number, step: number, times: number): boolean {
  for (let i = 0; i < n; i++) if (at[k + times * n + i] !== at[k] + i + times * step) return false;
  return true;
}
