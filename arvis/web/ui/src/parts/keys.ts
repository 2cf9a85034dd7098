/** Keys that act on what is shown. Where somebody types, letters are letters. */

import { type RefObject, useEffect, useRef } from "react";

/** Whether a key belongs to what somebody writes. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches("input, textarea, select") || target.closest("dialog") !== null;
}

/** A key that does something with what is open: `useKey("r", retry)`. */
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
 * `j`, `k` and enter for a list whose rows do not have the focus: they lead to the row that had it last, else to the first. The first
 * list of the page takes them; rows carry `data-index`.
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
