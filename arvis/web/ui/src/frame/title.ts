/** The title of the window: the number of unread answers, then the name of the page. */

import { useEffect, useSyncExternalStore } from "react";

const NAME = "Arvis";

let page = "";
let unread = 0;
const listeners = new Set<() => void>();

function show(): void {
  const words = page === "" ? NAME : `${page} · ${NAME}`;
  document.title = unread > 0 ? `(${unread}) ${words}` : words;
}

export function useTitle(title: string): void {
  useEffect(() => {
    page = title;
    show();
  }, [title]);
}

export function setUnread(count: number): void {
  unread = count;
  show();
  for (const changed of listeners) changed();
}

/** The number of unread answers. */
export function useUnreadCount(): number {
  return useSyncExternalStore(
    (changed) => {
      listeners.add(changed);
      return () => void listeners.delete(changed);
    },
    () => unread,
  );
}
