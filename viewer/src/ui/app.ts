// The page: puts everything together.

import { visible } from "../data/names";
import { Results } from "../data/results";
import { type Run, readRun } from "../data/runs";
import { Replaced, type Source, type State, type Status } from "../data/source";
import { PlotPanel } from "../plot/panel";
import { type Scene, SceneReader, guess } from "../scene/model";
import { type Shown, Stage, type View } from "../scene/stage";
import { THEMES, type ThemeName } from "../scene/theme";
import { Chapters, chaptersOf } from "./chapters";
import { button, download, h, icon, write } from "./dom";
import { help } from "./help";
import { legend } from "./legend";
import { Overlay } from "./overlay";
import { Player } from "./player";
import { Sidebar } from "./sidebar";
import { type News, Strip } from "./strip";
import { Transport } from "./transport";
import { truth } from "./truth";
import { type Format, film, formats } from "./video";

const WORDS: Record<State, string> = {
  finished: "finished", failed: "failed", interrupted: "interrupted", running: "running", killed: "cut off", unknown: "no summary", damaged: "damaged", missing: "no results",
};

/** How often a running result is looked at. */
const WATCH = 1500;
/** How often what is read as a whole is read again in a live run. */
const WHOLE = 1000;
/** Above this many bodies the pointer is not followed. */
const FOLLOWED = 20_000;

function remembered(key: string): string | null {
  try {
    return localStorage.getItem(`bellcrank.${key}`);
  } catch {
    return null; // a page from a file may have no storage
  }
}

function remember(key: string, value: string): void {
  try {
    localStorage.setItem(`bellcrank.${key}`, value);
  } catch {
    // not remembered
  }
}

export class App {
  themeName: ThemeName;
  results!: Results;
  scene!: Scene;
  stage: Stage | null = null;
  player!: Player;
  plots!: PlotPanel;
  selected = -1;
  readonly shown: Shown = { joints: true, forces: true, reactions: false, traces: true, grid: true, labels: false };
  strip: Strip | null = null;
  chapters: Chapters | null = null;
  /** Runs beside the first. */
  runs: Run[] = [];
  /** Whether a live run has ended and its program has left. */
  over = false;
  private transport!: Transport;
  private article: HTMLElement | null = null;
  private readonly pages = new Map<boolean, HTMLButtonElement>();
  private deformation: HTMLInputElement | null = null;
  private sidebar!: Sidebar;
  private overlay: Overlay | null = null;
  private readonly root: HTMLElement;
  private readonly banner = h("div", { class: "banner", role: "status", hidden: true });
  private readonly chip = h("span", { class: "chip" });
  private readonly busy = h("div", { class: "busy", role: "status", hidden: true }, "Reading …");
  private readonly dialog = help();
  private readonly toggles = new Map<keyof Shown, HTMLInputElement>();
  private readonly views = new Map<View, HTMLButtonElement>();
  private projection!: HTMLButtonElement;
  private themeButton!: HTMLButtonElement;
  private viewport = h("div", { class: "viewport" });
  private waiting = 0;
  private filming = false;
  private frames = 0;
  private clock = { since: 0, frames: 0, rate: 0 };

  constructor(root: HTMLElement, private readonly source: Source) {
    this.root = root;
    const stored = remembered("theme");
    this.themeName = stored === "dark" || stored === "light" ? stored : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    document.documentElement.dataset.theme = this.themeName;
  }

