// Colours of the two themes, for the scene and for the plots. They are those of `colours.json`, which the program's own
// pictures and plots and the style of the page take theirs from, too. The series can be told apart by the colour-blind
// [Okabe & Ito 2008].

import COLOURS from "./colours.json";

export type ThemeName = "light" | "dark";

export interface Theme {
  name: ThemeName;
  bodies: string[];
  steel: string;
  bright: string;
  ground: string;
  spring: string;
  rubber: string;
  load: string;
  reaction: string;
  moment: string;
  traces: string[];
  series: string[];
  grid: { minor: string; major: string; x: string; y: string; z: string };
  shadow: number;
  selected: string;
  hovered: string;
  sky: string;
  earth: string;
  light: number;
  paper: string;
  ink: string;
  muted: string;
  line: string;
}

const theme = (name: ThemeName): Theme => ({ name, bodies: COLOURS.bodies, ...COLOURS[name] });

export const THEMES: Record<ThemeName, Theme> = { light: theme("light"), dark: theme("dark") };
