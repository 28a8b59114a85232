// The list of everything that has a name, the values of what was chosen, and how the run went.

import { number, short, visible } from "../data/names";
import type { Results } from "../data/results";
import type { Section } from "../data/source";
import type { PlotPanel } from "../plot/panel";
import type { Entity, Scene } from "../scene/model";
import { bodyColour } from "../scene/parts";
import { THEMES } from "../scene/theme";
import { button, h, icon, write } from "./dom";
import { verdict } from "./truth";

/** Lists are shown up to so many lines; a search finds the rest. */
const LINES = 200;

const GROUPS: { kind: Entity["kind"]; title: string }[] = [
  { kind: "body", title: "Bodies" }, { kind: "joint", title: "Joints" }, { kind: "force", title: "Forces" }, { kind: "probe", title: "Probes" },
];

/** The last parts of channel names that tell how a body or a probe moves: of a joint or force with the same name they are not. */
const MOTION = /^(x|y|z|q[wxyz]|v[xyz]|w[xyz]|a[xyz]|alpha[xyz]?|roll|pitch|yaw|mode\d+(_rate)?|strain)$/;

/** Above this many entities the list waits for the first picture. */
const MANY = 20_000;

interface Line { column: number; value: HTMLElement; row: HTMLElement; dot: HTMLElement }

export class Sidebar {
  readonly element: HTMLElement;
  private readonly search: HTMLInputElement;
  private readonly card = h("section", { class: "card", hidden: true, "aria-live": "polite" });
  private readonly tree = h("div", { class: "tree" });
  private readonly run = h("section", { class: "run" });
  private lines: Line[] = [];
  /** Names that several entities have. */
  private readonly shared = new Set<string>();
  private selected = -1;
  private readonly open = new Set<string>(["Bodies", "Joints", "Forces", "Probes"]);
  onSelect: (pick: number) => void = () => undefined;
  onFocus: (pick: number) => void = () => undefined;
  onHide: (pick: number) => void = () => undefined;
  onFollow: (pick: number) => void = () => undefined;
  private readonly follower = button("follow", "Let the view move with it", "M", () => this.onFollow(this.selected));
  private hidden: ReadonlySet<number> = new Set();
  private followed = -1;
  private readonly hider = button("eye", "Hide or show it", "H", () => this.onHide(this.selected));
  onTruth: () => void = () => undefined;

