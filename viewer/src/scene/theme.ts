// Colours of the two themes, for the scene and for the plots.

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

const BODIES = ["#4f80bd", "#e08a3c", "#5aa469", "#c25b76", "#8470c4", "#3fa3ad", "#cfa92e", "#94785f", "#6f93b5", "#b7686a"];

export const THEMES: Record<ThemeName, Theme> = {
  light: {
    name: "light", bodies: BODIES,
    steel: "#4a5460", bright: "#c9d1da", ground: "#98a2ad", spring: "#6b7480", rubber: "#3b4148", load: "#b45309", reaction: "#c02644", moment: "#7a3fb0",
    traces: ["#c2410c", "#7c3aed", "#0f766e", "#be185d", "#1d4ed8", "#4d7c0f"],
    series: ["#1f63c6", "#d06a0b", "#1b8a4d", "#c22f4d", "#6f4bc8", "#0b8591", "#a8358c", "#7a7410"],
    grid: { minor: "#d3d9e0", major: "#b4bdc8", x: "#c9505d", y: "#4f9a58", z: "#4a74c9" },
    shadow: 0.17, selected: "#f08c00", hovered: "#f5b355", sky: "#ffffff", earth: "#c9d0d8", light: 1,
    paper: "#ffffff", ink: "#1b2430", muted: "#5b6878", line: "#dde3ea",
  },
  dark: {
    name: "dark", bodies: BODIES,
    steel: "#a9b4c0", bright: "#3a434e", ground: "#5d6874", spring: "#b7c0ca", rubber: "#7a828c", load: "#f0a24a", reaction: "#ff6b81", moment: "#c59bff",
    traces: ["#ff9d5c", "#b79bff", "#4fd1c0", "#f583bd", "#7db1ff", "#b3d867"],
    series: ["#6aa8ff", "#f5a550", "#58c98b", "#ff7d92", "#b196ff", "#4ccbd8", "#ec82d2", "#d3cb56"],
    grid: { minor: "#2a323c", major: "#3d4854", x: "#b8525e", y: "#4c8f56", z: "#5a82d6" },
    shadow: 0.42, selected: "#ffb13d", hovered: "#c98c33", sky: "#dfe8f5", earth: "#2c333c", light: 0.92,
    paper: "#171c23", ink: "#e5eaf1", muted: "#95a3b5", line: "#2c3540",
  },
};