  /** Reads the results and shows them. */
  async start(): Promise<void> {
    this.message("Reading the results …", "");
    const status = await this.source.status();
    if (status.state === "missing" || status.state === "damaged") {
      this.message(status.state === "missing" ? "No results here" : "These results cannot be read", status.message, status);
      if (this.source.watched) this.watchFor((s) => s.state !== status.state);
      return;
    }
    const reader = new SceneReader();
    const scene = this.source.scene((list, item) => reader.see(list, item)).then((beside) => reader.finish(beside));
    scene.catch(() => undefined); // told below
    this.results = new Results(this.source, status);
    await this.results.read(await this.source.channels());
    if (this.results.rows === 0) {
      this.message(status.state === "running" ? "Waiting for the first frames" : "Nothing was recorded", status.message, status);
      if (this.source.watched) this.watchFor((s) => s.rows > 0 || s.state !== status.state, status.live ? WATCH / 6 : WATCH);
      return;
    }
    let told = "";
    try {
      this.scene = (await scene) ?? guess(this.results);
      if (this.scene.guessed) told = "There is no scene.json, so bodies are drawn as points.";
    } catch (e) {
      told = `${(e as Error).message} Bodies are drawn as points.`;
      this.scene = guess(this.results);
    }
    if (this.source.extras.every > 1) told += ` Every ${this.source.extras.every}th frame of the run is in this report.`;
    const model = this.scene.model || (status.summary as { model?: string } | null)?.model || status.folder;
    document.title = `${visible(model)} – Bellcrank`;
    this.layout(model);
    this.status(status, told);
    await this.openStage();
    this.firstPlots();
    await this.openOthers(status.runs ?? 1).catch((e) => this.fail(e));
    this.sidebar.report(this.source.extras.sections);
    this.sidebar.onTruth = () => this.showTruth(true);
    this.listen();
    if (this.chapters) this.beginChapters(this.chapters);
    else this.player.seek(status.live ? this.player.end : this.player.start);
    requestAnimationFrame((now) => this.loop(now));
    if (status.live) this.follow();
    else if (this.source.watched) this.watch();
  }

  private get theme() {
    return THEMES[this.themeName];
  }

  // ————————————————————————————— page —————————————————————————————

  /** A page with nothing but words. */
  message(title: string, text: string, status?: Status): void {
    const card = h("main", { class: "message", role: "alert" }, logo(), h("h1", { textContent: title }));
    if (text) card.append(h("p", { textContent: text }));
    if (status) card.append(h("p", { class: "folder" }, h("bdi", { textContent: visible(status.folder) })));
    this.root.replaceChildren(card);
  }

  private layout(model: string): void {
    this.plots = new PlotPanel(this.results, this.theme);
    this.player = new Player(this.results);
    this.transport = new Transport(this.player, this.results);
    const view = (name: View, label: string, key: string) => {
      const b = h("button", { type: "button", class: "segment", title: `${label} view  (${key})`, onclick: () => this.view(name) }, label);
      this.views.set(name, b);
      return b;
    };
    this.projection = button("cube", "Parallel or central projection", "O", () => this.project());
    this.themeButton = button(this.themeName === "dark" ? "sun" : "moon", "Dark or light", "D", () => this.setTheme());
    const top = h("header", { class: "top" },
      h("div", { class: "brand" }, logo(), h("span", { class: "wordmark" }, "Bellcrank")),
      h("h1", { class: "model" }, h("bdi", { textContent: visible(model), title: visible(model) })), this.chip,
      this.tabs(), h("div", { class: "spring" }),
      h("div", { class: "segments views", role: "group", "aria-label": "View" }, view("front", "Front", "1"), view("top", "Top", "2"), view("side", "Side", "3"), view("iso", "Iso", "4")),
      h("div", { class: "tools" },
        button("fit", "Show everything", "F", () => this.view(this.stage?.view ?? "front")), this.projection, this.menu(),
        button("camera", "Save a picture", "S", () => this.picture()), this.films(), this.themeButton,
        button("panel", "Side panel", "B", () => this.panel()), button("help", "Keys", "?", () => this.dialog.showModal())));
    const plotSplit = this.splitter("Height of the plots", "row", (d) => this.size("--plots", d, 60, 0.75 * innerHeight, this.plots.element.offsetHeight));
    const sideSplit = this.splitter("Width of the side panel", "column", (d) => this.size("--side", d, 200, 640, this.sidebar.element.offsetWidth));
    const canvas = h("canvas", { class: "scene", tabIndex: 0, role: "img", "aria-label": `Moving picture of ${visible(model)}` });
    const chapters = chaptersOf(this.results.status.summary);
    if (chapters.length) this.chapters = new Chapters(chapters, this.player);
    this.viewport = h("div", { class: "viewport" }, canvas, this.busy, this.chapters?.element);
    if (this.results.status.live) this.strip = new Strip(this.theme);
    const main = h("main", { class: "main" }, this.banner, this.viewport, this.transport.element, this.strip?.element ?? null, plotSplit, this.plots.element);
    const { sections } = this.source.extras;
    if (sections.length) this.article = truth(model, sections);
    // the sidebar needs the entities, which the stage makes; it is put in by openStage
    this.root.replaceChildren(h("div", { class: "page" }, top, main, sideSplit, this.article), this.dialog);
    this.showTruth(location.hash === "#truth");
    for (const name of ["--plots", "--side"]) {
      const stored = Number(remembered(name));
      if (stored > 0) document.documentElement.style.setProperty(name, `${stored}px`);
    }
  }

