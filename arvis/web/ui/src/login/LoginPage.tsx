import { useEffect, useRef, useState } from "react";
import { useApi, useSend } from "../api/hooks";
import { Button } from "../parts/button";
import { Field, Form, FormButtons } from "../parts/field";
import { Failure } from "../parts/states";
import styles from "./login.module.css";
import { texts } from "./texts";

/** `code` is that of a login link, which is spent at once; without one, a name and a password are asked for. */
export function LoginPage({ code, onEntered }: { code: string | null; onEntered: () => void }) {
  const logIn = useSend("POST /api/auth/login", { quiet: true });
  const state = useApi("GET /api/auth/state", {});
  const [user, setUser] = useState("owner");
  const [password, setPassword] = useState("");
  const spent = useRef(false);
  const { mutate } = logIn;
  useEffect(() => {
    document.title = `${texts.title} · Arvis`;
    if (code === null || spent.current) return;
    spent.current = true;
    mutate({ body: { code } }, { onSuccess: onEntered });
  }, [code, mutate, onEntered]);
  return (
    <main className={styles.login}>
      <img src="/icon.svg" alt="" width={48} height={48} />
      <h1>{texts.title}</h1>
      {logIn.error && <Failure error={logIn.error} />}
      {state.data?.passwordLogin && (
        <Form onSend={() => mutate({ body: { user, password } }, { onSuccess: onEntered })}>
          <Field label={texts.user}>
            <input
              name="username"
              autoComplete="username"
              value={user}
              required
              onChange={(event) => setUser(event.target.value)}
            />
          </Field>
          <Field label={texts.password}>
            <input
              name="password"
              type="password"
              autoComplete="current-password"
              value={password}
              required
              onChange={(event) => setPassword(event.target.value)}
            />
          </Field>
          <FormButtons>
            <Button type="submit" kind="primary" busy={logIn.isPending}>
              {texts.logIn}
            </Button>
          </FormButtons>
        </Form>
      )}
      <p className="muted">
        {texts.byLink} <code>arvis login</code>
      </p>
    </main>
  );
}
