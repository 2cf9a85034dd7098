import { useCallback, useEffect, useState } from "react";

/**
 * The code of a login link, which stands behind `#login=`. It leaves the address and the history before anything else can fail.
 * The address is taken whole: of `//elsewhere/x` the path alone would name another site.
 */
export function loginCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("login");
  if (code !== null) history.replaceState(null, "", location.href.split("#")[0]);
  return code;
}

/** The code that is to be spent, also when a link is opened where the page is open already; and how to be done with it. */
export function useLoginCode(): [string | null, () => void] {
  const [code, setCode] = useState(loginCode);
  useEffect(() => {
    const changed = () => setCode((before) => loginCode() ?? before);
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return [code, useCallback(() => setCode(null), [])];
}
