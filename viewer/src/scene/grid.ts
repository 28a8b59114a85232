// The ground: an endless grid whose lines follow the zoom, and a plane that catches shadows.

import { Color, Mesh, PlaneGeometry, ShaderMaterial, ShadowMaterial, Vector3 } from "three";
import type { Theme } from "./theme";
import type { Vec } from "./model";

export class Grid {
  readonly mesh: Mesh<PlaneGeometry, ShaderMaterial>;
  readonly shadow: Mesh<PlaneGeometry, ShadowMaterial>;
  /** Distance of its lines. */
  spacing = 1;

  constructor(normal: Vec, origin: Vec) {
    const material = new ShaderMaterial({
      transparent: true, depthWrite: false,
      uniforms: {
        minor: { value: new Color() }, major: { value: new Color() }, first: { value: new Color() }, second: { value: new Color() },
        step: { value: 1 }, fade: { value: 1 }, reach: { value: 1 }, centre: { value: new Vector3() }, flat2: { value: 0 },
      },
      vertexShader: `
        uniform float reach; uniform vec3 centre; varying vec2 at; varying vec2 off;
        void main() {
          vec3 local = vec3(position.xy * reach, 0.0);
          vec4 world = modelMatrix * vec4(local, 1.0);
          world.xyz += centre;
          at = vec2(dot(world.xyz, normalize(modelMatrix[0].xyz)), dot(world.xyz, normalize(modelMatrix[1].xyz)));
          off = position.xy;
          gl_Position = projectionMatrix * viewMatrix * world;
        }`,
      fragmentShader: `
        uniform vec3 minor, major, first, second; uniform float step, fade, flat2; varying vec2 at; varying vec2 off;
        float lines(vec2 p, float width) {
          vec2 w = fwidth(p);
          vec2 d = abs(fract(p - 0.5) - 0.5) / max(w, vec2(1e-9));
          vec2 a = clamp(width - d + 0.5, 0.0, 1.0) * clamp(0.45 / max(w, vec2(1e-9)) * 0.25, 0.0, 1.0);
          return max(a.x, a.y);
        }
        float axis(float x) { return clamp(1.4 - abs(x) / fwidth(x), 0.0, 1.0); }
        void main() {
          float fine = lines(at / step, 0.5) * fade;
          float coarse = lines(at / (10.0 * step), 0.5);
          float away = flat2 > 0.5 ? 1.0 : smoothstep(1.0, 0.15, length(off) * 2.0);
          vec4 colour = vec4(minor, fine * 0.9);
          colour = mix(colour, vec4(major, 1.0), coarse);
          colour = mix(colour, vec4(first, 1.0), axis(at.y) * 0.7);
          colour = mix(colour, vec4(second, 1.0), axis(at.x) * 0.7);
          gl_FragColor = vec4(colour.rgb, colour.a * away);
          #include <colorspace_fragment>
        }`,
    });
    this.mesh = new Mesh(new PlaneGeometry(1, 1), material);
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = -2;
    this.shadow = new Mesh(new PlaneGeometry(1, 1), new ShadowMaterial({ depthWrite: false }));
    this.shadow.receiveShadow = true;
    this.shadow.renderOrder = -1;
    const z = new Vector3(...normal);
    for (const m of [this.mesh, this.shadow]) {
      m.quaternion.setFromUnitVectors(new Vector3(0, 0, 1), z);
      m.position.set(...origin);
    }
  }

  paint(theme: Theme, up: "y" | "z" | "other"): void {
    const u = this.mesh.material.uniforms;
    (u.minor.value as Color).set(theme.grid.minor);
    (u.major.value as Color).set(theme.grid.major);
    (u.first.value as Color).set(up === "other" ? theme.grid.major : theme.grid.x);
    (u.second.value as Color).set(up === "other" ? theme.grid.major : theme.grid.y);
    this.shadow.material.opacity = theme.shadow;
  }

  /** Chooses the distance of the lines for what a pixel covers, and moves the plane under the view. */
  follow(perPixel: number, target: Vector3, reach: number, flat: boolean): void {
    const exact = Math.log10(perPixel * 18);
    const whole = Math.ceil(exact);
    this.spacing = 10 ** whole;
    const u = this.mesh.material.uniforms;
    u.step.value = this.spacing;
    u.fade.value = flat ? Math.min(1, (whole - exact) * 1.2 + 0.15) : 0.75;
    u.reach.value = reach;
    u.flat2.value = flat ? 1 : 0;
    // only within the plane
    const normal = new Vector3(0, 0, 1).applyQuaternion(this.mesh.quaternion);
    const centre = target.clone().sub(this.mesh.position);
    centre.addScaledVector(normal, -centre.dot(normal));
    (u.centre.value as Vector3).copy(centre);
    this.shadow.scale.setScalar(reach);
  }
}
