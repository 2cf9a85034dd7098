import { useQueryClient } from "@tanstack/react-query";
import { Suspense, useCallback, useMemo } from "react";
import { Redirect, Route, Switch, useLocation } from "wouter";
import { useApi } from "./api/hooks";
import { LiveProvider } from "./api/live";
import { SessionContext } from "./api/session";
import { Boundary } from "./frame/Boundary";
import { Frame, usePages } from "./frame/Frame";
import { texts } from "./frame/texts";
import { loginCode } from "./login/code";
import { LoginPage } from "./login/LoginPage";
import { Empty, Failure, Skeleton } from "./parts/states";

const UNAUTHORISED = 401;

/** Whoever is logged in sees the pages, everybody else the login. A link with a code is spent first. */
export function App() {
  const code = useMemo(loginCode, []);
  const client = useQueryClient();
  const me = useApi("GET /api/auth/me", {});
  const refresh = useCallback(() => void client.invalidateQueries({ queryKey: ["auth"] }), [client]);
  const entered = useCallback(() => {
    client.clear(); // somebody else at the same screen must not find what the one before has read
    window.location.assign("/");
  }, [client]);
  const signedOut = me.error?.status === UNAUTHORISED;
  const session = useMemo(() => (me.data === undefined ? null : { me: me.data, refresh }), [me.data, refresh]);
  if (code !== null || signedOut) return <LoginPage code={code} onEntered={entered} />;
  if (session === null) return me.error ? <Failure error={me.error} retry={() => void me.refetch()} /> : null;
  return (
    <SessionContext value={session}>
      <LiveProvider>
        <Frame>
          <Pages />
        </Frame>
      </LiveProvider>
    </SessionContext>
  );
}

function Pages() {
  const pages = usePages();
  const [location] = useLocation();
  // Another page has not stopped because this one has.
  return (
    <Boundary key={location.split("/")[1]}>
      <Suspense fallback={<Skeleton />}>
        <Switch>
          <Route path="/">
            <Redirect to="/chat" replace />
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
