// Performers on a ground, each in a colour of their own.

import {
  Color,
  DirectionalLight,
  Group,
  HemisphereLight,
  MeshStandardMaterial,
  PerspectiveCamera,
  Scene,
  Vector3,
  WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { Figure, shadowMaterial, solidMaterial } from "../figure";
import { Ground } from "../ground";
import { worldPositions, type LivePose, type Skeleton } from "./decoder";

const COLOURS = ["#0b7285", "#c2255c", "#e67700", "#5f3dc4", "#2b8a3e", "#1864ab", "#a61e4d"];

/** What the scene has of a performer. */
interface Shown {
  number: number;
  /** Seconds on the sender's clock. */
  time: number;
  certain: boolean;
  joints: number[];
}

interface Actor {
  figure: Figure;
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

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true, stencil: true });
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    const sun = new DirectionalLight(0xffffff, 1.8);
    sun.position.set(0.55, 1, 0.4);
    // what casts along the light lands on the ground
    this.shadows.matrixAutoUpdate = false;
    this.shadows.matrix.set(1, -0.55, 0, 0, 0, 0, 0, 0.001, 0, -0.4, 1, 0, 0, 0, 0, 1);
    this.scene.add(this.ground.mesh, sun, new HemisphereLight(0xffffff, 0x888888, 1.4));
    this.scene.add(this.shadows);
    this.ground.colour("#888888");
    this.look(new Vector3(0, 0.9, 0));
  }

  /** Put a performer on the stage; returns the colour that they have. */
  add(name: string, skeleton: Skeleton): string {
    this.remove(name);
    const colour = COLOURS[this.used++ % COLOURS.length];
    const material: MeshStandardMaterial = solidMaterial();
    material.color = new Color(colour);
    const shade = shadowMaterial();
    shade.opacity = 0.12;
    const figure = new Figure(skeleton, material, shade);
    this.actors.set(name, { figure, pose: null, shown: null });
    figure.group.visible = figure.shadow.visible = false;
    this.scene.add(figure.group);
    this.shadows.add(figure.shadow);
    return colour;
  }

  remove(name: string): void {
    const actor = this.actors.get(name);
    if (!actor) return;
    this.scene.remove(actor.figure.group);
    this.shadows.remove(actor.figure.shadow);
    actor.figure.dispose();
    this.actors.delete(name);
  }

  /** Take a pose; the newest is drawn with the next picture. */
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
    this.controls.update();
    this.ground.follow(this.controls.target, this.camera.position.distanceTo(this.controls.target));
    this.renderer.render(this.scene, this.camera);
  }

  /** What is on the stage now: of each performer the frame, and where the scene has the joints. */
  shown(): Record<string, Shown> {
    return Object.fromEntries(
      [...this.actors]
        .filter(([, { shown }]) => shown)
        .map(([name, { figure, shown }]) => [
          name,
          {
            number: shown!.number,
            time: shown!.time,
            certain: shown!.certain,
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
    if (!this.placed) this.look(new Vector3(joints[0], Math.max(joints[1], 0.5), joints[2]));
    this.placed = true;
  }

  private look(at: Vector3): void {
    this.controls.target.copy(at);
    this.camera.position.copy(at).add(new Vector3(2.6, 1.1, 4.2));
  }
}
