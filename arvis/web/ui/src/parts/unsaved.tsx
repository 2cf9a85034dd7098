/**
 * Protects edits that are not saved. Every navigation inside the page passes `UnsavedProvider`, which asks before it drops the
 * edits. Before the tab is closed or reloaded, the browser asks.
 */

import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from "react";
import { type AroundNavHandler, Router, useLocation } from "wouter";
import { useAsk } from "./dialog";
import { texts } from "./texts";
import { useToast } from "./toast";

/** `lost`: the edits end with the page; `kept`: this browser offers them again. */
type Fate = "lost" | "kept";
type Guard = { current: Fate | null };

/** Tell the surrounding form that the server did not accept the input. */
export const RefusedContext = createContext<(() => void) | null>(null);

const GuardsContext = createContext<Set<Guard> | null>(null);

export function UnsavedProvider({ children }: { children: ReactNode }) {
  const ask = useAsk();
  const guards = useMemo(() => new Set<Guard>(), []);
  const around: AroundNavHandler = (navigate, to, options) => {
    const fates = [...guards].map((guard) => guard.current).filter((fate) => fate !== null);
    const [path] = String(to).split(/[?#]/);
    if (fates.length === 0 || path === "" || path === location.pathname) return navigate(to, options);
    void ask(texts.unsaved[fates.includes("lost") ? "lost" : "kept"]).then((yes) => {
      if (!yes) return;
      for (const guard of guards) guard.current = null;
      navigate(to, options);
    });
  };
  return (
    <GuardsContext value={guards}>
      <Router aroundNav={around}>{children}</Router>
    </GuardsContext>
  );
}

/**
 * Ask before the page is left while `dirty`. The returned function lifts the guard until `dirty` changes: call it before a
 * save that leaves the page.
 */
export function useUnsaved(dirty: boolean, fate: Fate = "lost"): () => void {
  const guards = useContext(GuardsContext);
  const guard = useRef<Fate | null>(null);
  useEffect(() => {
    guard.current = dirty ? fate : null;
    if (!dirty) return;
    const closing = (event: BeforeUnloadEvent) => {
      if (guard.current !== null) event.preventDefault();
    };
    guards?.add(guard);
    window.addEventListener("beforeunload", closing);
    return () => {
      guards?.delete(guard);
      window.removeEventListener("beforeunload", closing);
    };
  }, [dirty, fate, guards]);
  useLeft(guard);
  return () => {
    guard.current = null;
  };
}

/** The browser's back button cannot be intercepted: report that the changes are kept, and offer a way back. */
function useLeft(guard: Guard): void {
  const { tell } = useToast();
  const [, navigate] = useLocation();
  const latest = useRef({ tell, navigate });
  latest.current = { tell, navigate };
  useEffect(() => {
    const here = location.pathname;
    return () => {
      // If the address is unchanged, the page was only rendered again.
      if (guard.current !== "kept" || location.pathname === here) return;
      const { tell: say, navigate: go } = latest.current;
      say(texts.unsaved.left, { words: texts.unsaved.back, act: () => go(here) });
    };
  }, [guard]);
}

/**
 * A draft that survives leaving the page, a reload and a crash of the tab: while it differs from `base`, this tab stores it
 * and starts with it next time. `forget` deletes it after a save.
 */
export function useKeptDraft<T>(key: string, base: T): [T, (draft: T) => void, () => void] {
  const store = `arvis.draft.${key}`;
  const [draft, setDraft] = useState<T>(() => stored(store) ?? base);
  const text = JSON.stringify(draft);
  const changed = text !== JSON.stringify(base);
  useEffect(() => {
    try {
      if (changed) sessionStorage.setItem(store, text);
      else sessionStorage.removeItem(store);
    } catch {
      // The browser has no space left: the draft is still on the screen.
    }
  }, [store, text, changed]);
  return [draft, setDraft, () => sessionStorage.removeItem(store)];
}

function stored<T>(key: string): T | null {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "null") as T | null;
  } catch {
    return null;
  }
}
