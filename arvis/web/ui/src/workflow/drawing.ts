/** A view of a canonical document for the checks: the same as `arvis/workflows/document/view.py`. */

import { at, isObject, isText, type Maybe } from "./json";
import { ID, KINDS, type Kind, type KindName, SUBAGENT } from "./kinds";
import type { Json, JsonObject } from "./types";
import { listOf, reach } from "./walks";

/** The output of a loop that leads into its body. */
export const BODY = "loop-start";

const USABLE = new RegExp(`^(?:${ID})$`);

/** `kind` is undefined for unknown types. `data` is empty if it cannot be read. */
export interface DrawnNode {
  readonly id: string;
  readonly type: string;
  readonly kind: Kind | undefined;
  readonly name: string;
  readonly data: JsonObject;
}

/** A connection between two existing nodes. An unreadable id is null. */
export interface DrawnConnection {
  readonly id: string | null;
  readonly source: string;
  readonly target: string;
  readonly out: string;
  readonly into: string;
}

/**
 * `nodes`: the nodes with a valid id, in order; of nodes with the same id only the first. `connections`: the connections
 * between these nodes, if their handles are texts. `flow`: the connections that a run follows. `delegations`: the connections
 * to subagents. `live`: the flow connections that a run can take. `ways`: their targets by node. `reached`: the nodes that a
 * run can reach.
 */
export class Drawing {
  readonly nodes = new Map<string, DrawnNode>();
  readonly followsPlain: boolean;
  readonly agent: Maybe;
  readonly mostSteps: Maybe;
  readonly connections: readonly DrawnConnection[];
  readonly flow: readonly DrawnConnection[];
  readonly delegations: readonly DrawnConnection[];
  readonly live: readonly DrawnConnection[];
  readonly ways: Map<string, string[]>;
  readonly leaving: Map<string, DrawnConnection[]>;
  readonly reached: Set<string>;
  readonly subagents: Map<string, string[]>;
  readonly bodies: Map<string, Set<string>>;

  constructor(document: JsonObject) {
    for (const raw of rowsOf(at(document, "nodes"))) {
      const id = isObject(raw) ? at(raw, "id") : undefined;
      if (isObject(raw) && isUsable(id) && !this.nodes.has(id)) this.nodes.set(id, drawnNode(id, raw));
    }
    const settings = at(document, "settings");
    const known = isObject(settings) ? settings : {};
    this.followsPlain = at(known, "unlabelled") === "follow";
    this.agent = at(known, "agent");
    this.mostSteps = at(known, "maxSteps");
    this.connections = rowsOf(at(document, "connections")).flatMap((raw) => this.connection(raw));
    this.flow = this.connections.filter((each) => each.out !== SUBAGENT);
    this.delegations = this.connections.filter((each) => each.out === SUBAGENT);
    this.live = this.flow.filter((each) => this.leadsOn(each) && !begins(this.nodes.get(each.target)));
    this.ways = waysOf(this.live);
    this.leaving = bySource(this.live);
    const starts = [...this.nodes.values()].filter(begins).map((node) => node.id);
    this.reached = reach(starts, this.ways);
    this.subagents = waysOf(this.delegations);
    const loops = [...this.nodes.values()].filter((node) => node.type === "loop" && this.reached.has(node.id));
    this.bodies = new Map(loops.map(({ id }) => [id, this.bodyOf(id)]));
  }

  /** The nodes that a repetition of this loop can reach. */
  private bodyOf(loop: string): Set<string> {
    const first = (this.leaving.get(loop) ?? []).filter((each) => each.out === BODY && each.target !== loop);
    const body = reach(
      first.map((each) => each.target),
      this.ways,
      (id) => id === loop,
    );
    body.delete(loop);
    return body;
  }

  private connection(raw: Json): DrawnConnection[] {
    if (!isObject(raw)) return [];
    const [source, target] = [at(raw, "source"), at(raw, "target")];
    const [out, into] = [at(raw, "sourceHandle"), at(raw, "targetHandle")];
    if (!(isText(source) && isText(target) && isText(out) && isText(into))) return [];
    if (!this.nodes.has(source) || !this.nodes.has(target)) return [];
    const id = at(raw, "id");
    return [{ id: isUsable(id) ? id : null, source, target, out, into }];
  }

  /** True if the source node of this connection can choose it. */
  leadsOn(each: DrawnConnection): boolean {
    const source = this.node(each.source);
    if (source.kind === undefined || waysOut(source).includes(each.out)) return true;
    return each.out === "" && source.kind.chooses && this.followsPlain;
  }

  /** The node with this id; a node without a kind if the id is unknown. */
  node(id: string): DrawnNode {
    return this.nodes.get(id) ?? { id, type: "", kind: undefined, name: id, data: {} };
  }

  names(ids: readonly string[]): string {
    return ids.map((id) => this.node(id).name).join(", ");
  }

  path(ids: readonly string[]): string {
    return ids.map((id) => this.node(id).name).join(" → ");
  }
}

export const isUsable = (value: Maybe): value is string => isText(value) && USABLE.test(value);

export const begins = (node: DrawnNode | undefined): boolean => node?.kind?.begins ?? false;

export const rowsOf = (value: Maybe): Json[] => (Array.isArray(value) ? value : []);

/** The outputs by which a run can leave a node of a known kind. */
export function waysOut(node: DrawnNode): string[] {
  if (node.kind === undefined) return [];
  const ways = node.kind.outs.filter((handle) => handle !== SUBAGENT);
  if (node.kind.rowHandles === null) return ways;
  const [field, prefix] = node.kind.rowHandles;
  return [...rowsOf(at(node.data, field)).map((_, row) => `${prefix}${row}`), ...ways];
}

function drawnNode(id: string, raw: JsonObject): DrawnNode {
  const [type, data] = [at(raw, "type"), at(raw, "data")];
  const kind = isText(type) && Object.hasOwn(KINDS, type) ? KINDS[type as KindName] : undefined;
  return { id, type: isText(type) ? type : "", kind, name: nameOf(raw), data: isObject(data) ? data : {} };
}

/** The name of a node: its label, else the name of its agent, else its id, else nothing. */
export function nameOf(raw: JsonObject): string {
  const data = at(raw, "data");
  const names = [at(raw, "label"), isObject(data) ? at(data, "agentName") : undefined, at(raw, "id")];
  return (names.find((name) => isText(name) && name !== "") as string | undefined) ?? "";
}

function waysOf(connections: readonly DrawnConnection[]): Map<string, string[]> {
  const ways = new Map<string, string[]>();
  for (const each of connections) listOf(ways, each.source).push(each.target);
  return ways;
}

function bySource(connections: readonly DrawnConnection[]): Map<string, DrawnConnection[]> {
  const found = new Map<string, DrawnConnection[]>();
  for (const each of connections) listOf(found, each.source).push(each);
  return found;
}
