/** The effect of each action on a document. Pure functions. */

import { objectOf } from "../../../words/json";
import { GRID, WIDTH } from "../../../workflow/canvas/geometry";
import { type KindName, LOOP_BACK, SUBAGENT } from "../../../workflow/kinds";
import { emptyNode, handlesOf } from "../../../workflow/node";
import type { Json, JsonObject, WorkflowConnection, WorkflowDocument, WorkflowNode } from "../../../workflow/types";
import { arranged } from "./arranging";
import { addRow, moveRow, removeRow } from "./rows";

export type Point = { x: number; y: number };
/** Nodes with the connections between them. */
export type Clip = { nodes: WorkflowNode[]; connections: WorkflowConnection[] };
export type NewConnection = Omit<WorkflowConnection, "id">;

/** Actions that change a document. */
export type Change =
  | { do: "add"; kind: KindName; at: Point }
  | { do: "move"; positions: Record<string, Point> }
  | { do: "nudge"; ids: readonly string[]; by: Point }
  | { do: "connect"; connection: NewConnection }
  | { do: "remove"; nodes?: readonly string[]; lines?: readonly string[] }
  | { do: "set"; id: string; field: string; value: Json | undefined }
  | { do: "label"; id: string; label: string }
  | { do: "fold"; id: string }
  | { do: "row"; id: string; field: string; change: RowChange }
  | { do: "paste"; clip: Clip }
  | { do: "arrange" }
  | { do: "replace"; document: WorkflowDocument }
  | { do: "settings"; field: string; value: Json | undefined }
  | { do: "about"; field: "name" | "description"; value: string };

export type RowChange =
  | { do: "add"; row: JsonObject }
  | { do: "remove"; row: number }
  | { do: "move"; row: number; to: number }
  | { do: "set"; row: number; field: string; value: Json | undefined };

export function changed(document: WorkflowDocument, action: Change): WorkflowDocument {
  switch (action.do) {
    case "add":
      return added(document, action.kind, action.at);
    case "move":
      return moved(document, action.positions);
    case "nudge":
      return nudged(document, action.ids, action.by);
    case "connect":
      return connected(document, action.connection);
    case "remove":
      return without(document, action.nodes ?? [], action.lines ?? []);
    case "set":
      return withNode(document, action.id, (node) => ({ ...node, data: put(node.data, action.field, action.value) }));
    case "label":
      return withNode(document, action.id, ({ label: _, ...node }) =>
        action.label === "" ? node : { ...node, label: action.label },
      );
    case "fold":
      return withNode(document, action.id, (node) => ({
        ...node,
        data: put(node.data, "collapsed", node.data.collapsed === true ? undefined : true),
      }));
    case "row":
      return rowChanged(document, action.id, action.field, action.change);
    case "paste":
      return pasted(document, action.clip);
    case "arrange":
      return moved(document, arranged(document));
    case "replace":
      return action.document;
    case "settings":
      return { ...document, settings: put(document.settings, action.field, action.value) };
    case "about":
      return { ...document, [action.field]: action.value };
  }
}

/** An object with a value set, or removed if it is undefined. */
function put(data: JsonObject, name: string, value: Json | undefined): JsonObject {
  const { [name]: _, ...others } = data;
  return value === undefined ? others : { ...data, [name]: value };
}

const snapped = ({ x, y }: Point): Point => ({ x: Math.round(x / GRID) * GRID, y: Math.round(y / GRID) * GRID });

/** A free position near this one. */
function free(nodes: readonly WorkflowNode[], at: Point): Point {
  const place = snapped(at);
  while (nodes.some((node) => Math.abs(node.x - place.x) < GRID && Math.abs(node.y - place.y) < GRID)) {
    place.x += 2 * GRID;
    place.y += 2 * GRID;
  }
  return place;
}

/** The first unused name of this form. */
function unused(taken: ReadonlySet<string>, stem: string): string {
  let number = 1;
  while (taken.has(`${stem}${number}`)) number += 1;
  return `${stem}${number}`;
}

const idsOf = (things: readonly { id: string }[]) => new Set(things.map(({ id }) => id));

function added(document: WorkflowDocument, kind: KindName, at: Point): WorkflowDocument {
  const id = unused(idsOf(document.nodes), `${kind}-`);
  return { ...document, nodes: [...document.nodes, { id, ...free(document.nodes, at), ...emptyNode(kind) }] };
}

/** The position and id of a new step: after the selected one, else in the middle of the view. */
export function placeFor(
  { nodes }: WorkflowDocument,
  kind: KindName,
  chosen: ReadonlySet<string>,
  middle: Point,
): { id: string; at: Point } {
  const beside = chosen.size === 1 ? nodes.find(({ id }) => chosen.has(id)) : undefined;
  const at = beside ? { x: beside.x + WIDTH + 4 * GRID, y: beside.y } : { x: middle.x - WIDTH / 2, y: middle.y };
  return { id: unused(idsOf(nodes), `${kind}-`), at };
}

