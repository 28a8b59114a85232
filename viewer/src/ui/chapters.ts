// Chapters: spans of time that stand for themselves, such as the shapes of modes or equilibria, with a few facts each.

import { visible } from "../data/names";
import { button, h, write } from "./dom";
import type { Player } from "./player";

export interface Chapter { name: string; from: number; to: number; facts: string[] }

/** The chapters that a summary tells of; what is no chapter is left out. */
export function chaptersOf(summary: unknown): Chapter[] {
  const list = (summary as { chapters?: unknown } | null)?.chapters;
  if (!Array.isArray(list)) return [];
  return list.flatMap((item: unknown): Chapter[] => {
    const c = (item ?? {}) as Partial<Chapter>;
    if (typeof c.name !== "string" || !Number.isFinite(c.from) || !Number.isFinite(c.to)) return [];
    const facts = Array.isArray(c.facts) ? c.facts.filter((f) => typeof f === "string") : [];
    return [{ name: c.name, from: c.from as number, to: c.to as number, facts }];
  });
}

/** The choice of a chapter, and what it tells, over the scene. */
export class Chapters {
  readonly element: HTMLElement;
  at = 0;
  private readonly choice: HTMLSelectElement;
  private readonly facts = h("span", { class: "told", "aria-live": "polite" });

  constructor(readonly list: Chapter[], private readonly player: Player) {
    this.choice = h("select", { class: "save chapter", title: "Chapter  (PageUp, PageDown)", "aria-label": "Chapter", onchange: () => this.open(Number(this.choice.value)) },
      ...list.map((c, k) => h("option", { value: String(k), textContent: visible(c.name) })));
    const one = list.length < 2;
    const back = button("back", "The chapter before", "PageUp", () => this.open(this.at - 1));
    const on = button("forward", "The next chapter", "PageDown", () => this.open(this.at + 1));
    this.element = h("div", { class: "chapters", role: "group", "aria-label": "Chapters" },
      one ? null : back, one ? h("strong", { textContent: visible(list[0].name) }) : this.choice, one ? null : on, this.facts);
  }

  /** Goes to a chapter; one with a length is played over and over. */
  open(k: number): void {
    const c = this.list[Math.min(Math.max(k, 0), this.list.length - 1)];
    this.mark(this.list.indexOf(c));
    this.player.span = c.to > c.from ? [c.from, c.to] : null;
    this.player.seek(c.from);
  }

  /** The time has moved, inside of the chapter or out of it. */
  update(): void {
    const { t } = this.player;
    let k = 0;
    while (k + 1 < this.list.length && this.list[k + 1].from <= t) k += 1;
    if (k !== this.at) this.mark(k);
  }

  /** Opens the chapter that a time is in. */
  seek(t: number): void {
    let k = 0;
    while (k + 1 < this.list.length && this.list[k + 1].from <= t) k += 1;
    if (k !== this.at) this.open(k);
    this.player.seek(t);
  }

  private mark(k: number): void {
    this.at = k;
    this.choice.value = String(k);
    write(this.facts, this.list[k].facts.map(visible).join(" · "));
  }
}
