import { useEffect, useRef } from "react";
import { useLocation } from "wouter";
import { useAsk } from "../../../parts/dialog";
import { texts } from "./texts";

/** Asks before a page with changes is left, whether for another page here or another site. */
export function useLeaving(dirty: boolean): void {
  const ask = useAsk();
  const [, navigate] = useLocation();
  const latest = useRef({ ask, navigate });
  latest.current = { ask, navigate };
  useEffect(() => {
    if (!dirty) return;
    const closing = (event: BeforeUnloadEvent) => event.preventDefault();
    const clicked = (event: MouseEvent) => {
      const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("a[href]") : null;
      const elsewhere = event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0;
      if (link === null || elsewhere || link.origin !== location.origin || link.target === "_blank") return;
      event.preventDefault();
      event.stopPropagation();
      void latest.current.ask(texts.leave).then((yes) => {
        if (yes) latest.current.navigate(link.pathname + link.search);
      });
    };
    window.addEventListener("beforeunload", closing);
    document.addEventListener("click", clicked, true);
    return () => {
      window.removeEventListener("beforeunload", closing);
      document.removeEventListener("click", clicked, true);
    };
  }, [dirty]);
}
