// All solids of a scene in a handful of draw calls: poses and instances come from textures, meshes are shared.

import {
  BackSide, BufferAttribute, BufferGeometry, Color, DataTexture, DataUtils, DoubleSide, Float16BufferAttribute, FloatType, Group as Node,
  InstancedBufferAttribute, InstancedBufferGeometry, LineSegments, type Material, Mesh, MeshDepthMaterial, MeshStandardMaterial, NearestFilter,
  RGBADepthPacking, RGBAFormat, ShaderMaterial, Sphere, Vector2, Vector3,
} from "three";
import { GLASS, GROUPS, type Group, HIDDEN, type Items, PER_ROW } from "./items";
import { ROW, type Slots } from "./poses";
import { LEVELS, LINED, LINES, line } from "./primitives";

const DECLARE = /* glsl */ `
attribute vec3 ring;
attribute float item;
uniform highp sampler2D poses;
uniform highp sampler2D items;
uniform float least;
#ifdef LINES
const bool lined = true;
#else
const bool lined = false;
#endif
vec3 turned(vec4 q, vec3 v) { return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v); }
vec4 slotPlace, slotTurn, itemPlace, itemTurn, itemCore, itemMore; // as in items.ts
void findPose() {
  int n = int(item + 0.5);
  ivec2 at = ivec2((n % ${PER_ROW}) * 4, n / ${PER_ROW});
  itemPlace = texelFetch(items, at, 0);
  itemTurn = texelFetch(items, at + ivec2(1, 0), 0);
  itemCore = texelFetch(items, at + ivec2(2, 0), 0);
  itemMore = texelFetch(items, at + ivec2(3, 0), 0);
  int s = int(itemPlace.w + 0.5);
  at = ivec2((s % ${ROW}) * 2, s / ${ROW});
  slotPlace = texelFetch(poses, at, 0);
  slotTurn = texelFetch(poses, at + ivec2(1, 0), 0);
}
vec3 local() { return position * itemCore.xyz + ring * itemCore.w + normal * itemMore.x; }
vec3 placed() {
  vec3 skeleton = itemPlace.xyz + turned(itemTurn, position * itemCore.xyz);
  skeleton.x *= slotPlace.w;
  return slotPlace.xyz + turned(slotTurn, skeleton + turned(itemTurn, ring * (lined ? max(itemCore.w, least) : itemCore.w) + normal * itemMore.x));
}
vec3 facing() { return turned(slotTurn, turned(itemTurn, normal)); }
float marked() { return mod(itemMore.w, 2.0); }
float opaque() { return 1.0 - floor(mod(itemMore.w, ${HIDDEN}.0) / 2.0) / 255.0; }
vec3 tint() {
  vec3 c = vec3(floor(itemMore.z / 65536.0), mod(floor(itemMore.z / 256.0), 256.0), mod(itemMore.z, 256.0)) / 255.0;
  return mix(c / 12.92, pow((c + 0.055) / 1.055, vec3(2.4)), step(0.04045, c));
}
`;

const HIDE = /* glsl */ `if (!(slotPlace.w >= 0.0) || itemMore.w >= ${HIDDEN}.0) gl_Position = vec4(0.0, 0.0, 2.0, 1.0);`;

const VARYING = "varying vec4 vTint;\nvarying vec3 vOwn;\nvarying float vMarked;";

interface Shared { poses: { value: DataTexture }; items: { value: DataTexture }; least: { value: number } }

