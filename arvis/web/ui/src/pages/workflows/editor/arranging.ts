/**
 * Arrange the nodes of a document in columns: each after all its predecessors, ignoring back edges, with subagents below
 * their agent. Within a column, nodes follow the order of their predecessors, so that few lines cross.
 */

import { HEAD, heightOf, helpersOf, WIDTH } from "../../../workflow/canvas/geometry";
import { LOOP_BACK, SUBAGENT } from "../../../workflow/kinds";
import type { WorkflowConnection, WorkflowDocument, WorkflowNode } from "../../../workflow/types";

const GAP = { column: 80, node: 40, helper: 40 };
const SWEEPS = 4;

type Point = { x: number; y: number };
type Size = { width: number; height: number };

export function arranged(document: WorkflowDocument): Record<string, Point> {
  const nodes = new Map(document.nodes.map((node) => [node.id, node]));
  const below = helpersOf(document);
  const helpers = new Set(document.connections.filter(isHelper).map(({ target }) => target));
  const drawn = document.nodes.filter(({ id }) => !helpers.has(id) || isOwnHelper(id, below));
  const ids = new Set(drawn.map(({ id }) => id));
  const lines = document.connections.filter(
    (one) => !isHelper(one) && one.targetHandle !== LOOP_BACK && ids.has(one.source) && ids.has(one.target),
  );
  const columns = columnsOf(drawn, forward(drawn, lines));
  const size = (id: string) => sizeOf(id, nodes, below, new Set());
  const positions: Record<string, Point> = {};
  let x = 0;
  for (const column of columns) {
    let y = column.length === 1 ? 0 : (HEAD - total(column, size)) / 2;
    for (const id of column) {
      place(id, { x, y }, nodes, below, positions);
      y += size(id).height + GAP.node;
    }
    x += Math.max(...column.map((id) => size(id).width)) + GAP.column;
  }
  return positions;
}

function grouped<K, T>(things: readonly T[], keyOf: (thing: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const thing of things) groups.set(keyOf(thing), [...(groups.get(keyOf(thing)) ?? []), thing]);
  return groups;
}

const isHelper = ({ sourceHandle }: WorkflowConnection) => sourceHandle === SUBAGENT;

/** True if the subagent is below itself. It is then placed in a column, because such a cycle has no parent. */
function isOwnHelper(id: string, below: ReadonlyMap<string, string[]>): boolean {
  const seen = new Set<string>();
  const open = [...(below.get(id) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === id) return true;
    if (seen.has(next)) continue;
    seen.add(next);
    open.push(...(below.get(next) ?? []));
  }
  return false;
}

const total = (column: readonly string[], size: (id: string) => Size) =>
  column.reduce((sum, id) => sum + size(id).height, 0) + (column.length - 1) * GAP.node;

/** The edges without back edges. */
function forward(nodes: readonly WorkflowNode[], lines: readonly WorkflowConnection[]): WorkflowConnection[] {
  const out = grouped(lines, ({ source }) => source);
  const entered = new Set<string>();
  const left = new Set<string>();
  const back = new Set<WorkflowConnection>();
  for (const root of nodes) {
    const walk = entered.has(root.id) ? [] : [{ id: root.id, next: 0 }];
    if (walk.length > 0) entered.add(root.id);
    for (let top = walk.at(-1); top !== undefined; top = walk.at(-1)) {
      const line = out.get(top.id)?.[top.next];
      top.next += 1;
      if (line === undefined) {
        left.add(top.id);
        walk.pop();
      } else if (!entered.has(line.target)) {
        entered.add(line.target);
        walk.push({ id: line.target, next: 0 });
      } else if (!left.has(line.target)) back.add(line);
    }
  }
  return lines.filter((line) => !back.has(line));
}

/** Each node is one column after its last predecessor; then each column is sorted by the one before. */
function columnsOf(nodes: readonly WorkflowNode[], lines: readonly WorkflowConnection[]): string[][] {
  const before = grouped(lines, ({ target }) => target);
  const depth = new Map<string, number>();
  const waiting = new Map(nodes.map(({ id }) => [id, before.get(id)?.length ?? 0]));
  const after = grouped(lines, ({ source }) => source);
  const open = nodes.filter(({ id }) => waiting.get(id) === 0).map(({ id }) => id);
  for (let id = open.shift(); id !== undefined; id = open.shift()) {
    depth.set(id, Math.max(0, ...(before.get(id) ?? []).map(({ source }) => (depth.get(source) ?? 0) + 1)));
    for (const { target } of after.get(id) ?? []) {
      const still = (waiting.get(target) ?? 1) - 1;
      waiting.set(target, still);
      if (still === 0) open.push(target);
    }
  }
  const byDepth = grouped(nodes, ({ id }) => depth.get(id) ?? 0);
  const columns = [...byDepth.keys()].sort((a, b) => a - b).map((key) => (byDepth.get(key) ?? []).map(({ id }) => id));
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) ordered(columns, before, after, sweep % 2 === 0);
  return columns;
}

type Lines = ReadonlyMap<string, WorkflowConnection[]>;

/** Sort each column by the positions of its neighbours: in one sweep by those before, in the next by those after. */
function ordered(columns: string[][], before: Lines, after: Lines, down: boolean): void {
  const rank = new Map(columns.flatMap((column) => column.map((id, place) => [id, place / column.length] as const)));
  for (const column of down ? columns : columns.toReversed()) {
    const weight = new Map(column.map((id) => [id, weightOf(id, down ? before : after, down, rank)]));
    column.sort((a, b) => (weight.get(a) ?? 0) - (weight.get(b) ?? 0));
    for (const [place, id] of column.entries()) rank.set(id, place / column.length);
  }
}

function weightOf(id: string, lines: Lines, down: boolean, rank: ReadonlyMap<string, number>): number {
  const near = (lines.get(id) ?? []).map((line) => {
    const row = down ? Number(/\d+$/.exec(line.sourceHandle)?.[0] ?? 0) / 1000 : 0;
    return (rank.get(down ? line.source : line.target) ?? 0) + row;
  });
  return near.length === 0 ? (rank.get(id) ?? 0) : near.reduce((sum, one) => sum + one, 0) / near.length;
}

type Nodes = ReadonlyMap<string, WorkflowNode>;
type Below = ReadonlyMap<string, string[]>;

/** The size of a node with all its subagents. */
function sizeOf(id: string, nodes: Nodes, below: Below, above: ReadonlySet<string>): Size {
  const node = nodes.get(id);
  if (node === undefined || above.has(id)) return { width: 0, height: 0 };
  const inner = (below.get(id) ?? []).map((one) => sizeOf(one, nodes, below, new Set([...above, id])));
  if (inner.length === 0) return { width: WIDTH, height: heightOf(node) };
  const width = inner.reduce((sum, one) => sum + one.width + GAP.helper, -GAP.helper);
  return {
    width: Math.max(WIDTH, width),
    height: heightOf(node) + GAP.helper + Math.max(...inner.map(({ height }) => height)),
  };
}

function place(id: string, at: Point, nodes: Nodes, below: Below, positions: Record<string, Point>): void {
  const node = nodes.get(id);
  if (node === undefined || positions[id] !== undefined) return;
  positions[id] = at;
  let x = at.x;
  for (const helper of below.get(id) ?? []) {
    place(helper, { x, y: at.y + heightOf(node) + GAP.helper }, nodes, below, positions);
    x += sizeOf(helper, nodes, below, new Set([id])).width + GAP.helper;
  }
}