function moved(document: WorkflowDocument, positions: Record<string, Point>): WorkflowDocument {
  let differs = false;
  const nodes = document.nodes.map((node) => {
    const to = positions[node.id];
    if (to === undefined) return node;
    const { x, y } = snapped(to);
    if (x === node.x && y === node.y) return node;
    differs = true;
    return { ...node, x, y };
  });
  return differs ? { ...document, nodes } : document;
}

function nudged(document: WorkflowDocument, ids: readonly string[], by: Point): WorkflowDocument {
  const positions = document.nodes
    .filter(({ id }) => ids.includes(id))
    .map(({ id, x, y }): [string, Point] => [id, { x: x + by.x, y: y + by.y }]);
  return moved(document, Object.fromEntries(positions));
}

/** True if two connections have the same ends. */
export function same(one: NewConnection, other: NewConnection): boolean {
  return (
    one.source === other.source &&
    one.target === other.target &&
    one.sourceHandle === other.sourceHandle &&
    one.targetHandle === other.targetHandle
  );
}

function connected(document: WorkflowDocument, connection: NewConnection): WorkflowDocument {
  if (document.connections.some((one) => same(one, connection))) return document;
  const id = unused(idsOf(document.connections), "c");
  const next = { ...document, connections: [...document.connections, { id, ...connection }] };
  return connection.sourceHandle === SUBAGENT ? withNode(next, connection.source, leading) : next;
}

/** An agent that gets a subagent may also use it. */
function leading(node: WorkflowNode): WorkflowNode {
  const { tools } = node.data;
  const others = (objectOf(tools) ?? {}) as JsonObject;
  return others.subagents === true ? node : { ...node, data: { ...node.data, tools: { ...others, subagents: true } } };
}

function without(document: WorkflowDocument, nodes: readonly string[], lines: readonly string[]): WorkflowDocument {
  if (nodes.length === 0 && lines.length === 0) return document;
  const gone = new Set(nodes);
  return {
    ...document,
    nodes: document.nodes.filter(({ id }) => !gone.has(id)),
    connections: document.connections.filter(
      ({ id, source, target }) => !lines.includes(id) && !gone.has(source) && !gone.has(target),
    ),
  };
}

function withNode(
  document: WorkflowDocument,
  id: string,
  change: (node: WorkflowNode) => WorkflowNode,
): WorkflowDocument {
  return { ...document, nodes: document.nodes.map((node) => (node.id === id ? change(node) : node)) };
}

function rowChanged(document: WorkflowDocument, id: string, field: string, change: RowChange): WorkflowDocument {
  switch (change.do) {
    case "add":
      return addRow(document, id, field, change.row);
    case "remove":
      return removeRow(document, id, field, change.row);
    case "move":
      return moveRow(document, id, field, change.row, change.to);
    case "set":
      return withNode(document, id, (node) => {
        const rows = (node.data[field] as JsonObject[] | undefined) ?? [];
        const next = rows.map((row, place) => (place === change.row ? put(row, change.field, change.value) : row));
        return { ...node, data: put(node.data, field, next) };
      });
  }
}

/** The nodes with their connections, for pasting. */
export function clipOf(document: WorkflowDocument, ids: ReadonlySet<string>): Clip {
  return {
    nodes: document.nodes.filter(({ id }) => ids.has(id)),
    connections: document.connections.filter(({ source, target }) => ids.has(source) && ids.has(target)),
  };
}

function pasted(document: WorkflowDocument, clip: Clip): WorkflowDocument {
  if (clip.nodes.length === 0) return document;
  const names = new Map<string, string>();
  const taken = idsOf(document.nodes);
  const lines = idsOf(document.connections);
  const first = clip.nodes[0] as WorkflowNode;
  const place = free(document.nodes, { x: first.x + 2 * GRID, y: first.y + 2 * GRID });
  const nodes = clip.nodes.map((node) => {
    const id = unused(taken, `${node.type}-`);
    taken.add(id);
    names.set(node.id, id);
    return { ...node, id, x: node.x + place.x - first.x, y: node.y + place.y - first.y };
  });
  const connections = clip.connections.map((one) => {
    const id = unused(lines, "c");
    lines.add(id);
    return { ...one, id, source: names.get(one.source) ?? "", target: names.get(one.target) ?? "" };
  });
  return { ...document, nodes: [...document.nodes, ...nodes], connections: [...document.connections, ...connections] };
}

/** True if this connection can be drawn at all. It may still be wrong, which the check reports. */
export function mayConnect(document: WorkflowDocument, connection: Omit<WorkflowConnection, "id">): boolean {
  const source = document.nodes.find(({ id }) => id === connection.source);
  const target = document.nodes.find(({ id }) => id === connection.target);
  if (source === undefined || target === undefined) return false;
  if (document.connections.some((one) => same(one, connection))) return false;
  if (connection.sourceHandle === SUBAGENT) {
    return source.type === "agent" && target.type === "agent" && source !== target && connection.targetHandle === "";
  }
  const known = handlesOf(source).sources.some(({ id }) => id === connection.sourceHandle);
  const enters = handlesOf(target).targets.some(({ id }) => id === connection.targetHandle);
  return known && enters && (source !== target || connection.targetHandle === LOOP_BACK);
}
