// Smooth edges for a canvas that has none: drawn into a target with four samples a pixel, and copied.

import { HalfFloatType, Mesh, NoBlending, OrthographicCamera, PlaneGeometry, Scene, ShaderMaterial, Vector2, WebGLRenderTarget, type WebGLRenderer } from "three";

export class Copy {
  private readonly target = new WebGLRenderTarget(1, 1, { samples: 4, type: HalfFloatType });
  private readonly scene = new Scene();
  private readonly camera = new OrthographicCamera(-1, 1, 1, -1, 0, 1);
  private readonly size = new Vector2();

  constructor() {
    const material = new ShaderMaterial({
      uniforms: { picture: { value: this.target.texture } }, blending: NoBlending, depthTest: false, depthWrite: false,
      vertexShader: "varying vec2 at;\nvoid main() { at = uv; gl_Position = vec4(position.xy, 0.0, 1.0); }",
      // colours are multiplied by their alpha, before and after
      fragmentShader: `
        uniform sampler2D picture; varying vec2 at;
        void main() {
          vec4 c = texture2D(picture, at);
          gl_FragColor = vec4(c.rgb / max(c.a, 1e-4), 1.0);
          #include <colorspace_fragment>
          gl_FragColor = vec4(gl_FragColor.rgb * c.a, c.a);
        }`,
    });
    const quad = new Mesh(new PlaneGeometry(2, 2), material);
    quad.frustumCulled = false;
    this.scene.add(quad);
  }

  smoothly(renderer: WebGLRenderer, draw: () => void): void {
    renderer.getDrawingBufferSize(this.size);
    this.target.setSize(this.size.x, this.size.y);
    renderer.setRenderTarget(this.target);
    draw();
    renderer.setRenderTarget(null);
    renderer.render(this.scene, this.camera);
  }
}