  private async openStage(): Promise<void> {
    const canvas = this.viewport.querySelector("canvas") as HTMLCanvasElement;
    let problem: unknown = null;
    try {
      this.stage = new Stage(canvas, this.scene, this.results, this.theme);
    } catch (e) {
      problem = e;
    }
    const entities = this.stage?.entities ?? [];
    this.sidebar = new Sidebar(this.scene, this.results, entities, this.plots);
    this.sidebar.onSelect = (pick) => this.select(pick);
    this.sidebar.onFocus = (pick) => this.stage?.focus(pick);
    this.sidebar.onHide = (pick) => this.hide(pick);
    this.sidebar.onFollow = (pick) => this.accompany(pick);
    if (this.stage) this.sidebar.markHidden(this.stage.hidden);
    this.root.querySelector(".page")?.append(this.sidebar.element);
    this.plots.onChange = () => this.sidebar.mark();
    this.plots.onSeek = (t) => (this.chapters ?? this.player).seek(t);
    this.player.onChange = () => {
      this.chapters?.update();
      this.transport.update();
      this.plots.seek(this.player.t, this.player.playing);
      this.sidebar.update(this.player.t, !this.player.playing);
    };
    this.player.show = (t) => this.show(t);
    const { stage } = this;
    if (!stage) {
      const text = "The scene needs WebGL 2, which this browser does not offer. Values and plots work without it.";
      this.viewport.replaceChildren(h("p", { class: "no-scene", role: "alert" }, text));
      console.info(text, problem);
      return;
    }
    this.overlay = new Overlay(stage);
    this.overlay.paint(this.theme);
    this.viewport.append(this.overlay.element);
    stage.onDraw = () => this.overlay?.update();
    const fit = () => stage.resize(this.viewport.clientWidth, this.viewport.clientHeight);
    fit();
    this.busy.hidden = false;
    await stage.prepare();
    this.busy.hidden = true;
    fit(); // what was read may have changed the layout
    new ResizeObserver(fit).observe(this.viewport);
    this.markView();
    this.pointer(canvas, stage);
    stage.loadTraces().catch((e) => this.fail(e));
    setTimeout(() => stage.survey().catch((e) => this.fail(e)), 300); // after the first picture
    stage.machine.loadModes().then(() => this.show(this.player.t)).catch((e) => this.fail(e));
    stage.loadLoads().then(() => this.show(this.player.t)).catch((e) => this.fail(e));
    const recorded = this.scene.joints.some((j) => this.results.find(j.name, ".fx") >= 0);
    const toggle = this.toggles.get("reactions");
    if (toggle && !recorded) {
      toggle.disabled = true;
      toggle.parentElement?.setAttribute("title", "No reactions were recorded");
    }
  }

  /** Reads the other runs and shows them beside the first. What cannot be read is told, and left out. */
  private async openOthers(count: number): Promise<void> {
    const found = await Promise.allSettled(Array.from({ length: count - 1 }, async (_, k) => {
      const source = this.source.beside?.(k + 1);
      if (!source) throw new Error("Only one run comes with this page.");
      return readRun(source);
    }));
    const told: string[] = [];
    for (const run of found) {
      if (run.status === "fulfilled") this.runs.push(run.value);
      else told.push(run.reason instanceof Error ? run.reason.message : String(run.reason));
    }
    for (const run of this.runs) {
      const missing = this.lacking(run);
      if (missing) told.push(missing);
      await this.stage?.addGhost(run.scene, run.results);
    }
    if (this.runs.length) {
      this.viewport.append(legend(this.results.status.folder, this.runs, (run) => this.showRun(run)));
      this.player.beside = this.runs.map((run) => run.results);
      this.plots.beside(this.runs);
      this.transport.extend();
    }
    if (told.length) this.status(this.results.status, told.join(" "));
  }

  /** What a run and the first do not share, in a sentence; nothing if they have the same channels. */
  private lacking(run: Run): string {
    const only = (a: Results, b: Results) => {
      let n = 0;
      for (let c = 1; c < a.names.count; c++) if (b.find(a.name(c)) < 0) n += 1;
      return n;
    };
    const [own, theirs] = [only(this.results, run.results), only(run.results, this.results)];
    if (own + theirs === 0) return "";
    const label = (status: string) => `“${visible(status)}”`;
    const [a, b] = [label(this.results.status.folder), label(run.label)];
    return `${own} channels are only in ${a}${theirs ? `, ${theirs} only in ${b}; name ${b} first to plot them` : ""}.`;
  }