  constructor(
    private readonly scene: Scene, private readonly results: Results, private readonly entities: Entity[], private readonly plots: PlotPanel,
  ) {
    this.search = h("input", { type: "search", class: "search", placeholder: "Search names and channels", "aria-label": "Search names and channels", spellcheck: false });
    const seen = new Set<string>();
    for (const { name } of entities) if (seen.size === seen.add(name).size) this.shared.add(name);
    let waiting = 0;
    this.search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = window.setTimeout(() => this.list(), 120);
    });
    this.element = h("aside", { class: "sidebar", "aria-label": "Model" }, h("div", { class: "search-box" }, this.search), this.card, this.tree, this.run);
    if (entities.length < MANY) this.list();
    else setTimeout(() => this.list(), 500); // after the first picture
  }

  focusSearch(): void {
    this.search.focus();
    this.search.select();
  }

  /** The channels of an entity. */
  channels(e: Entity): number[] {
    const all = this.results.names.under(e.name);
    if (!this.shared.has(e.name)) return all;
    const moves = e.kind === "body" || e.kind === "probe";
    return all.filter((c) => {
      const ending = this.results.name(c).slice(e.name.length + 1);
      return ending === "angle" || MOTION.test(ending) === moves;
    });
  }

  private list(): void {
    const wanted = this.search.value.trim().toLocaleLowerCase();
    const blocks: HTMLElement[] = [];
    const match = (name: string) => visible(name).toLocaleLowerCase().includes(wanted);
    for (const { kind, title } of GROUPS) {
      const found: number[] = [];
      let all = 0;
      this.entities.forEach((e, pick) => {
        if (e.kind !== kind) return;
        if (wanted && !match(e.name)) return;
        all += 1;
        if (found.length < LINES) found.push(pick);
      });
      if (all > 0) blocks.push(this.block(title, all, found.map((pick) => this.entry(pick))));
    }
    if (wanted) {
      const found: number[] = [];
      let all = 0;
      for (let c = 1; c < this.results.names.count; c++) {
        if (!match(this.results.name(c))) continue;
        all += 1;
        if (found.length < LINES) found.push(c);
      }
      if (all > 0) blocks.push(this.block("Channels", all, found.map((c) => this.channelEntry(c))));
      this.open.add("Channels");
    } else {
      const named = new Set(this.entities.map((e) => e.name));
      const others = new Set<string>();
      this.results.names.stems((stem) => !named.has(stem) && others.size < 40 && others.add(stem));
      for (const stem of others) {
        const some = this.results.names.under(stem).filter((c) => c > 0).slice(0, LINES);
        if (some.length) blocks.push(this.block(stem ? visible(stem) : "Other", some.length, some.map((c) => this.channelEntry(c))));
      }
    }
    if (blocks.length === 0) blocks.push(h("p", { class: "hint" }, wanted ? "Nothing has that name." : "There is nothing to list."));
    this.tree.replaceChildren(...blocks);
    this.mark();
    this.markHidden(this.hidden);
  }

  private block(title: string, all: number, rows: HTMLElement[]): HTMLElement {
    const body = h("div", { class: "rows" }, ...rows);
    if (all > rows.length) body.append(h("p", { class: "hint" }, `… and ${(all - rows.length).toLocaleString("en")} more: search to find them`));
    const details = h("details", { class: "block", open: this.open.has(title) || rows.length <= 12, ontoggle: () => {
      if (details.open) this.open.add(title);
      else this.open.delete(title);
    } }, h("summary", {}, h("span", {}, h("bdi", { textContent: title })), h("span", { class: "count", textContent: all.toLocaleString("en") })), body);
    return details;
  }

  private entry(pick: number): HTMLElement {
    const e = this.entities[pick];
    return h("button", {
      type: "button", class: "row", "data-pick": pick, onclick: () => this.onSelect(pick === this.selected ? -1 : pick), ondblclick: () => this.onFocus(pick),
    }, this.glyph(e), h("bdi", { class: "name", textContent: visible(e.name), title: visible(e.name) }), h("span", { class: "kind", textContent: this.kindOf(e) }));
  }

  /** The sign of an entity: a body's has the colour it is drawn with. */
  private glyph(e: Entity): HTMLElement {
    const glyph = h("span", { class: `glyph ${e.kind}` });
    if (e.kind === "body") glyph.style.background = bodyColour(THEMES.light, e.index, this.scene.bodies);
    return glyph;
  }

  /** Shows which entity the view moves with. */
  markFollowed(pick: number): void {
    this.followed = pick;
    this.follower.setAttribute("aria-pressed", String(pick >= 0 && pick === this.selected));
  }

  /** Shows which entities are not drawn. */
  markHidden(hidden: ReadonlySet<number>): void {
    this.hidden = hidden;
    this.tree.querySelectorAll<HTMLElement>("[data-pick]").forEach((e) => e.classList.toggle("hidden", hidden.has(Number(e.dataset.pick))));
    const on = hidden.has(this.selected);
    this.hider.setAttribute("aria-pressed", String(on));
    this.hider.title = on ? "Show it  (H)" : "Hide it  (H)";
    this.hider.replaceChildren(icon(on ? "shut" : "eye"));
  }

  private kindOf(e: Entity): string {
    if (e.kind === "body") {
      const b = this.scene.bodies[e.index];
      return b.kind === "point" ? "point mass" : b.shape.type === "unknown" ? "" : b.shape.type;
    }
    if (e.kind === "joint") return this.scene.joints[e.index].kind;
    if (e.kind === "force") return this.scene.forces[e.index].kind;
    return "";
  }

  private channelEntry(c: number): HTMLElement {
    const dot = h("span", { class: "dot" });
    const name = visible(this.results.name(c));
    return h("button", { type: "button", class: "row channel", "data-column": c, title: `Plot ${name}`, onclick: () => this.plots.toggle(c) },
      dot, h("bdi", { class: "name", textContent: name }), h("span", { class: "kind", textContent: this.results.unit(c) }));
  }

  /** Shows what is chosen, and what is plotted. */
  mark(): void {
    this.tree.querySelectorAll<HTMLElement>("[data-pick]").forEach((e) => {
      const on = Number(e.dataset.pick) === this.selected;
      e.classList.toggle("chosen", on);
      e.setAttribute("aria-pressed", String(on));
    });
    const paint = (column: number, row: HTMLElement, dot: HTMLElement) => {
      const colour = this.plots.colour(column);
      dot.style.background = colour ?? "";
      row.classList.toggle("plotted", colour !== null);
      row.setAttribute("aria-pressed", String(colour !== null));
    };
    this.tree.querySelectorAll<HTMLElement>("[data-column]").forEach((e) => paint(Number(e.dataset.column), e, e.firstElementChild as HTMLElement));
    this.lines.forEach((l) => paint(l.column, l.row, l.dot));
  }

  /** Shows an entity with its values; −1 for none. */
  select(pick: number): void {
    this.selected = pick;
    this.lines = [];
    const e = this.entities[pick];
    this.card.hidden = !e;
    if (e) this.fillCard(e, pick);
    this.mark();
    this.markHidden(this.hidden);
    this.markFollowed(this.followed);
    if (e) this.tree.querySelector(`[data-pick="${pick}"]`)?.scrollIntoView({ block: "nearest" });
  }

  private fillCard(e: Entity, pick: number): void {
    const facts: [string, string][] = [];
    const bodyName = (b: number | null) => (b === null ? "ground" : visible(this.scene.bodies[b].name));
    if (e.kind === "body") {
      const b = this.scene.bodies[e.index];
      facts.push(["Kind", { rigid: "rigid body", planar: "planar body", point: "point mass", rod: "thin rod", flexible: "flexible body" }[b.kind] ?? b.kind]);
      if (b.mass > 0) facts.push(["Mass", `${short(b.mass)} kg`]);
      const s = b.shape;
      if (s.type === "rod") facts.push(["Rod", `${short(s.length)} m${s.radius ? `, radius ${short(s.radius)} m` : ""}`]);
      if (s.type === "box") facts.push(["Box", `${s.size.slice(0, this.scene.plane ? 2 : 3).map((x) => short(x)).join(" × ")} m`]);
      if (s.type === "sphere") facts.push(["Sphere", `radius ${short(s.radius)} m`]);
      if (s.type === "cylinder") facts.push(["Cylinder", `radius ${short(s.radius)} m, length ${short(s.length)} m`]);
      const held = this.scene.joints.filter((j) => j.between.includes(e.index)).map((j) => visible(j.name));
      if (held.length) facts.push(["Joints", held.slice(0, 12).join(", ") + (held.length > 12 ? ", …" : "")]);
    } else if (e.kind === "probe") {
      facts.push(["On", bodyName(this.scene.probes[e.index].body)]);
    } else {
      const x = (e.kind === "joint" ? this.scene.joints : this.scene.forces)[e.index];
      facts.push(["Kind", x.kind], [x.between.length > 1 ? "Between" : "On", x.between.map(bodyName).join("  –  ")]);
    }
    const columns = this.channels(e);
    this.lines = columns.map((column) => {
      const dot = h("span", { class: "dot" });
      const value = h("span", { class: "value" });
      const label = this.results.name(column).slice(e.name.length + 1);
      const row = h("button", { type: "button", class: "row channel", title: `Plot ${visible(this.results.name(column))}`, onclick: () => this.plots.toggle(column) },
        dot, h("span", { class: "name", textContent: visible(label) }), value, h("span", { class: "kind", textContent: this.results.unit(column) }));
      this.results.column(column).then(() => this.update(this.t, true), () => undefined);
      return { column, value, row, dot };
    });
    this.card.replaceChildren(
      h("header", {}, this.glyph(e), h("h2", {}, h("bdi", { textContent: visible(e.name) })),
        this.hider, button("target", "Centre the view on it", "C", () => this.onFocus(pick)), this.follower,
        button("close", "Choose nothing", "Esc", () => this.onSelect(-1))),
      h("dl", {}, ...facts.flatMap(([k, v]) => [h("dt", { textContent: k }), h("dd", {}, h("bdi", { textContent: v }))])),
      h("div", { class: "rows values" }, ...this.lines.map((l) => l.row)),
      columns.length ? h("p", { class: "hint" }, icon("plot"), " click a value to plot it") : h("p", { class: "hint" }, "Nothing of it was recorded."),
    );
    this.update(this.t, true);
  }

  private t = 0;
  private updated = 0;

  /** The time has moved. */
  update(t: number, now = false): void {
    this.t = t;
    const clock = performance.now();
    if (!now && clock - this.updated < 60) return;
    this.updated = clock;
    for (const l of this.lines) write(l.value, this.results.told(l.column, t));
  }

  /** How the run went, and what a report says. */
  report(sections: Section[]): void {
    const blocks: HTMLElement[] = [];
    for (const s of sections.slice(0, 1)) {
      blocks.push(h("details", { class: "block report", open: true }, h("summary", {}, h("span", { textContent: visible(s.title) })),
        s.text ? h("p", { textContent: visible(s.text) }) : null,
        h("dl", {}, ...s.facts.flatMap((f) => [
          h("dt", { textContent: visible(f.name) }),
          h("dd", { class: f.verdict }, verdict(f.verdict), h("bdi", { textContent: visible(f.value) })),
        ])),
        sections.length > 1 ? h("p", {}, h("button", { type: "button", class: "more", onclick: () => this.onTruth() }, "The whole accuracy report")) : null));
    }
    const summary = this.results.status.summary;
    if (summary && typeof summary === "object") {
      const facts: HTMLElement[] = [];
      const walk = (value: unknown, path: string[]) => {
        if (facts.length > 400) return;
        if (value && typeof value === "object" && !Array.isArray(value)) {
          for (const [k, v] of Object.entries(value)) walk(v, [...path, k]);
          return;
        }
        const shown = Array.isArray(value) ? value.map((v) => (typeof v === "object" ? JSON.stringify(v) : String(v))).join(", ") : typeof value === "number" ? (Math.abs(value) < 1e-4 ? number(value) : short(value)) : String(value);
        if (shown !== "") facts.push(h("dt", { textContent: visible(path.join(" · ").replaceAll("_", " ")) }), h("dd", {}, h("bdi", { textContent: visible(shown) })));
      };
      const { verification, proof, final, ...plain } = summary as Record<string, unknown>;
      walk(plain, []);
      blocks.push(h("details", { class: "block" }, h("summary", {}, h("span", { textContent: "Run" })), h("dl", {}, ...facts)));
    }
    this.run.replaceChildren(...blocks);
  }
}