/** Makes a material of three.js take its vertices from the instances. */
function dress(material: Material, shared: Shared, tinted: boolean): void {
  material.onBeforeCompile = (shader) => {
    Object.assign(shader.uniforms, shared);
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", `#include <common>\n${DECLARE}${tinted ? VARYING : ""}`)
      .replace("void main() {", "void main() {\nfindPose();")
      .replace("#include <beginnormal_vertex>", "vec3 objectNormal = facing();")
      .replace("#include <begin_vertex>", "vec3 transformed = placed();")
      .replace(
        "#include <project_vertex>",
        `#include <project_vertex>\n${HIDE}${tinted ? "vTint = vec4(tint(), opaque()); vOwn = local(); vMarked = marked();" : ""}`,
      );
    if (tinted) {
      shader.fragmentShader = shader.fragmentShader
        .replace("#include <common>", `#include <common>\n${VARYING}`)
        .replace(
          "#include <color_fragment>",
          `diffuseColor *= vTint;
          if (vMarked > 0.5) {
            vec3 own = vOwn;
            vec2 w = max(fwidth(own.xy), vec2(1e-6));
            vec2 side = clamp(own.xy / w, -1.0, 1.0);
            diffuseColor.rgb *= 1.0 - 0.26 * (0.5 - 0.5 * side.x * side.y);
          }`,
        );
    }
  };
  material.customProgramCacheKey = () => `bellcrank-${tinted}`;
}

/** A processor that draws without a graphics processor takes half a millisecond for an instance, whatever its size. */
const COPIED = 16_000_000;

/** Frees the numbers once the graphics processor has them. */
function handedOver<T extends BufferAttribute>(attribute: T): T {
  return attribute.onUpload(function (this: BufferAttribute) {
    (this as { array: unknown }).array = null;
  }) as T;
}

/** All instances as one mesh. */
function copies(source: BufferGeometry, numbers: number[]): BufferGeometry {
  const g = new BufferGeometry();
  const n = numbers.length;
  const vertices = source.getAttribute("position").count;
  for (const name of ["position", "ring", "normal"]) {
    const values = Uint16Array.from(source.getAttribute(name).array, (x) => DataUtils.toHalfFloat(x));
    const all = new Uint16Array(values.length * n);
    for (let i = 0; i < n; i++) all.set(values, i * values.length);
    g.setAttribute(name, handedOver(new Float16BufferAttribute(all, 3)));
  }
  const item = new Float32Array(vertices * n);
  for (let i = 0; i < n; i++) item.fill(numbers[i], i * vertices, (i + 1) * vertices);
  g.setAttribute("item", handedOver(new BufferAttribute(item, 1)));
  const index = source.index?.array ?? [];
  const all = new Uint32Array(index.length * n);
  for (let i = 0; i < n; i++) for (let k = 0; k < index.length; k++) all[i * index.length + k] = index[k] + i * vertices;
  g.setIndex(handedOver(new BufferAttribute(all, 1)));
  g.boundingSphere = new Sphere(); // else three.js computes one from all of them
  return g;
}

/** Where light comes from when solids are drawn quickly: the same as the lights of the stage. */
export interface Light { key: Vector3; fill: Vector3; up: Vector3; sky: Color; earth: Color; strength: Vector3 }

interface Drawn { quick: ShaderMaterial; mesh: Mesh; lines: LineSegments | null; group: Group; solid: string; numbers: number[]; thick: number; level: number; fine: Material; over: boolean; made: (BufferGeometry | undefined)[] }

/** The solids of a scene. */
export class Solids {
  readonly node = new Node();
  readonly texture: DataTexture;
  private readonly instances: DataTexture;
  private readonly groups = new Map<Group, Node>();
  private readonly picking: ShaderMaterial;
  private readonly outline: { selected: ShaderMaterial; hovered: ShaderMaterial };
  /** Outlines of what one sees through, which they fill. */
  private readonly film = {} as { selected: ShaderMaterial; hovered: ShaderMaterial };
  private readonly outlined: { selected: Node; hovered: Node } = { selected: new Node(), hovered: new Node() };
  private readonly standard: MeshStandardMaterial;
  private readonly overlay: MeshStandardMaterial;
  private readonly quick: ShaderMaterial;
  /** What one sees through, in full and quickly. */
  private readonly glass: { fine: MeshStandardMaterial; quick: ShaderMaterial };
  private readonly thin: ShaderMaterial;
  private readonly depth: MeshDepthMaterial;
  private readonly drawn: Drawn[] = [];
  private readonly shown: Record<Group, boolean> = { body: true, joint: true, force: true, load: true, reaction: false };
  /** Nothing is thinner than this; lines are drawn at least so long. */
  private readonly least = { value: 0 };

