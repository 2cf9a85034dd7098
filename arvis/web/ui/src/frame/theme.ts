import { useCallback, useState } from "react";

export type Theme = "auto" | "light" | "dark";

const ORDER: readonly Theme[] = ["auto", "light", "dark"];
const KEY = "arvis.theme";

/** Called once before the first paint, so that the page never flashes in the wrong colours. */
export function applyTheme(theme: Theme = stored()): void {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** The theme of this browser, and a function that switches to the next one. */
export function useTheme(): { theme: Theme; next: () => void } {
  const [theme, setTheme] = useState(stored);
  const next = useCallback(() => {
    const following = ORDER[(ORDER.indexOf(stored()) + 1) % ORDER.length] ?? "auto";
    localStorage.setItem(KEY, following);
    applyTheme(following);
    setTheme(following);
  }, []);
  return { theme, next };
}

function stored(): Theme {
  const theme = localStorage.getItem(KEY);
  return theme === "light" || theme === "dark" ? theme : "auto";
}
