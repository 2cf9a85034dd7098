import { useState } from "react";
import { type Pages, useApi, useList, useSend } from "../../api/hooks";
import { useSession } from "../../api/session";
import type { Answer, Item } from "../../api/types";
import { AskButton } from "../../parts/actions";
import { Button } from "../../parts/button";
import { Check } from "../../parts/field";
import { TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { Section } from "../../parts/page";
import { Status, Time } from "../../parts/show";
import { Empty } from "../../parts/states";
import { Table } from "../../parts/table";
import { reveal } from "../../words/format";
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
      <OwnPreferences />
      <OwnLogins />
    </>
  );
}

function OwnPreferences() {
  const known = useApi("GET /api/auth/preferences", {});
  return (
    <Section title={texts.preferences}>
      <p className="muted">{texts.preferencesWhy}</p>
      {known.data && <PreferencesForm key={`${known.data.timezone} ${known.data.language}`} known={known.data} />}
    </Section>
  );
}

function PreferencesForm({ known }: { known: Answer<"GET /api/auth/preferences"> }) {
  const { draft, of } = useDraft({ timezone: known.timezone ?? "", language: known.language ?? "" });
  const save = useSend("PATCH /api/auth/preferences", { quiet: true, done: texts.preferencesSaved });
  return (
    <div className={styles.form}>
      <Form label={texts.preferences} onSend={() => save.mutate({ body: draft })} by={[save]}>
        <TextField label={texts.timezone} hint={texts.timezoneHint} {...of("timezone")} />
        <TextField label={texts.language} hint={texts.languageHint} {...of("language")} />
      </Form>
    </div>
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
      <Form label={texts.password} onSend={send} by={[set]} save={action}>
        <input hidden readOnly name="username" autoComplete="username" value={me.userId} />
        {me.hasPassword && (
          <TextField
            label={texts.current}
            type={type}
            autoComplete="current-password"
            required
            value={current}
            onChange={setCurrent}
          />
        )}
        <TextField
          label={texts.next}
          hint={texts.nextHint}
          type={type}
          autoComplete="new-password"
          required
          value={password}
          onChange={setPassword}
        />
        <Check label={texts.showTyped} checked={shown} onChange={setShown} />
      </Form>
    </div>
  );
}

function OwnLogins() {
  const pages = useList("GET /api/auth/sessions", {});
  const end = useSend("DELETE /api/auth/sessions/{session}");
  const others = pages.rows.filter((one) => !one.current);
  const endOthers = () => {
    for (const { id } of others) end.mutate({ path: { session: id } });
  };
  return (
    <Section
      title={texts.logins}
      actions={
        others.length > 0 && (
          <AskButton
            kind="danger"
            busy={end.isPending}
            label={texts.endOthers}
            words={texts.endOthersWhy(others.length)}
            onClick={endOthers}
          />
        )
      }
    >
      <Logins pages={pages} />
    </Section>
  );
}

type Login = Item<"GET /api/auth/sessions">;

/** The logins of a user, with a button that ends each. The current login is ended by logging out. */
export function Logins({ pages }: { pages: Pages<Login> }) {
  const end = useSend("DELETE /api/auth/sessions/{session}", { done: texts.ended });
  return (
    <Table
      label={texts.logins}
      pages={pages}
      idOf={(login) => login.id}
      columns={[
        { name: texts.device, width: "minmax(120px, 2fr)", show: (login) => login.device },
        { name: texts.begun, show: (login) => <Time at={login.createdAt} /> },
        { name: texts.lastUsed, show: (login) => <Time at={login.lastSeenAt} /> },
        {
          name: "",
          width: "96px",
          show: (login) =>
            login.current ? (
              <Status tone="good">{texts.thisOne}</Status>
            ) : (
              <Button
                label={texts.end}
                aria-label={texts.endOf(reveal(login.device))}
                onClick={() => end.mutate({ path: { session: login.id } })}
              />
            ),
        },
      ]}
      empty={<Empty title={texts.noLogins} />}
    />
  );
}