  constructor(
    private readonly items: Items, slots: Slots, private readonly geometries: (level: number) => Record<string, BufferGeometry>,
    shadows: boolean, private readonly software: boolean, light: Light, opacity = 1,
  ) {
    const texture = (data: Float32Array<ArrayBuffer>, width: number, height: number) => {
      const t = new DataTexture(data, width, height, RGBAFormat, FloatType);
      t.minFilter = t.magFilter = NearestFilter;
      t.needsUpdate = true;
      return t;
    };
    this.texture = texture(slots.data, 2 * ROW, slots.height);
    this.instances = texture(items.texels(), 4 * PER_ROW, items.height);
    const shared: Shared = { poses: { value: this.texture }, items: { value: this.instances }, least: this.least };
    this.standard = new MeshStandardMaterial({ roughness: 0.52, metalness: 0.08 });
    this.overlay = new MeshStandardMaterial({ roughness: 0.6, metalness: 0, depthTest: false, transparent: true });
    // what one sees through lies behind what is at the same place
    const ghostly = opacity < 1 ? { transparent: true, polygonOffset: true, polygonOffsetFactor: 1.5, polygonOffsetUnits: 4 } : {};
    this.standard.setValues({ ...ghostly, opacity });
    const clear = { transparent: true, depthWrite: false };
    const glass = new MeshStandardMaterial({ roughness: 0.35, metalness: 0.05, ...clear, opacity });
    this.depth = new MeshDepthMaterial({ depthPacking: RGBADepthPacking, side: DoubleSide });
    dress(this.standard, shared, true);
    dress(this.overlay, shared, true);
    dress(glass, shared, true);
    dress(this.depth, shared, false);
    const plain = (vertex: string, fragment: string, uniforms: object) =>
      new ShaderMaterial({ vertexShader: `${DECLARE}${vertex}`, fragmentShader: fragment, uniforms: { ...shared, ...uniforms } });
    this.picking = plain(
      `varying vec3 vId;
      void main() {
        findPose();
        gl_Position = projectionMatrix * viewMatrix * vec4(placed(), 1.0);
        float id = itemMore.y + 1.0;
        vId = vec3(mod(id, 256.0), mod(floor(id / 256.0), 256.0), floor(id / 65536.0)) / 255.0;
        ${HIDE}
      }`,
      "varying vec3 vId;\nvoid main() { gl_FragColor = vec4(vId, 1.0); }",
      {},
    );
    // all of the light at the vertices: a pixel costs next to nothing
    this.quick = plain(
      `uniform vec3 key, fill, up, sky, earth, strength;
      varying vec4 vColour;
      void main() {
        findPose();
        gl_Position = projectionMatrix * viewMatrix * vec4(placed(), 1.0);
        vec3 n = normalize(facing());
        vec3 light = strength.x * max(0.0, dot(n, key)) + strength.y * max(0.0, dot(n, fill)) + strength.z * mix(earth, sky, 0.5 + 0.5 * dot(n, up));
        vec3 own = local();
        float shade = marked() > 0.5 && own.x * own.y < 0.0 ? 0.74 : 1.0;
        vec3 c = min(tint() * shade * light / 3.14159265 + 0.01, 1.0);
        vColour = vec4(mix(12.92 * c, 1.055 * pow(c, vec3(1.0 / 2.4)) - 0.055, step(0.0031308, c)), opaque());
        ${HIDE}
      }`,
      "varying vec4 vColour;\nuniform float opacity;\nvoid main() { gl_FragColor = vec4(vColour.rgb, opacity * vColour.a); }",
      { ...Object.fromEntries(Object.entries(light).map(([name, value]) => [name, { value }])), opacity: { value: opacity } },
    );
    this.quick.setValues(ghostly);
    this.glass = { fine: glass, quick: this.quick.clone() };
    this.glass.quick.uniforms = this.quick.uniforms;
    this.glass.quick.setValues(clear);
    this.thin = this.quick.clone();
    this.thin.uniforms = this.quick.uniforms;
    this.thin.defines = { LINES: "" };
    const outline = (pixels: number) => {
      const material = plain(
        `uniform vec2 viewport;
        uniform float pixels;
        void main() {
          findPose();
          gl_Position = projectionMatrix * viewMatrix * vec4(placed(), 1.0);
          vec2 out2 = (projectionMatrix * viewMatrix * vec4(facing(), 0.0)).xy * viewport;
          float l = length(out2);
          if (l > 1e-6) gl_Position.xy += out2 / l * 2.0 * pixels / viewport * gl_Position.w;
          ${HIDE}
        }`,
        "uniform vec3 colour;\nuniform float share;\nvoid main() { gl_FragColor = vec4(colour, share);\n#include <colorspace_fragment>\n}",
        { share: { value: 1 }, viewport: { value: new Vector2(1, 1) }, pixels: { value: pixels }, colour: { value: new Color() } },
      );
      material.side = BackSide;
      return material;
    };
    this.outline = { selected: outline(3), hovered: outline(2) };
    for (const how of ["selected", "hovered"] as const) {
      this.film[how] = this.outline[how].clone();
      this.film[how].uniforms = { ...this.outline[how].uniforms, share: { value: 0.3 } };
      this.film[how].setValues({ transparent: true, depthWrite: false });
    }

    for (const group of GROUPS) {
      const node = new Node();
      this.groups.set(group, node);
      this.node.add(node);
      node.visible = this.shown[group];
      for (const [solid, end] of Object.keys(geometries(0)).flatMap((name) => [[name, ""], [name, GLASS]])) {
        for (const numbers of this.alike(items.lists.get(`${group} ${solid}${end}`) ?? [])) {
          const over = group === "reaction";
          const through = end === GLASS;
          const fine = over ? this.overlay : through ? this.glass.fine : this.standard;
          const mesh = new Mesh(new BufferGeometry(), fine);
          mesh.frustumCulled = false;
          mesh.customDepthMaterial = this.depth;
          mesh.castShadow = mesh.receiveShadow = shadows && !over && !through && group !== "load";
          mesh.renderOrder = over ? 20 : 0;
          node.add(mesh);
          const thick = numbers.reduce((most, i) => Math.max(most, items.thickness(i)), 0);
          this.drawn.push({ quick: through ? this.glass.quick : this.quick, mesh, lines: null, group, solid, numbers, thick, level: 0, fine, over, made: [] });
        }
      }
    }
    this.node.add(this.outlined.selected, this.outlined.hovered);
  }

