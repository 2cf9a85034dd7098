/**
 * Compare two values deeply, to the depth of the drawn data. Parts of a document are equal only as the same object, because
 * edits create new objects.
 */
export function same(one: unknown, other: unknown, depth = 3): boolean {
  if (Object.is(one, other)) return true;
  if (depth === 0 || !isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) => same(one[name], other[name], name === "node" ? 0 : depth - 1));
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** The new values. For an equal value, the previous object is returned, so that unchanged nodes are not rendered again. */
export function settled<T extends { id: string }>(before: readonly T[], after: readonly T[]): T[] {
  const known = new Map(before.map((one) => [one.id, one]));
  return after.map((one) => {
    const old = known.get(one.id);
    return old !== undefined && same(old, one) ? old : one;
  });
}