  /** A run is shown or hidden. */
  private showRun(run: Run): void {
    const ghost = this.stage?.ghosts[this.runs.indexOf(run)];
    if (ghost) ghost.solids.node.visible = run.shown;
    this.plots.beside(this.runs);
    this.stage?.invalidate();
  }

  /** Opens the first chapter; shapes of modes move at once. */
  private beginChapters(chapters: Chapters): void {
    chapters.open(0);
    if (this.player.span && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.player.play();
  }

  /** The scene or the accuracy report, where there is one. */
  private tabs(): HTMLElement | null {
    if (!this.source.extras.sections.length) return null;
    const tab = (on: boolean, label: string) => {
      const b = h("button", { type: "button", class: "segment", title: `${label}  (V)`, onclick: () => this.showTruth(on) }, label);
      this.pages.set(on, b);
      return b;
    };
    return h("div", { class: "segments", role: "group", "aria-label": "Page" }, tab(false, "Scene"), tab(true, "Accuracy report"));
  }

  showTruth(on: boolean): void {
    if (!this.article) return;
    this.article.hidden = !on;
    this.root.querySelector(".page")?.classList.toggle("reading", on);
    for (const [which, b] of this.pages) b.setAttribute("aria-pressed", String(which === on));
    if (on) this.article.focus({ preventScroll: true });
  }

  /** Draws deformations larger than they are. */
  deform(factor: number): void {
    if (!this.stage) return;
    this.stage.deformation = factor;
    if (this.deformation) this.deformation.value = String(Math.log10(factor));
    this.show(this.player.t);
  }

  private menu(): HTMLElement {
    const items: [keyof Shown, string, string][] = [
      ["joints", "Joints", "J"], ["forces", "Forces", "E"], ["reactions", "Reactions", "R"], ["traces", "Paths of probes", "T"], ["labels", "Names", "L"], ["grid", "Grid", "G"],
    ];
    const scale = h("input", { type: "range", min: "-1.5", max: "1.5", step: "0.05", value: "0", "aria-label": "Length of the reaction arrows" });
    scale.addEventListener("input", () => {
      if (!this.stage) return;
      this.stage.arrowScale = 10 ** Number(scale.value);
      this.show(this.player.t);
    });
    const details: HTMLDetailsElement = h("details", { class: "menu" },
      h("summary", { class: "tool", title: "Show and hide", "aria-label": "Show and hide" }, icon("eye")),
      h("div", { class: "sheet" }, ...items.map(([key, label, letter]) => {
        const box = h("input", { type: "checkbox", checked: this.shown[key], onchange: () => this.toggle(key, box.checked) });
        this.toggles.set(key, box);
        return h("label", {}, box, h("span", { textContent: label }), h("kbd", { textContent: letter }));
      }), h("label", { class: "wide" }, h("span", { textContent: "Arrows" }), scale), this.deformed()));
    addEventListener("pointerdown", (e) => {
      if (details.open && !details.contains(e.target as Node)) details.open = false;
    });
    return details;
  }

  /** How much larger deformations are drawn, where something deforms. */
  private deformed(): HTMLElement | null {
    if (!this.scene.bodies.some((b) => b.flexible)) return null;
    const slider = h("input", { type: "range", min: "0", max: "4", step: "0.05", value: "0", "aria-label": "Deformation, times larger" });
    const told = h("output", { textContent: "× 1" });
    slider.addEventListener("input", () => {
      const factor = +(10 ** Number(slider.value)).toPrecision(2);
      write(told, `× ${factor}`);
      this.deform(factor);
    });
    this.deformation = slider;
    return h("label", { class: "wide" }, h("span", { textContent: "Bending" }), slider, told);
  }

  private splitter(label: string, direction: "row" | "column", move: (by: number) => void): HTMLElement {
    const e = h("div", { class: `split ${direction}`, role: "separator", tabIndex: 0, "aria-label": label, "aria-orientation": direction === "row" ? "horizontal" : "vertical" });
    let last = 0;
    const at = (p: PointerEvent) => (direction === "row" ? p.clientY : p.clientX);
    e.addEventListener("pointerdown", (p) => {
      last = at(p);
      e.setPointerCapture(p.pointerId);
    });
    e.addEventListener("pointermove", (p) => {
      if (!e.hasPointerCapture(p.pointerId)) return;
      move(last - at(p));
      last = at(p);
    });
    e.addEventListener("keydown", (k) => {
      const by = { ArrowUp: 24, ArrowLeft: 24, ArrowDown: -24, ArrowRight: -24 }[k.key];
      if (by === undefined) return;
      k.stopPropagation();
      k.preventDefault();
      move(by);
    });
    return e;
  }

  private size(name: string, by: number, least: number, most: number, now: number): void {
    const next = Math.round(Math.min(Math.max(now + by, least), most));
    document.documentElement.style.setProperty(name, `${next}px`);
    remember(name, String(next));
  }

  private status(status: Status, more = ""): void {
    this.results.status = status;
    this.chip.className = `chip ${status.state}`;
    write(this.chip, WORDS[status.state] ?? status.state);
    const text = [status.message, more.trim()].filter(Boolean).join(" ");
    this.banner.hidden = !text;
    const shut = button("close", "Close this message", "", () => (this.banner.hidden = true));
    this.banner.className = `banner ${status.state}`;
    this.banner.replaceChildren(h("span", { textContent: text }), shut);
  }

  private fail(e: unknown): void {
    if (e instanceof Replaced) {
      location.reload();
      return;
    }
    this.banner.hidden = false;
    this.banner.className = "banner failed";
    this.banner.replaceChildren(h("span", { textContent: e instanceof Error ? e.message : String(e) }), button("close", "Close this message", "", () => (this.banner.hidden = true)));
  }

  // ————————————————————————————— time —————————————————————————————

  private show(t: number): boolean {
    const { row, share } = this.results.locate(t);
    if (!this.stage) return true;
    this.stage.ghosts.forEach((g) => g.seek(t, this.player.playing));
    const here = this.stage.seek(row, share, this.player.playing);
    if (!this.filming) this.busy.hidden = here;
    if (!here) this.retry(t);
    return here;
  }

  /** Shows a time as soon as it is read. */
  private retry(t: number): void {
    const mine = ++this.waiting;
    const { row } = this.results.locate(t);
    Promise.all([this.stage?.poses.load(row), this.stage?.poses.load(Math.min(row + 1, this.results.rows - 1))]).then(
      () => mine === this.waiting && !this.player.playing && this.show(this.player.t),
      (e) => this.fail(e),
    );
  }

  private loop(now: number): void {
    this.player.tick(now);
    this.stage?.frame(now);
    this.frames += 1;
    if (now - this.clock.since > 500) {
      this.clock = { rate: ((this.frames - this.clock.frames) * 1000) / (now - this.clock.since), since: now, frames: this.frames };
    }
    requestAnimationFrame((next) => this.loop(next));
  }

  /** Frames per second, measured. */
  get rate(): number {
    return this.clock.rate;
  }

  private firstPlots(): void {
    const { plots } = this.source.extras;
    const find = (names: string[]) => names.map((n) => this.results.find(n)).filter((c) => c > 0);
    if (plots.length) {
      plots.forEach((names) => this.plots.add(find(names), true));
      return;
    }
    const { joints, bodies, probes } = this.scene;
    const some = [
      find(joints.slice(0, 200).flatMap((j) => [`${j.name}.angle`, `${j.name}.position`])).slice(0, 3),
      find(probes.slice(0, 1).flatMap((p) => ["x", "y", "z"].map((a) => `${p.name}.${a}`))),
      find(["energy.kinetic", "energy.stored", "energy.total"]),
      find(bodies.slice(0, 1).flatMap((b) => ["x", "y", "z"].map((a) => `${b.name}.${a}`))),
    ].filter((c) => c.length > 0);
    const alike = (c: number[]) => c.filter((x) => this.results.unit(x) === this.results.unit(c[0]));
    some.slice(0, 2).forEach((c) => this.plots.add(alike(c), true));
  }

  // ————————————————————————————— doing —————————————————————————————

  select(pick: number): void {
    this.selected = pick;
    this.stage?.select(pick);
    this.sidebar.select(pick);
  }

  /** Hides an entity, or shows it again. */
  hide(pick: number, hidden = !this.stage?.hidden.has(pick)): void {
    if (!this.stage) return;
    this.stage.hide(pick, hidden);
    this.sidebar.markHidden(this.stage.hidden);
  }

  /** Lets the view move with an entity; again, and it stands still. */
  accompany(pick: number): void {
    this.stage?.follow(pick === this.stage.following ? -1 : pick);
    this.sidebar.markFollowed(this.stage?.following ?? -1);
  }

  /** Shows everything that is hidden. */
  private unhide(): void {
    for (const pick of [...(this.stage?.hidden ?? [])]) this.hide(pick, false);
  }

  view(view: View, smoothly = true): void {
    this.stage?.follow(-1);
    this.sidebar.markFollowed(-1);
    this.stage?.goto(view, smoothly);
    this.markView();
  }

  private markView(): void {
    for (const [name, b] of this.views) b.setAttribute("aria-pressed", String(this.stage?.view === name));
    this.projection.setAttribute("aria-pressed", String(this.stage?.flat === false));
  }

  private project(): void {
    this.stage?.setFlat(!this.stage.flat);
    this.markView();
  }

  toggle(key: keyof Shown, on = !this.shown[key]): void {
    const box = this.toggles.get(key);
    if (box?.disabled) return;
    this.shown[key] = on;
    if (box) box.checked = on;
    this.stage?.show(this.shown);
    if (key === "labels") this.overlay?.showLabels(on);
    if (key === "reactions" && on) this.stage?.loadReactions().then(() => this.show(this.player.t)).catch((e) => this.fail(e));
    else this.show(this.player.t);
  }

  setTheme(name: ThemeName = this.themeName === "dark" ? "light" : "dark"): void {
    this.themeName = name;
    remember("theme", name);
    document.documentElement.dataset.theme = name;
    this.themeButton.replaceChildren(icon(name === "dark" ? "sun" : "moon"));
    this.stage?.paint(this.theme);
    this.overlay?.paint(this.theme);
    this.plots.paint(this.theme);
    this.strip?.paint(this.theme);
    this.sidebar.mark();
    this.show(this.player.t);
  }

  private panel(): void {
    this.root.querySelector(".page")?.classList.toggle("narrow");
  }

  private async picture(): Promise<void> {
    const data = await this.stage?.picture(this.theme.paper);
    if (data) download(`${visible(this.scene.model) || "bellcrank"}.png`, data);
  }

  /** A choice of films to save. */
  private films(): HTMLElement {
    const choice = h("select", { class: "save film", title: "Save a film", "aria-label": "Save a film", onchange: () => {
      const format = choice.value as Format;
      choice.value = "";
      this.film(format).then((data) => data && download(`${visible(this.scene.model) || "bellcrank"}.${format.toLowerCase()}`, data), (e) => this.fail(e));
    } }, h("option", { value: "", textContent: "Film…" }));
    void formats().then((all) => choice.append(...all.map((f) => h("option", { value: f, textContent: f }))));
    return choice;
  }

  /** The whole motion at the present speed, from where one looks; nothing if it is ended by a click. */
  async film(format: Format): Promise<Blob | null> {
    const { stage, player } = this;
    if (!stage || this.filming) return null;
    const before = player.t;
    player.pause();
    this.filming = true;
    const end = () => (this.filming = false);
    this.busy.addEventListener("click", end);
    const { clientWidth: width, clientHeight: height } = stage.canvas;
    try {
      return await film({
        format, width, height, seconds: (player.end - player.start) / player.speed,
        draw: async (share, onto, w, h) => {
          const t = player.start + share * (player.end - player.start);
          await stage.load(t);
          player.seek(t);
          stage.draw();
          onto.fillStyle = this.theme.paper;
          onto.fillRect(0, 0, w, h);
          onto.drawImage(stage.canvas, 0, 0, w, h);
        },
        progress: (share) => {
          this.busy.hidden = false;
          write(this.busy, `Writing ${format} … ${Math.round(100 * share)} %. Click to stop.`);
          return this.filming;
        },
      });
    } finally {
      this.filming = false;
      this.busy.removeEventListener("click", end);
      this.busy.hidden = true;
      write(this.busy, "Reading …");
      player.seek(before);
    }
  }

  /** Plots what is chosen: its coordinates, or whatever there is. */
  private plotSelected(): void {
    const e = this.stage?.entities[this.selected];
    if (!e) return;
    const columns = this.sidebar.channels(e);
    const first = columns.filter((c) => /\.(x|y|z|angle|position)$/.test(this.results.name(c)));
    this.plots.add(first.length ? first : columns.slice(0, 3));
  }

  private pointer(canvas: HTMLCanvasElement, stage: Stage): void {
    let down: [number, number] | null = null;
    let moved: { x: number; y: number } | null = null;
    const follows = this.scene.bodies.length <= FOLLOWED;
    canvas.addEventListener("pointerdown", (e) => {
      down = [e.clientX, e.clientY];
      this.overlay?.point(0, 0, null);
    });
    canvas.addEventListener("pointerup", (e) => {
      if (e.button !== 0 || !down || Math.hypot(e.clientX - down[0], e.clientY - down[1]) > 4) {
        down = null;
        return;
      }
      down = null;
      const box = canvas.getBoundingClientRect();
      const pick = stage.pick(e.clientX - box.left, e.clientY - box.top);
      if (pick !== this.selected) this.select(pick);
    });
    canvas.addEventListener("dblclick", (e) => {
      const box = canvas.getBoundingClientRect();
      const pick = stage.pick(e.clientX - box.left, e.clientY - box.top);
      if (pick >= 0) stage.focus(pick);
    });
    canvas.addEventListener("pointermove", (e) => {
      if (!follows || e.buttons || e.pointerType === "touch") return;
      const box = canvas.getBoundingClientRect();
      const first = !moved;
      moved = { x: e.clientX - box.left, y: e.clientY - box.top };
      if (!first) return;
      requestAnimationFrame(() => {
        if (!moved) return;
        const { x, y } = moved;
        moved = null;
        const pick = stage.pick(x, y);
        stage.hover(pick);
        canvas.style.cursor = pick >= 0 ? "pointer" : "";
        this.overlay?.point(x, y, pick >= 0 ? visible(stage.entities[pick].name) : null);
      });
    });
    canvas.addEventListener("pointerleave", () => {
      moved = null;
      stage.hover(-1);
      this.overlay?.point(0, 0, null);
    });
  }

  private listen(): void {
    addEventListener("keydown", (e) => {
      const at = e.target as HTMLElement;
      const typing = at.matches?.("input[type=text], input[type=search], textarea, select");
      if (e.key === "Escape") {
        if (typing) at.blur();
        else if (!this.dialog.open) this.select(-1);
        return;
      }
      if (typing || e.ctrlKey || e.metaKey || e.altKey || this.dialog.open) return;
      if (e.key === " " && at.matches?.("button, summary, input[type=checkbox]")) return;
      const { player, stage } = this;
      const act: Record<string, () => void> = {
        " ": () => player.toggle(),
        ArrowLeft: () => player.step(e.shiftKey ? -10 : -1), ArrowRight: () => player.step(e.shiftKey ? 10 : 1),
        PageUp: () => this.chapters?.open(this.chapters.at - 1), PageDown: () => this.chapters?.open(this.chapters.at + 1),
        Home: () => player.seek(player.start), End: () => player.seek(player.end),
        "+": () => player.faster(1), "=": () => player.faster(1), "-": () => player.faster(-1), "−": () => player.faster(-1),
        k: () => {
          player.loop = !player.loop;
          this.transport.update();
        },
        f: () => this.view(stage?.view ?? "front"), "0": () => this.view(stage?.view ?? "front"),
        "1": () => this.view("front"), "2": () => this.view("top"), "3": () => this.view("side"), "4": () => this.view("iso"),
        o: () => this.project(), c: () => stage?.focus(this.selected),
        j: () => this.toggle("joints"), e: () => this.toggle("forces"), r: () => this.toggle("reactions"), t: () => this.toggle("traces"),
        m: () => this.accompany(this.selected),
        h: () => (e.shiftKey ? this.unhide() : this.hide(this.selected)),
        l: () => this.toggle("labels"), g: () => this.toggle("grid"), d: () => this.setTheme(), b: () => this.panel(), v: () => this.showTruth(!!this.article?.hidden),
        p: () => (e.shiftKey ? this.plots.clear() : this.plotSelected()),
        s: () => void this.picture(), "/": () => this.sidebar.focusSearch(), "?": () => this.dialog.showModal(),
      };
      const run = act[e.key.length === 1 ? e.key.toLowerCase() : e.key];
      if (!run) return;
      e.preventDefault();
      run();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (e) => {
      if (!remembered("theme")) this.setTheme(e.matches ? "dark" : "light");
    });
  }

  // ————————————————————————————— watching —————————————————————————————

  /** Loads the page again when something has come. */
  private watchFor(come: (s: Status) => boolean, pause = WATCH): void {
    const look = () => this.source.status().then((s) => (come(s) ? location.reload() : again()), again);
    const again = () => void setTimeout(look, pause);
    again();
  }

  /** There are more rows; who stood at the end stays there. */
  private async grow(rows: number, all: boolean): Promise<void> {
    const atEnd = !this.player.playing && this.player.t >= this.player.end;
    await this.results.extend(rows);
    await this.stage?.extend(all);
    this.plots.extend();
    this.transport.extend();
    if (atEnd && this.player.growing) this.player.seek(this.player.end);
    else this.show(this.player.t);
  }

  /** Looks whether a run beside the first has more rows. */
  private async growBeside({ results }: Run): Promise<void> {
    const status = await results.source.status();
    if (status.generation !== results.status.generation) return location.reload();
    results.status = status;
    if (status.rows <= results.rows) return;
    await results.extend(status.rows);
    await Promise.all(this.stage?.ghosts.filter((g) => g.results === results).map(({ machine }) => machine.poses.extend()) ?? []);
    this.plots.extend();
    this.transport.extend();
    this.show(this.player.t);
  }

  /** Follows a run while it goes on, by its own news. */
  private follow(): void {
    const feed = new EventSource("/api/live");
    const { generation } = this.results.status;
    let [busy, told, whole] = [false, false, 0];
    let latest: News | null = null;
    this.player.growing = this.results.status.state === "running";
    if (this.player.growing) this.player.speed = 1; // how long it will be is not known yet
    const work = async () => {
      if (busy || !latest) return;
      busy = true;
      const news: News = latest;
      latest = null;
      try {
        if (news.generation !== generation) return location.reload();
        const all = news.ended || performance.now() - whole > WHOLE;
        if (all) whole = performance.now();
        if (news.rows > this.results.rows) await this.grow(news.rows, all);
        if (news.ended && !told) {
          told = true;
          this.player.growing = false;
          this.status(await this.source.status());
          this.sidebar.report([]);
        }
      } catch (e) {
        if (!this.over) this.fail(e);
      }
      busy = false;
      void work();
    };
    feed.onmessage = (m: MessageEvent<string>) => {
      const news = JSON.parse(m.data) as News;
      this.strip?.add(news);
      latest = news;
      void work();
    };
    const end = () => {
      feed.close();
      this.over = true;
      this.player.growing = false;
      const text = told ? "The program has ended; what was read stays here." : "The program has ended before its run did.";
      if (!told) this.fail(new Error(text));
      else this.status(this.results.status, text);
    };
    feed.addEventListener("end", end);
    feed.onerror = end;
    addEventListener("pagehide", () => feed.close());
  }

  /** Follows a run that goes on, and notices another one. */
  private watch(): void {
    const generation = this.results.status.generation;
    let quiet = 0;
    const look = async () => {
      try {
        const status = await this.source.status();
        quiet = 0;
        if (status.generation !== generation) return location.reload();
        const before = this.results.status;
        if (status.state !== before.state || status.message !== before.message) this.status(status);
        if (status.rows > this.results.rows) {
          await this.grow(status.rows, true);
          this.results.status = status;
        }
        for (const run of this.runs) await this.growBeside(run);
      } catch (e) {
        if (++quiet === 2) this.fail(e);
      }
      const running = [this.results, ...this.runs.map((run) => run.results)].some((r) => r.status.state === "running");
      setTimeout(look, running ? WATCH : 4 * WATCH);
    };
    setTimeout(look, WATCH);
  }
}

function logo(): SVGSVGElement {
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "logo");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(ns, "path");
  path.setAttribute("d", "M5 4.500v10.500a4 4 0 0 0 4 4h10.500");
  svg.append(path);
  for (const [x, y, r] of [[5, 4.5, 1.2], [6.4, 17.6, 1.5], [19.5, 19, 1.2]]) {
    const hole = document.createElementNS(ns, "circle");
    hole.setAttribute("cx", String(x));
    hole.setAttribute("cy", String(y));
    hole.setAttribute("r", String(r));
    svg.append(hole);
  }
  return svg;
}
