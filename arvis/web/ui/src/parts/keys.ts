/** Keyboard shortcuts for the displayed item. They are ignored while the user types. */

import { type RefObject, useEffect, useRef } from "react";

/** True if a key belongs to text input. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches("input, textarea, select") || target.closest("dialog") !== null;
}

/** A key for the open item: `useKey("r", retry)`. */
export function useKey(key: string, act: (() => void) | null): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key !== key || event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
      if (latest.current === null) return;
      event.preventDefault();
      latest.current();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [key]);
}

/**
 * The keys `j`, `k` and Enter if no row of a list has the focus: they move the focus to the row that had it last, else to the
 * first row. The first list of the page handles them. Rows have the attribute `data-index`.
 */
export function useListKeys(list: RefObject<HTMLElement | null>, active: number): void {
  const latest = useRef(active);
  latest.current = active;
  useEffect(() => {
    const element = list.current;
    if (element === null) return;
    element.setAttribute("data-list-keys", "");
    const pressed = (event: KeyboardEvent) => {
      if (!["j", "k", "Enter"].includes(event.key) || event.metaKey || event.ctrlKey || event.altKey) return;
      const elsewhere = event.key === "Enter" && document.activeElement !== document.body;
      if (event.defaultPrevented || elsewhere || isTyping(event.target) || element.contains(event.target as Node))
        return;
      if (document.querySelector("[data-list-keys]") !== element) return;
      event.preventDefault();
      const row = element.querySelector<HTMLElement>(`[data-index="${latest.current}"]`);
      (row ?? element.querySelector<HTMLElement>("[data-index]"))?.focus();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [list]);
}
