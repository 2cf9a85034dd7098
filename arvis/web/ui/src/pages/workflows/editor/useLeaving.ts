import { useCallback, useEffect, useRef } from "react";
import { useLocation } from "wouter";
import { useAsk } from "../../../parts/dialog";
import { useToast } from "../../../parts/toast";
import { texts } from "./texts";

/** Asks before a page with changes is left by a link, by the way back that is given here, or for another site. Whoever leaves by a key,
 * the palette or the browser's own way back is told that the changes are kept. */
export function useLeaving(dirty: boolean): (path: string) => void {
  const ask = useAsk();
  const [, navigate] = useLocation();
  const latest = useRef({ ask, navigate });
  latest.current = { ask, navigate };
  const asked = useRef(false);
  const leave = useCallback((path: string) => {
    void latest.current.ask(texts.leave).then((yes) => {
      asked.current = yes;
      if (yes) latest.current.navigate(path);
    });
  }, []);
  useGone(dirty, asked);
  useEffect(() => {
    if (!dirty) return;
    const closing = (event: BeforeUnloadEvent) => event.preventDefault();
    const clicked = (event: MouseEvent) => {
      const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("a[href]") : null;
      const elsewhere = event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0;
      if (link === null || elsewhere || link.origin !== location.origin || link.target === "_blank") return;
      event.preventDefault();
      event.stopPropagation();
      leave(link.pathname + link.search);
    };
    window.addEventListener("beforeunload", closing);
    document.addEventListener("click", clicked, true);
    return () => {
      window.removeEventListener("beforeunload", closing);
      document.removeEventListener("click", clicked, true);
    };
  }, [dirty, leave]);
  return (path) => (dirty ? leave(path) : navigate(path));
}

/** Says that the changes are kept, where the page was left without a question. */
function useGone(dirty: boolean, asked: { current: boolean }): void {
  const { tell } = useToast();
  const [, navigate] = useLocation();
  const latest = useRef({ dirty, tell, navigate });
  latest.current = { dirty, tell, navigate };
  useEffect(() => {
    const here = location.pathname;
    return () => {
      const { dirty: lost, tell: say, navigate: go } = latest.current;
      // Where the address is still the same, the page was only drawn anew.
      if (!lost || asked.current || location.pathname === here) return;
      say(texts.leave.left, { words: texts.leave.back, act: () => go(here) });
    };
  }, [asked]);
}
