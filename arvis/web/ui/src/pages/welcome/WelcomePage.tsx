import { useCallback, useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { useSend } from "../../api/hooks";
import { useSession } from "../../api/session";
import { Button, ButtonLink } from "../../parts/button";
import { Field } from "../../parts/field";
import { Secret } from "../../parts/fields";
import { Form, FormButtons } from "../../parts/form";
import { Page, Section } from "../../parts/page";
import { Loaded } from "../../parts/states";
import { AgentStep } from "./AgentStep";
import { BotStep } from "./BotStep";
import { HelloStep } from "./HelloStep";
import { ModelStep } from "./ModelStep";
import { Skip, Step, type StepProps } from "./Step";
import { STEPS, type StepName, useSetup } from "./setup";
import { texts } from "./texts";
import styles from "./welcome.module.css";

/** The welcome page: from the terminal's login link to an agent that answers on a chat platform. */
export default function WelcomePage() {
  const { setup, isDone, isSkipped, current, skip, resume, refresh } = useSetup();
  const [notes, setNotes] = useState<Partial<Record<StepName, string>>>({});
  // The current step stays open until it reports that it is done, whatever the daemon reports meanwhile; the chat and the bot
  // stay visible after that.
  const [held, setHeld] = useState<ReadonlySet<StepName>>(new Set());
  useEffect(() => {
    if (current !== null) setHeld((before) => new Set(before).add(current));
  }, [current]);
  const release = useCallback(
    (name: StepName) => setHeld((before) => new Set([...before].filter((one) => one !== name))),
    [],
  );
  const [, navigate] = useLocation();
  const dismiss = useSend("POST /api/setup/dismiss");
  const leave = () => dismiss.mutate({}, { onSuccess: () => navigate("/chat") });
  const done = useCallback(
    (name: StepName, note?: string) => {
      if (note) setNotes((before) => ({ ...before, [name]: note }));
      if (name !== "hello" && name !== "bot") release(name);
      refresh();
    },
    [refresh, release],
  );
  const hasReply = useCallback(() => done("hello"), [done]);
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={
        current && (
          <>
            <ButtonLink label={texts.later} href="/chat" />
            <Button label={texts.putAway} kind="quiet" busy={dismiss.isPending} onClick={leave} />
          </>
        )
      }
    >
      <Loaded of={setup}>
        {() => (
          <ol className={styles.steps}>
            {STEPS.map((name, index) => {
              const state = isDone(name)
                ? "done"
                : name === current
                  ? "current"
                  : isSkipped(name)
                    ? "skipped"
                    : "ahead";
              const open = state === "current" || (held.has(name) && state === "done");
              const props = {
                onDone: (note?: string) => done(name, note),
                onSkip: () => {
                  release(name);
                  skip(name);
                },
              };
              return (
                <Step
                  key={name}
                  number={index + 1}
                  title={texts[name].title}
                  about={texts[name].about}
                  state={state}
                  note={notes[name] ?? texts[name].done}
                  onResume={() => resume(name)}
                  // Nothing moves while the user reads an answer.
                  arrives={name !== "bot" || !held.has("hello")}
                >
                  {open &&
                    (name === "hello" ? (
                      <HelloStep {...props} onDone={hasReply} answered={state === "done"} />
                    ) : (
                      <Body name={name} {...props} />
                    ))}
                </Step>
              );
            })}
          </ol>
        )}
      </Loaded>
      {setup.data && current === null && <Finished busy={dismiss.isPending} onFinish={leave} />}
    </Page>
  );
}

function Body({ name, ...props }: StepProps & { name: Exclude<StepName, "hello"> }) {
  if (name === "password") return <PasswordStep {...props} />;
  if (name === "model") return <ModelStep {...props} />;
  if (name === "agent") return <AgentStep {...props} />;
  return <BotStep {...props} />;
}

const NEXT = [
  ["/chat", "chat"],
  ["/agents", "agents"],
  ["/schedules", "schedules"],
  ["/settings/people", "people"],
  ["/settings/doctor", "doctor"],
] as const;

function Finished({ busy, onFinish }: { busy: boolean; onFinish: () => void }) {
  return (
    <Section title={texts.finished}>
      <p>{texts.finishedAbout}</p>
      <ul className={styles.next}>
        {NEXT.map(([path, name]) => (
          <li key={path}>
            <Link href={path}>{texts.next[name]}</Link>
            <p className="muted">{texts.nextAbout[name]}</p>
          </li>
        ))}
      </ul>
      <p className="muted">{texts.guides}</p>
      <FormButtons>
        <Button label={texts.finish} kind="primary" busy={busy} onClick={onFinish} />
      </FormButtons>
    </Section>
  );
}

/** A password for the next login. */
function PasswordStep({ onDone, onSkip }: StepProps) {
  const { me, refresh } = useSession();
  const [password, setPassword] = useState("");
  const save = useSend("PUT /api/auth/password", { quiet: true });
  const send = () =>
    save.mutate(
      { body: { password } },
      {
        onSuccess: () => {
          refresh();
          onDone();
        },
      },
    );
  return (
    <Form
      onSend={send}
      by={[save]}
      save={texts.password.save}
      label={texts.password.title}
      buttons={<Skip onSkip={onSkip} />}
    >
      <input className="hidden" autoComplete="username" value={me.userId} readOnly tabIndex={-1} aria-hidden />
      <Field label={texts.password.field} hint={texts.password.hint}>
        <Secret required autoFocus autoComplete="new-password" onText={setPassword} />
      </Field>
    </Form>
  );
}
