import { useEffect, useRef } from "react";
import { useApi, useSend } from "../api/hooks";
import type { Me } from "../api/session";
import { Button } from "../parts/button";
import { Code } from "../parts/show";
import { Failure, Skeleton } from "../parts/states";
import { reveal } from "../words/format";
import styles from "./login.module.css";
import { PasswordForm } from "./PasswordForm";
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
