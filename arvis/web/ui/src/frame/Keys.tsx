import { useEffect, useRef } from "react";
import { useLocation } from "wouter";
import { isTyping } from "../parts/keys";
import { usePages } from "./pages";

const SECOND_KEY_MS = 1_200;

/** Keyboard shortcuts that work everywhere: ⌘K, `g` and a letter, `?`. They are ignored while the user types. */
export function Keys({ onPalette, onHelp }: { onPalette: () => void; onHelp: () => void }) {
  const [, navigate] = useLocation();
  const pages = usePages();
  const waiting = useRef(-Infinity);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        onPalette();
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
      const second = performance.now() - waiting.current < SECOND_KEY_MS;
      waiting.current = event.key === "g" && !second ? performance.now() : -Infinity;
      const page = second ? pages.find((one) => one.key === event.key) : undefined;
      if (page !== undefined) navigate(page.path);
      else if (event.key === "?") onHelp();
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [onPalette, onHelp, navigate, pages]);
  return null;
}