  /** Many instances in two lists, if some are much thicker than most: these are drawn more finely. */
  private alike(numbers: number[]): number[][] {
    if (numbers.length < 100) return numbers.length ? [numbers] : [];
    const sizes = Float32Array.from(numbers, (i) => this.items.thickness(i)).sort();
    const most = 4 * sizes[sizes.length >> 1];
    if (sizes[sizes.length - 1] <= most) return [numbers];
    return [numbers.filter((i) => this.items.thickness(i) <= most), numbers.filter((i) => this.items.thickness(i) > most)];
  }

  /** Chooses how finely solids of a thickness are drawn, whether quickly, and whether with the small symbols of joints. */
  detail(level: (thick: number) => number, quick: boolean, symbols: boolean, pixel: number): void {
    this.least.value = 0.7 * pixel;
    for (const d of this.drawn) {
      d.level = level(d.thick);
      const thin = d.level === LINES && !d.over && LINED.includes(d.solid);
      if (thin && !d.lines) {
        d.lines = new LineSegments(copies(line(), d.numbers), this.thin);
        d.lines.frustumCulled = false;
        d.mesh.parent?.add(d.lines);
      }
      if (d.lines) d.lines.visible = thin;
      d.mesh.visible = !thin && (symbols || d.group !== "joint" || d.solid === "ball"); // bars are balls that are drawn out
      d.mesh.material = quick && !d.over ? d.quick : d.fine;
      d.level = thin ? LINES : Math.min(d.level, LEVELS - 1);
      if (!thin) this.shape(d, d.level);
    }
  }

