// A scene that comes in pieces: what its long lists hold is handed on, so that the whole is never in memory.

export const LISTS = ["bodies", "joints", "forces", "probes"];

/** So many characters of a list are parsed at a time. */
const BATCH = 1 << 16;
const [QUOTE, ESCAPE, COMMA, OPEN, CLOSE, BEGIN, END] = [..."\"\\,[]{}"].map((c) => c.charCodeAt(0));

/** Reads the JSON of an object, piece by piece. */
export class Pieces {
  private text = "";
  private at = 0;
  private depth = 0;
  /** Where the string began that is being read, or −1; and the last one beside the lists. */
  private quoted = -1;
  private escaped = false;
  private key = "";
  /** The list that is being read, where its next items begin, and where the last whole one ends. */
  private list: string | null = null;
  private from = 0;
  private to = 0;
  /** What is not in the lists. */
  private head = "";

  constructor(private readonly see: (list: string, item: unknown) => void) {}

  add(piece: string): void {
    this.text += piece;
    const { text } = this;
    for (; this.at < text.length; this.at++) {
      const c = text.charCodeAt(this.at);
      if (this.quoted >= 0) {
        if (this.escaped) this.escaped = false;
        else if (c === ESCAPE) this.escaped = true;
        else if (c === QUOTE) {
          if (this.depth === 1) this.key = text.slice(this.quoted + 1, this.at);
          this.quoted = -1;
        }
      } else if (c === QUOTE) this.quoted = this.at;
      else if (c === OPEN || c === BEGIN) {
        this.depth += 1;
        if (c === OPEN && this.depth === 2 && LISTS.includes(this.key)) {
          this.head += text.slice(this.from, this.at + 1);
          this.list = this.key;
          this.from = this.to = this.at + 1;
        }
      } else if (c === CLOSE || c === END) {
        this.depth -= 1;
        if (this.list !== null && this.depth === 1) {
          this.to = this.at;
          this.hand();
          this.list = null;
        }
      } else if (c === COMMA && this.list !== null && this.depth === 2) {
        this.to = this.at;
        if (this.to - this.from > BATCH) this.hand();
      }
    }
    // what was handed on is not needed any more
    const keep = this.list !== null ? this.from : this.quoted >= 0 ? this.quoted : this.at;
    if (this.list === null) {
      this.head += text.slice(this.from, keep);
      this.from = keep;
    }
    this.text = text.slice(keep);
    this.at -= keep;
    this.from -= keep;
    this.to -= keep;
    if (this.quoted >= 0) this.quoted -= keep;
  }

  private hand(): void {
    const items = this.text.slice(this.from, this.to);
    if (items.trim() !== "") for (const item of JSON.parse(`[${items}]`) as unknown[]) this.see(this.list as string, item);
    this.from = this.text.charCodeAt(this.to) === COMMA ? this.to + 1 : this.to;
  }

  /** What stands beside the lists. */
  end(): unknown {
    return JSON.parse(this.head + this.text.slice(this.from));
  }
}
