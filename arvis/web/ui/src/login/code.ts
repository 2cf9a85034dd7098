/** The code of a login link, which stands behind `#login=`. It leaves the address and the history before anything else can fail. */
export function loginCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("login");
  if (code !== null) history.replaceState(null, "", location.pathname + location.search);
  return code;
}
