// One way to draw, two kinds of paper: a canvas for the screen and PNG, SVG for papers.

export interface TextStyle { colour: string; size?: number; align?: "start" | "middle" | "end"; weight?: number; turned?: boolean }

export interface Pen {
  /** A polyline; x and y in turn, NaN lifts the pen. */
  line(points: ArrayLike<number>, colour: string, width: number, dash?: number[]): void;
  text(x: number, y: number, text: string, style: TextStyle): void;
  box(x: number, y: number, w: number, h: number, fill: string): void;
  /** What is drawn inside does not leave the box. */
  within(x: number, y: number, w: number, h: number, draw: () => void): void;
}

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";

export class CanvasPen implements Pen {
  constructor(private readonly c: CanvasRenderingContext2D) {}

  line(points: ArrayLike<number>, colour: string, width: number, dash: number[] = []): void {
    const { c } = this;
    c.beginPath();
    let down = false;
    for (let i = 0; i + 1 < points.length; i += 2) {
      const [x, y] = [points[i], points[i + 1]];
      if (!Number.isFinite(x + y)) down = false;
      else if (down) c.lineTo(x, y);
      else {
        c.moveTo(x, y);
        down = true;
      }
    }
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.lineJoin = c.lineCap = "round";
    c.setLineDash(dash);
    c.stroke();
    c.setLineDash([]);
  }

  text(x: number, y: number, text: string, s: TextStyle): void {
    const { c } = this;
    c.save();
    c.translate(x, y);
    if (s.turned) c.rotate(-Math.PI / 2);
    c.fillStyle = s.colour;
    c.font = `${s.weight ?? 400} ${s.size ?? 11}px ${FONT}`;
    c.textAlign = s.align === "middle" ? "center" : s.align ?? "start";
    c.textBaseline = "alphabetic";
    c.direction = "ltr";
    c.fillText(text, 0, 0);
    c.restore();
  }

  box(x: number, y: number, w: number, h: number, fill: string): void {
    this.c.fillStyle = fill;
    this.c.fillRect(x, y, w, h);
  }

  within(x: number, y: number, w: number, h: number, draw: () => void): void {
    const { c } = this;
    c.save();
    c.beginPath();
    c.rect(x, y, w, h);
    c.clip();
    draw();
    c.restore();
  }
}

const SVG = "http://www.w3.org/2000/svg";
let clips = 0;

export class SvgPen implements Pen {
  readonly root: SVGSVGElement;
  private at: SVGElement;

  constructor(width: number, height: number) {
    this.root = this.make("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}`, "font-family": FONT }) as SVGSVGElement;
    this.at = this.root;
  }

  private make(tag: string, attributes: Record<string, string | number>): SVGElement {
    const e = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) if (name !== "xmlns") e.setAttribute(name, String(value));
    return e;
  }

  line(points: ArrayLike<number>, colour: string, width: number, dash: number[] = []): void {
    let d = "";
    let down = false;
    for (let i = 0; i + 1 < points.length; i += 2) {
      const [x, y] = [points[i], points[i + 1]];
      if (!Number.isFinite(x + y)) {
        down = false;
        continue;
      }
      d += `${down ? "L" : "M"}${+x.toFixed(2)} ${+y.toFixed(2)}`;
      down = true;
    }
    if (!d) return;
    const dashes: Record<string, string> = dash.length ? { "stroke-dasharray": dash.join(" ") } : {};
    this.at.append(this.make("path", { d, fill: "none", stroke: colour, "stroke-width": width, "stroke-linejoin": "round", "stroke-linecap": "round", ...dashes }));
  }

  text(x: number, y: number, text: string, s: TextStyle): void {
    const e = this.make("text", {
      fill: s.colour, "font-size": s.size ?? 11, "font-weight": s.weight ?? 400, "text-anchor": s.align ?? "start",
      transform: `translate(${+x.toFixed(2)} ${+y.toFixed(2)})${s.turned ? " rotate(-90)" : ""}`,
    });
    e.textContent = text;
    this.at.append(e);
  }

  box(x: number, y: number, width: number, height: number, fill: string): void {
    this.at.append(this.make("rect", { x, y, width, height, fill }));
  }

  within(x: number, y: number, width: number, height: number, draw: () => void): void {
    const id = `clip${++clips}`;
    const clip = this.make("clipPath", { id });
    clip.append(this.make("rect", { x, y, width, height }));
    const group = this.make("g", { "clip-path": `url(#${id})` });
    this.at.append(clip, group);
    const before = this.at;
    this.at = group;
    draw();
    this.at = before;
  }

  toString(): string {
    return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(this.root)}\n`;
  }
}
