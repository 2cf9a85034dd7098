/**
 * Walks along connections: the same steps as `arvis/workflows/document/view.py`. Never recursive, because documents are
 * untrusted.
 */

export type Ways = ReadonlyMap<string, readonly string[]>;

/** The given nodes and all their successors. The successors of a node for which `stop` is true are not followed. */
export function reach(
  starts: Iterable<string>,
  ways: Ways,
  stop: (node: string) => boolean = () => false,
): Set<string> {
  const found = new Set(starts);
  const open = [...found];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (stop(node)) continue;
    for (const target of ways.get(node) ?? []) {
      if (!found.has(target)) {
        found.add(target);
        open.push(target);
      }
    }
  }
  return found;
}

/** The list under a key, created if missing. */
export function listOf<K, V>(lists: Map<K, V[]>, key: K): V[] {
  let list = lists.get(key);
  if (list === undefined) {
    list = [];
    lists.set(key, list);
  }
  return list;
}

export function backwards(ways: Ways): Map<string, string[]> {
  const back = new Map<string, string[]>();
  for (const [source, targets] of ways) for (const target of targets) listOf(back, target).push(source);
  return back;
}

/**
 * Strongly connected components (Kosaraju); a component comes before its successors. Connections that leave `ids` are
 * ignored.
 */
export function components(ids: readonly string[], ways: Ways): string[][] {
  const inside = new Set(ids);
  const back = backwards(ways);
  const seen = new Set<string>();
  const groups: string[][] = [];
  for (const root of byEnd(ids, inside, ways).reverse()) {
    if (seen.has(root)) continue;
    seen.add(root);
    const group = [root];
    const open = [root];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      for (const source of back.get(node) ?? []) {
        if (inside.has(source) && !seen.has(source)) {
          seen.add(source);
          group.push(source);
          open.push(source);
        }
      }
    }
    groups.push(group);
  }
  return groups;
}

/** The nodes in the post-order of a depth-first walk. */
function byEnd(ids: readonly string[], inside: Set<string>, ways: Ways): string[] {
  const seen = new Set<string>();
  const ended: string[] = [];
  for (const root of ids) {
    if (seen.has(root)) continue;
    seen.add(root);
    const path: [node: string, at: number][] = [[root, 0]];
    for (let step = path.pop(); step !== undefined; step = path.pop()) {
      const [node, at] = step;
      const target = ways.get(node)?.[at];
      if (target === undefined) {
        ended.push(node);
        continue;
      }
      path.push([node, at + 1]);
      if (inside.has(target) && !seen.has(target)) {
        seen.add(target);
        path.push([target, 0]);
      }
    }
  }
  return ended;
}

/**
 * One cycle of each component that has one, as its nodes in order, with the first repeated at the end. It starts at the node
 * that comes first in `ids`; the cycles are sorted in the same way.
 */
export function circles(ids: readonly string[], ways: Ways): string[][] {
  const places = new Map(ids.map((node, place) => [node, place]));
  const placeOf = (node: string | undefined) => places.get(node ?? "") ?? 0;
  const found: string[][] = [];
  for (const group of components(ids, ways)) {
    const first = group.reduce((best, node) => (placeOf(node) < placeOf(best) ? node : best));
    if (group.length > 1 || ways.get(first)?.includes(first)) found.push(circle(first, new Set(group), ways));
  }
  return found.sort((one, other) => placeOf(one[0]) - placeOf(other[0]));
}

/** The shortest path from a node back to itself, breadth first. */
function circle(first: string, inside: Set<string>, ways: Ways): string[] {
  const came = new Map<string, string>();
  let row = [first];
  while (row.length > 0) {
    const following: string[] = [];
    for (const node of row) {
      for (const target of ways.get(node) ?? []) {
        if (target === first) return pathOf(first, node, came);
        if (inside.has(target) && !came.has(target)) {
          came.set(target, node);
          following.push(target);
        }
      }
    }
    row = following;
  }
  return [];
}

function pathOf(first: string, last: string, came: Map<string, string>): string[] {
  const path = [first];
  for (let node: string | undefined = last; node !== undefined && node !== first; node = came.get(node))
    path.push(node);
  path.push(first);
  return path.reverse();
}
