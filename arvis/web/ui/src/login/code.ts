import { useCallback, useEffect, useState } from "react";

/**
 * The code of a login link, which follows `#login=`. It is removed from the address and the history before anything else can
 * fail. The new address is written in full, because the path `//elsewhere/x` alone would name another site.
 */
export function loginCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("login");
  if (code !== null) history.replaceState(null, "", location.href.split("#")[0]);
  return code;
}

/** The code of the login link, also if the link is opened in a tab that already shows the page; and a function that clears it. */
export function useLoginCode(): [string | null, () => void] {
  const [code, setCode] = useState(loginCode);
  useEffect(() => {
    const changed = () => setCode((before) => loginCode() ?? before);
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return [code, useCallback(() => setCode(null), [])];
}

const KEY = "arvis.user";

/** Return true if this is another user; then everything that the window stored for the previous one is deleted. */
export function isSomebodyElse(userId: string): boolean {
  const before = sessionStorage.getItem(KEY);
  if (before === userId) return false;
  if (before !== null) sessionStorage.clear();
  sessionStorage.setItem(KEY, userId);
  return before !== null;
}
