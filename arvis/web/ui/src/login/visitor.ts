/** The last user of this window. Another person at the same screen must not find what the previous user read or wrote. */

const KEY = "arvis.user";

/** Return true if this is another user; then everything that the window stored for the previous one is deleted. */
export function isSomebodyElse(userId: string): boolean {
  const before = sessionStorage.getItem(KEY);
  if (before === userId) return false;
  if (before !== null) sessionStorage.clear();
  sessionStorage.setItem(KEY, userId);
  return before !== null;
}
