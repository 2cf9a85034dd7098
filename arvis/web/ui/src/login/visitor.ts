/** Who used this window last. Somebody else at the same screen must not find what the one before has read or written. */

const KEY = "arvis.user";

/** Whether this is somebody else; everything that the window kept for the one before is gone then. */
export function isSomebodyElse(userId: string): boolean {
  const before = sessionStorage.getItem(KEY);
  if (before === userId) return false;
  if (before !== null) sessionStorage.clear();
  sessionStorage.setItem(KEY, userId);
  return before !== null;
}
