// Performers on a ground, each with their own color.

import {
  Box3,
  Color,
  DirectionalLight,
  Group,
  HemisphereLight,
  MeshStandardMaterial,
  PerspectiveCamera,
  Scene,
  Sphere,
  Vector3,
  WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { Figure, shadowMaterial, solidMaterial } from "../figure";
import { Ground } from "../ground";
import { worldPositions, type LivePose, type Skeleton } from "./decoder";

const FROM = new Vector3(2.6, 1.1, 4.2).normalize(); // direction from the performers to the camera
const MARGIN = 1.1; // around all performers
const MIN_RADIUS_M = 1;
const CAMERA_FOLLOW_S = 0.7; // time constant of the camera

const COLORS = ["#0b7285", "#c2255c", "#e67700", "#5f3dc4", "#2b8a3e", "#1864ab", "#a61e4d"];

/** State of a performer in the scene. */
interface Shown {
  number: number;
  /** Seconds on the sender's clock. */
  time: number;
  certain: boolean;
  joints: number[];
}

interface Actor {
  figure: Figure;
  space: Box3; // bounding box of the current pose
  pose: LivePose | null;
  shown: LivePose | null;
}

export class LiveScene {
  private readonly renderer: WebGLRenderer;
  private readonly scene = new Scene();
  private readonly camera = new PerspectiveCamera(32, 1, 0.05, 500);
  private readonly controls: OrbitControls;
  private readonly ground = new Ground();
  private readonly actors = new Map<string, Actor>();
  private readonly shadows = new Group();
  private used = 0;
  private placed = false;
  private taken = false; // whether the user moved the camera
  private drawn = 0; // time of the last draw, milliseconds

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true, stencil: true });
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.addEventListener("start", () => (this.taken = true));
    const sun = new DirectionalLight(0xffffff, 1.8);
    sun.position.set(0.55, 1, 0.4);
    // projects along the light onto the ground
    this.shadows.matrixAutoUpdate = false;
    this.shadows.matrix.set(1, -0.55, 0, 0, 0, 0, 0, 0.001, 0, -0.4, 1, 0, 0, 0, 0, 1);
    this.scene.add(this.ground.mesh, sun, new HemisphereLight(0xffffff, 0x888888, 1.4));
    this.scene.add(this.shadows);
    this.ground.color("#888888");
    this.look(new Sphere(new Vector3(0, 0.9, 0), 1.5), 1);
  }

  /** Adds a performer and returns their color. */
  add(name: string, skeleton: Skeleton): string {
    this.remove(name);
    const color = COLORS[this.used++ % COLORS.length];
    const material: MeshStandardMaterial = solidMaterial();
    material.color = new Color(color);
    const shade = shadowMaterial();
    shade.opacity = 0.12;
    const figure = new Figure(skeleton, material, shade);
    this.actors.set(name, { figure, space: new Box3(), pose: null, shown: null });
    figure.group.visible = figure.shadow.visible = false;
    this.scene.add(figure.group);
    this.shadows.add(figure.shadow);
    return color;
  }

  remove(name: string): void {
    const actor = this.actors.get(name);
    if (!actor) return;
    this.scene.remove(actor.figure.group);
    this.shadows.remove(actor.figure.shadow);
    actor.figure.dispose();
    this.actors.delete(name);
  }

  /** Sets a pose, which the next frame draws. */
  pose(name: string, pose: LivePose): void {
    const actor = this.actors.get(name);
    if (actor) actor.pose = pose;
  }

  draw(): void {
    for (const actor of this.actors.values()) if (actor.pose !== actor.shown) this.move(actor);
    const { clientWidth: width, clientHeight: height } = this.canvas;
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / Math.max(height, 1);
    this.camera.updateProjectionMatrix();
    this.follow();
    this.controls.update();
    this.ground.follow(this.controls.target, this.camera.position.distanceTo(this.controls.target));
    this.renderer.render(this.scene, this.camera);
  }

  /** Returns the frame and the joint positions of each performer. */
  shown(): Record<string, Shown> {
    return Object.fromEntries(
      [...this.actors]
        .filter(([, { shown }]) => shown)
        .map(([name, { figure, shown }]) => [
          name,
          {
            number: shown!.frameNumber,
            time: shown!.time,
            certain: shown!.isExact,
            joints: figure.jointPositions(),
          },
        ]),
    );
  }

  private move(actor: Actor): void {
    const { figure, pose } = actor;
    const { joints, ends } = worldPositions(figure.skeleton, pose!);
    const points = new Float32Array(joints.length + ends.length);
    points.set(joints);
    points.set(ends, joints.length);
    figure.pose(points, null);
    figure.group.visible = figure.shadow.visible = true;
    actor.shown = pose;
    actor.space.setFromArray(points);
  }

  /** Keeps all performers in view until the user moves the camera. */
  private follow(): void {
    const now = performance.now();
    const part = this.placed ? 1 - Math.exp((this.drawn - now) / 1000 / CAMERA_FOLLOW_S) : 1;
    this.drawn = now;
    const seen = [...this.actors.values()].filter(({ shown }) => shown);
    if (!seen.length || this.taken) return;
    const all = seen.reduce((box, { space }) => box.union(space), new Box3());
    const around = all.getBoundingSphere(new Sphere());
    around.radius = Math.max(around.radius, MIN_RADIUS_M);
    this.look(around, part);
    this.placed = true;
  }

  /** Moves the camera by the fraction `part` to where a sphere fills the view. */
  private look({ center, radius }: Sphere, part: number): void {
    const half = Math.tan((this.camera.fov * Math.PI) / 360);
    const narrowest = Math.atan(half * Math.min(1, this.camera.aspect));
    const away = (MARGIN * radius) / Math.sin(narrowest);
    const before = this.camera.position.distanceTo(this.controls.target);
    this.controls.target.lerp(center, part);
    this.camera.position
      .copy(FROM)
      .multiplyScalar(before + part * (away - before))
      .add(this.controls.target);
  }
}
