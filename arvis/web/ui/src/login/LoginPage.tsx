import { useEffect, useRef, useState } from "react";
import type { ApiError } from "../api/client";
import { useApi, useSend } from "../api/hooks";
import type { Me } from "../api/session";
import { Button } from "../parts/button";
import { Field } from "../parts/field";
import { Form } from "../parts/form";
import { Code } from "../parts/show";
import { Failure, Skeleton } from "../parts/states";
import { duration, reveal } from "../words/format";
import styles from "./login.module.css";
import { texts } from "./texts";

type Props = {
  /** The code of a login link, which is used at once; without it, the page asks for a name and a password. */
  code: string | null;
  /** The user who is still logged in although the code of the opened link is no longer valid. */
  me: Me | null;
  /** True if a user was logged in on this page before. */
  again: boolean;
  onEntered: () => void;
};

export function LoginPage({ code, me, again, onEntered }: Props) {
  const logIn = useSend("POST /api/auth/login", { quiet: true });
  const state = useApi("GET /api/auth/state", {});
  const spent = useRef<string | null>(null);
  const { mutate } = logIn;
  useEffect(() => {
    document.title = `${texts.title} · Arvis`;
  }, []);
  useEffect(() => {
    if (code === null || spent.current === code) return;
    spent.current = code;
    mutate({ body: { code } }, { onSuccess: onEntered });
  }, [code, mutate, onEntered]);
  const spending = code !== null && logIn.error === null;
  return (
    <main className={styles.login}>
      <img src="/icon.svg" alt="" width={48} height={48} />
      <div>
        <h1>{again ? texts.again : texts.title}</h1>
        {again && <p className="muted">{texts.againWhy}</p>}
      </div>
      {spending ? (
        <p role="status">{texts.spending}</p>
      ) : (
        <>
          {logIn.error && <Failure error={logIn.error} />}
          {me && <Button label={texts.stay(reveal(me.name))} onClick={onEntered} />}
          {state.isPending && <Skeleton lines={3} />}
          {state.error && <Failure error={state.error} retry={() => void state.refetch()} />}
          {state.data?.passwordLogin && (
            <PasswordForm
              busy={logIn.isPending}
              error={logIn.error}
              onSend={(user, password) => mutate({ body: { user, password } }, { onSuccess: onEntered })}
            />
          )}
          {state.data && <Links passwords={state.data.passwordLogin} />}
        </>
      )}
    </main>
  );
}

function Links({ passwords }: { passwords: boolean }) {
  return (
    <section className={styles.links}>
      <h2>{texts.links}</h2>
      <p>{texts.byLink}</p>
      <Code value="arvis login" label={texts.links} />
      <p className="muted">{texts.byOwner}</p>
      {!passwords && <p className="muted">{texts.noPassword}</p>}
    </section>
  );
}

type PasswordFormProps = { busy: boolean; error: ApiError | null; onSend: (user: string, password: string) => void };

/** A name and a password. After too many wrong attempts the button is disabled as long as the server requires. */
function PasswordForm({ busy, error, onSend }: PasswordFormProps) {
  const [user, setUser] = useState("owner");
  const [password, setPassword] = useState("");
  const wait = useWait(error);
  return (
    <Form
      label={texts.title}
      onSend={() => onSend(user, password)}
      by={[{ isPending: busy }]}
      save={texts.logIn}
      disabled={wait !== null && wait > 0}
    >
      <Field label={texts.user} hint={texts.userHint}>
        <input
          name="username"
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
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
      {wait !== null && <p>{wait > 0 ? texts.later(duration(wait * 1_000)) : texts.now}</p>}
    </Form>
  );
}

/** The seconds until another attempt may succeed; `null` if no attempt was refused because of too many attempts. */
function useWait(error: ApiError | null): number | null {
  const [left, setLeft] = useState<number | null>(null);
  useEffect(() => {
    const seconds = error?.seconds ?? null;
    setLeft(seconds);
    if (seconds === null) return;
    const end = performance.now() + seconds * 1_000;
    const timer = window.setInterval(() => {
      const rest = Math.max(0, Math.ceil((end - performance.now()) / 1_000));
      setLeft(rest);
      if (rest === 0) window.clearInterval(timer);
    }, 1_000);
    return () => window.clearInterval(timer);
  }, [error]);
  return left;
}
