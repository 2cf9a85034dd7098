/** Loops and their bodies, parallel branches, and transfers: the same checks as `arvis/workflows/validation/branches.py`. */

import { BODY, begins, type Drawing, type DrawnNode } from "./drawing";
import { isWhole } from "./fieldChecks";
import { at, type Maybe } from "./json";
import { LOOP_BACK } from "./kinds";
import { problem } from "./problem";
import type { Problem } from "./types";
import { backwards, reach } from "./walks";

/** Deeper nesting of `parallel` nodes is not distinguished. */
const DEEPEST = 16;
/** The defaults for repetitions and steps, and the highest number that is counted. */
const [ROUNDS, STEPS, COUNTED] = [10, 1_000, 1_000_000_000];
/** The deepest nesting of loops that is counted. */
const MOST_INNER = 20;

/** A node, with the number of open `parallel` nodes when a run reaches it. `before`: the previous step of the path. */
interface Step {
  readonly id: string;
  readonly depth: number;
  readonly before: Step | null;
}

export function* checkBranches(drawing: Drawing): Generator<Problem> {
  for (const node of reachedOf(drawing, "loop")) yield* checkLoop(node, drawing);
  yield* checkRegions(drawing);
}

const reachedOf = (drawing: Drawing, type: string): DrawnNode[] =>
  [...drawing.nodes.values()].filter((node) => node.type === type && drawing.reached.has(node.id));

function* checkLoop(loop: DrawnNode, drawing: Drawing): Generator<Problem> {
  const body = drawing.bodies.get(loop.id) ?? new Set<string>();
  const returns = drawing.live.filter((each) => each.target === loop.id && each.into === LOOP_BACK);
  const inside = returns.filter((each) => body.has(each.source) || (each.source === loop.id && each.out === BODY));
  if (inside.length === 0) yield problem("loop-without-return", { node: loop.id }, { name: loop.name });
  for (const each of returns) {
    if (inside.includes(each) || !drawing.reached.has(each.source)) continue;
    const values = { name: loop.name, other: drawing.node(each.source).name };
    yield problem("loop-back-outside", { node: loop.id, connection: each.id }, values);
  }
  for (const transfer of reachedOf(drawing, "transfer")) {
    if (!body.has(transfer.id)) continue;
    yield problem("transfer-in-loop", { node: transfer.id }, { name: transfer.name, other: loop.name });
  }
  if (inside.length > 0) yield* checkRounds(loop, body, drawing);
}

/** Report a loop whose repetitions alone may reach the limit of steps. Steps of a nested loop count once per repetition. */
function* checkRounds(loop: DrawnNode, body: ReadonlySet<string>, drawing: Drawing): Generator<Problem> {
  const most = whole(drawing.mostSteps, STEPS);
  const loops = [...drawing.nodes.values()].filter((node) => body.has(node.id) && node.type === "loop");
  const inner = loops.slice(0, MOST_INNER).map((one) => ({
    rounds: roundsOf(one),
    its: new Set([one.id, ...(drawing.bodies.get(one.id) ?? [])]),
  }));
  let steps = 1;
  for (const id of body) steps += inner.reduce((times, one) => (one.its.has(id) ? times * one.rounds : times), 1);
  steps = Math.min(steps * roundsOf(loop), COUNTED);
  if (steps <= most) return;
  yield problem("loop-over-steps", { node: loop.id, field: "maxIterations" }, { name: loop.name, steps, most });
}

const roundsOf = (loop: DrawnNode): number => whole(at(loop.data, "maxIterations"), ROUNDS);

const whole = (value: Maybe, otherwise: number): number => (isWhole(value) && value > 0 ? value : otherwise);

function* checkRegions(drawing: Drawing): Generator<Problem> {
  const came = walked(drawing);
  const merges = [...drawing.nodes.values()].filter((node) => node.type === "merge").map((node) => node.id);
  const closing = reach(merges, backwards(drawing.ways));
  for (const { id, type, name } of drawing.nodes.values()) {
    const steps = came.get(id) ?? [];
    const depths = steps.flatMap((step, depth) => (step === undefined ? [] : [depth]));
    const deepest = steps[depths.at(-1) ?? 0];
    if (type === "merge" && depths.length === 1 && depths[0] === 0) {
      yield problem("merge-without-parallel", { node: id }, { name });
    }
    if (type === "parallel" && depths.length > 0 && !closing.has(id)) {
      yield problem("parallel-without-merge", { node: id }, { name });
    }
    if (type === "transfer" && deepest !== undefined && deepest.depth > 0) {
      yield problem("transfer-in-parallel", { node: id }, { name, other: openedBy(deepest, drawing).name });
    }
  }
}

/** Every way in which a run can reach a node, by node and by number of open `parallel` nodes. */
function walked(drawing: Drawing): Map<string, (Step | undefined)[]> {
  const came = new Map<string, (Step | undefined)[]>();
  let row: Step[] = [];
  const come = (id: string, depth: number, before: Step | null, following: Step[]) => {
    const steps = came.get(id) ?? new Array<Step | undefined>(DEEPEST + 1).fill(undefined);
    if (steps[depth] !== undefined) return;
    const step = { id, depth, before };
    steps[depth] = step;
    came.set(id, steps);
    following.push(step);
  };
  for (const node of drawing.nodes.values()) if (begins(node)) come(node.id, 0, null, row);
  while (row.length > 0) {
    const following: Step[] = [];
    for (const step of row) {
      const depth = behind(drawing.node(step.id).type, step.depth);
      for (const target of drawing.ways.get(step.id) ?? []) come(target, depth, step, following);
    }
    row = following;
  }
  return came;
}

function behind(type: string, depth: number): number {
  if (type === "parallel") return Math.min(depth + 1, DEEPEST);
  return type === "merge" ? Math.max(depth - 1, 0) : depth;
}

/** The innermost open `parallel` at this step: the last `parallel` of the path that opened this depth. */
function openedBy(step: Step, drawing: Drawing): DrawnNode {
  for (let before = step.before; before !== null; before = before.before) {
    const node = drawing.node(before.id);
    if (node.type === "parallel" && before.depth < step.depth) return node;
  }
  return drawing.node(step.id);
}