  /** The finest level of detail of a body. */
  get finest(): number {
    return this.drawn.reduce((least, d) => (d.group === "body" ? Math.min(least, d.level) : least), LINES);
  }

  private shape(d: Drawn, level: number): void {
    d.made[level] ??= this.geometry(this.geometries(level)[d.solid], d.numbers);
    d.mesh.geometry = d.made[level];
  }

  /** Triangles at a level. */
  triangles(level: (thick: number) => number): number {
    const of = (d: Drawn) => (this.geometries(Math.min(level(d.thick), LEVELS - 1))[d.solid].index?.count ?? 0) / 3;
    return this.drawn.reduce((sum, d) => sum + (d.mesh.parent?.visible ? d.numbers.length * of(d) : 0), 0);
  }

  private geometry(source: BufferGeometry, numbers: number[]): BufferGeometry {
    const n = numbers.length;
    if (this.software && n > 1 && n * source.getAttribute("position").count <= COPIED) return copies(source, numbers);
    const g = new InstancedBufferGeometry();
    g.setIndex(source.index);
    for (const name of ["position", "ring", "normal"]) g.setAttribute(name, source.getAttribute(name));
    g.setAttribute("item", new InstancedBufferAttribute(Float32Array.from(numbers), 1));
    g.instanceCount = n;
    g.boundingSphere = new Sphere();
    return g;
  }

  show(group: Group, visible: boolean): void {
    this.shown[group] = visible;
    const node = this.groups.get(group);
    if (node) node.visible = visible;
  }

  /** Hides or shows an entity. */
  hide(pick: number, hidden: boolean): void {
    this.items.hide(pick, hidden, this.instances.image.data as Float32Array);
    this.instances.needsUpdate = true;
  }

  /** Poses have changed. */
  moved(): void {
    this.texture.needsUpdate = true;
  }

  /** Draws an outline around an entity; −1 for none. */
  mark(how: "selected" | "hovered", pick: number, colour: string): void {
    const node = this.outlined[how];
    for (const child of [...node.children]) {
      node.remove(child);
      (child as Mesh).geometry.dispose();
    }
    if (pick < 0) return;
    (this.outline[how].uniforms.colour.value as Color).set(colour);
    for (const d of this.drawn) {
      if (d.over && !this.shown.reaction) continue;
      const numbers = this.items.of(pick, d.numbers);
      if (!numbers.length) continue;
      const mesh = new Mesh(this.geometry(this.geometries(Math.min(d.level, LEVELS - 1))[d.solid], numbers), (d.quick === this.quick ? this.outline : this.film)[how]);
      mesh.frustumCulled = false;
      node.add(mesh);
    }
  }

  resize(width: number, height: number): void {
    for (const o of Object.values(this.outline)) (o.uniforms.viewport.value as Vector2).set(width, height);
  }

  /** Does `draw` with every solid in the colour of its number. */
  forPicking(draw: () => void): void {
    const before = this.drawn.map((d) => d.mesh.material);
    const lined = this.drawn.filter((d) => d.lines?.visible);
    const shown = (lines: boolean) => lined.forEach((d) => {
      if (d.lines) d.lines.visible = lines;
      d.mesh.visible = !lines;
      this.shape(d, LEVELS - 1);
    });
    shown(false); // a line is too thin to be hit
    const outlines = [this.outlined.selected, this.outlined.hovered];
    this.drawn.forEach((d) => (d.mesh.material = this.picking));
    outlines.forEach((o) => (o.visible = false));
    draw();
    this.drawn.forEach((d, i) => (d.mesh.material = before[i]));
    shown(true);
    outlines.forEach((o) => (o.visible = true));
  }

  dispose(): void {
    this.mark("selected", -1, "#000");
    this.mark("hovered", -1, "#000");
    for (const d of this.drawn) [...d.made, d.lines?.geometry].forEach((g) => g?.dispose());
    [this.standard, this.overlay, this.quick, this.glass.fine, this.glass.quick, this.thin, this.depth, this.picking, ...Object.values(this.outline), ...Object.values(this.film)].forEach((m) => m.dispose());
    this.texture.dispose();
    this.instances.dispose();
  }
}
