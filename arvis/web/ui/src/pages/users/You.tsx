import { useState } from "react";
import { useList, useSend } from "../../api/hooks";
import { useSession } from "../../api/session";
import { Button } from "../../parts/button";
import { useAsk } from "../../parts/dialog";
import { Check, Field } from "../../parts/field";
import { Form, FormButtons } from "../../parts/form";
import { Section } from "../../parts/page";
import { Failure } from "../../parts/states";
import { Logins } from "./Logins";
import { texts } from "./texts";
import styles from "./users.module.css";

/** Password and logins of the user. */
export function You() {
  const { me } = useSession();
  return (
    <>
      <Section title={texts.password}>
        <p className="muted">
          {me.hasPassword ? texts.hasPassword : texts.noPassword} <bdi>{me.userId}</bdi>.
        </p>
        <PasswordForm key={String(me.hasPassword)} />
      </Section>
      <OwnLogins />
    </>
  );
}

function PasswordForm() {
  const { me, refresh } = useSession();
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const [shown, setShown] = useState(false);
  const set = useSend("PUT /api/auth/password", { quiet: true, done: texts.passwordSet });
  const send = () =>
    set.mutate(
      { body: me.hasPassword ? { password, current } : { password } },
      {
        onSuccess: () => {
          setCurrent("");
          setPassword("");
          refresh();
        },
      },
    );
  const type = shown ? "text" : "password";
  const action = me.hasPassword ? texts.changePassword : texts.setPassword;
  return (
    <div className={styles.form}>
      <Form label={texts.password} onSend={send}>
        {set.error && <Failure error={set.error} />}
        <input hidden readOnly name="username" autoComplete="username" value={me.userId} />
        {me.hasPassword && (
          <Field label={texts.current}>
            <input
              type={type}
              autoComplete="current-password"
              value={current}
              required
              onChange={(event) => setCurrent(event.target.value)}
            />
          </Field>
        )}
        <Field label={texts.next} hint={texts.nextHint}>
          <input
            type={type}
            autoComplete="new-password"
            value={password}
            required
            onChange={(event) => setPassword(event.target.value)}
          />
        </Field>
        <Check label={texts.showTyped} checked={shown} onChange={setShown} />
        <FormButtons>
          <Button type="submit" kind="primary" busy={set.isPending}>
            {action}
          </Button>
        </FormButtons>
      </Form>
    </div>
  );
}

function OwnLogins() {
  const pages = useList("GET /api/auth/sessions", {});
  const end = useSend("DELETE /api/auth/sessions/{session}");
  const ask = useAsk();
  const others = pages.rows.filter((one) => !one.current);
  const endOthers = async () => {
    const words = texts.endOthersWhy(others.length);
    if (!(await ask({ title: texts.endOthers, words, yes: texts.endOthers, danger: true }))) return;
    for (const { id } of others) end.mutate({ path: { session: id } });
  };
  return (
    <Section
      title={texts.logins}
      actions={
        others.length > 0 && (
          <Button kind="danger" busy={end.isPending} onClick={() => void endOthers()}>
            {texts.endOthers}
          </Button>
        )
      }
    >
      <Logins pages={pages} />
    </Section>
  );
}
