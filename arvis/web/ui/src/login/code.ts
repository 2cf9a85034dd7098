import { useCallback, useEffect, useState } from "react";

/**
 * The code of a login link, which follows `#login=`. It is removed from the address and the history before anything else can
 * fail. The whole address is kept: of `//elsewhere/x` the path alone would name another site.
 */
export function loginCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("login");
  if (code !== null) history.replaceState(null, "", location.href.split("#")[0]);
  return code;
}

/** The code to use, also when a link is opened in a tab where the page is open already; and a function that clears it. */
export function useLoginCode(): [string | null, () => void] {
  const [code, setCode] = useState(loginCode);
  useEffect(() => {
    const changed = () => setCode((before) => loginCode() ?? before);
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return [code, useCallback(() => setCode(null), [])];
}
