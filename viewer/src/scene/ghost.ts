// The machine of another run, drawn so that one sees through it.

import type { BufferGeometry } from "three";
import type { Results } from "../data/results";
import { Mechanism } from "./mechanism";
import { type Entity, type Scene, entities } from "./model";
import { meshes, primitives } from "./primitives";
import { type Light, Solids } from "./solids";
import type { Theme } from "./theme";

/** How much of it is seen: less of each further one. */
const OPACITY = [0.38, 0.26, 0.2];

export class Ghost {
  readonly machine: Mechanism;
  solids: Solids;
  private readonly entities: Entity[];
  private readonly hidden = new Set<number>();
  private wanted = NaN;
  private readonly levels: (Record<string, BufferGeometry> | undefined)[] = [];

  constructor(
    scene: Scene, readonly results: Results, theme: Theme, size: number, private readonly number: number, private readonly software: boolean,
    private readonly light: Light, private readonly changed: () => void,
  ) {
    this.machine = new Mechanism(scene, results, theme, size, new Map());
    this.entities = entities(scene);
    scene.bodies.forEach((b, i) => b.hidden && this.hidden.add(i));
    this.solids = this.make();
  }

  /** Hides or shows what has the kind and the name of an entity of the first run. */
  hide({ kind, name }: Entity, hidden: boolean): void {
    const pick = this.entities.findIndex((e) => e.kind === kind && e.name === name);
    if (pick < 0) return;
    if (hidden) this.hidden.add(pick);
    else this.hidden.delete(pick);
    this.solids.hide(pick, hidden);
  }

  private make(): Solids {
    const { scene, parts, slots } = this.machine;
    this.hidden.forEach((pick) => parts.items.hide(pick, true));
    const own = meshes(scene);
    const geometries = (level: number) => (this.levels[level] ??= { ...primitives(level), ...own });
    const opacity = OPACITY[Math.min(this.number, OPACITY.length - 1)];
    const solids = new Solids(parts.items, slots, geometries, false, this.software, this.light, opacity);
    for (const group of ["joint", "force", "load", "reaction"] as const) solids.show(group, false);
    return solids;
  }

  /** New colours; the node of the solids is another one then. */
  paint(theme: Theme): void {
    const { visible } = this.solids.node;
    this.solids.dispose();
    this.machine.rebuild(theme);
    this.solids = this.make();
    this.solids.node.visible = visible;
  }

  /** Shows the present time again. */
  again(): void {
    if (Number.isFinite(this.wanted)) this.seek(this.wanted, false);
  }

  /** Shows a time, as soon as it is read. */
  seek(t: number, playing: boolean): void {
    this.wanted = t;
    const { row, share } = this.results.locate(t);
    if (this.machine.seek(row, share, playing)) this.solids.moved();
    else {
      this.machine.load(t).then(() => {
        if (this.wanted !== t) return;
        this.seek(t, false);
        this.changed();
      }, () => undefined);
    }
  }
}
