import { useQueryClient } from "@tanstack/react-query";
import { Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Redirect, Route, Switch, useLocation } from "wouter";
import { useApi } from "./api/hooks";
import { LiveProvider } from "./api/live";
import { SessionContext, useMay, useWho } from "./api/session";
import { Boundary } from "./frame/Boundary";
import { Frame } from "./frame/Frame";
import { PagesContext, usePages } from "./frame/pages";
import { texts } from "./frame/texts";
import { isSomebodyElse, useLoginCode } from "./login/code";
import { LoginPage } from "./login/LoginPage";
import { clearOutboxes } from "./pages/chat/outbox";
import { PAGES } from "./pages/pages";
import { Empty, Failure, Skeleton } from "./parts/states";

/**
 * Logged-in users see the pages; everyone else sees the login form at the requested address. If the address has the code of a
 * login link, the page first logs in with it.
 */
export function App() {
  const [code, codeDone] = useLoginCode();
  const [byLink] = useState(code !== null);
  const client = useQueryClient();
  const who = useWho();
  const refresh = useCallback(() => void client.invalidateQueries({ queryKey: ["auth"] }), [client]);
  const entered = useCallback(() => {
    codeDone();
    void client.invalidateQueries();
  }, [client, codeDone]);
  const me = who.data ?? null;
  const userId = me?.userId ?? null;
  const last = useRef<string | null>(null);
  const changed = userId !== null && last.current !== null && last.current !== userId;
  useEffect(() => {
    if (userId === null) return;
    last.current = userId;
    // Delete everything that the previous user read or wrote.
    if (isSomebodyElse(userId)) void clearOutboxes().finally(() => window.location.reload());
  }, [userId]);
  const session = useMemo(() => (me === null ? null : { me, refresh }), [me, refresh]);
  if (code !== null || who.data === null) {
    return <LoginPage code={code} me={me} again={last.current !== null && me === null} onEntered={entered} />;
  }
  if (session === null) return who.error ? <Failure error={who.error} retry={() => void who.refetch()} /> : null;
  if (changed) return null;
  return (
    <SessionContext value={session}>
      <LiveProvider>
        <PagesContext value={PAGES}>
          <Frame>
            <Pages byLink={byLink} />
          </Frame>
        </PagesContext>
      </LiveProvider>
    </SessionContext>
  );
}

function Pages({ byLink }: { byLink: boolean }) {
  const pages = usePages();
  const [location] = useLocation();
  const asked = PAGES.filter(({ path }) => isAt(location, path)).sort(
    (one, other) => other.path.length - one.path.length,
  )[0];
  if (asked !== undefined && !pages.includes(asked)) return <Empty title={texts.forbidden} />;
  // An error on one page must not block the others.
  return (
    <Boundary key={location.split("/")[1]}>
      <Suspense fallback={<Skeleton />}>
        <Switch>
          <Route path="/">
            <Start byLink={byLink} />
          </Route>
          {[...pages].reverse().map(({ path, component: Component }) => (
            <Route key={path} path={`${path}/*?`}>
              <Component />
            </Route>
          ))}
          <Route>
            <Empty title={texts.missing} />
          </Route>
        </Switch>
      </Suspense>
    </Boundary>
  );
}

const isAt = (location: string, path: string): boolean => location === path || location.startsWith(`${path}/`);

/** The start page: the chat, or the welcome page for an owner who used the terminal's login link, until the setup is finished. */
function Start({ byLink }: { byLink: boolean }) {
  const first = useMay("owner") && byLink;
  const setup = useApi("GET /api/setup", first ? {} : null);
  if (first && setup.isPending) return <Skeleton />;
  return <Redirect to={first && setup.data?.done === false ? "/welcome" : "/chat"} replace />;
}
