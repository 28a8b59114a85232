// Names are data. They are shown as they are written, and never change the page around them.

const TAGS: Record<string, string> = {
  "\u200e": "LRM", "\u200f": "RLM", "\u061c": "ALM", "\u202a": "LRE", "\u202b": "RLE", "\u202c": "PDF", "\u202d": "LRO",
  "\u202e": "RLO", "\u2066": "LRI", "\u2067": "RLI", "\u2068": "FSI", "\u2069": "PDI", "\u200b": "ZWSP", "\ufeff": "BOM",
  "\u2028": "LS", "\u2029": "PS", "\u00ad": "SHY",
};

const CONTROLS = "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US".split(" ");

/** A name with its control characters made visible: ‹ESC›[31m, ‹RLO›. */
export function visible(name: string): string {
  return name.replace(/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, (c) => {
    const code = c.charCodeAt(0);
    return `‹${CONTROLS[code] ?? TAGS[c] ?? code.toString(16).toUpperCase()}›`;
  });
}

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** A power of ten, as in a book. */
export function power(n: number): string {
  return `10${n < 0 ? "⁻" : ""}${[...String(Math.abs(n))].map((d) => SUPERSCRIPTS[Number(d)]).join("")}`;
}

/** A number for people: six digits, a true minus sign, powers of ten where they are needed. */
export function number(x: number | undefined, digits = 6): string {
  if (x === undefined) return "…";
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e6 || size < 1e-4) {
    const [mantissa, exponent] = x.toExponential(Math.max(0, digits - 2)).split("e");
    return `${mantissa.replace("-", "−")} × ${power(Number(exponent))}`;
  }
  return x.toPrecision(digits).replace("-", "−");
}

/** A number as short as it can be with six digits. */
export function short(x: number): string {
  return String(+x.toPrecision(6)).replace("-", "−");
}
