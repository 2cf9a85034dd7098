import { useEffect, useState } from "react";
import type { ApiError } from "../api/client";
import { Field } from "../parts/field";
import { Form } from "../parts/form";
import { duration } from "../words/format";
import { texts } from "./texts";

type Props = { busy: boolean; error: ApiError | null; onSend: (user: string, password: string) => void };

/** A name and a password. After too many wrong attempts the button is disabled as long as the server requires. */
export function PasswordForm({ busy, error, onSend }: Props) {
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
