import { useState } from "react";
import { useSend } from "../../api/hooks";
import { useMay, useSession } from "../../api/session";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";
import { Form } from "../../parts/form";
import { ServerForm } from "../../parts/serverForm";
import { Status } from "../../parts/show";
import { Failure } from "../../parts/states";
import { clock, reveal } from "../../words/format";
import { jsonOf, objectOf } from "../../words/json";
import styles from "./log.module.css";
import { texts } from "./texts";
import type { Wait } from "./waits";

type Decision = "approve" | "accept" | "reject" | "edit" | "feedback" | "answer" | "cancel";
const KNOWN: ReadonlySet<string> = new Set(["approve", "accept", "reject"]);
const WORDS: Record<string, string> = { approve: texts.approve, accept: texts.approve, reject: texts.reject };

/** The action that an agent asks approval for, with its exact arguments, and the answer of a person. */
export function Question({ wait }: { wait: Wait }) {
  const send = useSend("POST /api/questions/{question}/answer", { quiet: true });
  const [form, setForm] = useState<"edit" | "feedback" | null>(null);
  const { me } = useSession();
  const operates = useMay("operator");
  const sends = operates || me.role === "chat";
  const answer = (decision: Decision, more: { text?: string; arguments?: Record<string, unknown> } = {}) =>
    send.mutate({ path: { question: wait.id }, body: { decision, ...more } });
  const choices = wait.choices.length > 0 ? wait.choices : ["approve", "reject"];
  return (
    <section className={styles.question} aria-label={texts.question} data-wait={wait.id}>
      <p className={styles.questionHead}>
        <Status tone="warn">{texts.question}</Status>
        {wait.expiresAt !== null && <span className="muted">{texts.until(clock(wait.expiresAt))}</span>}
      </p>
      <p className={styles.prompt}>{reveal(wait.prompt)}</p>
      {send.error && <Failure error={send.error} />}
      {!wait.canAnswer && <p className="muted">{texts.approvers(reveal(wait.approvers.join(", ")))}</p>}
      {wait.canAnswer && sends && wait.form !== null && (
        <ServerForm
          form={wait.form}
          busy={send.isPending || send.isSuccess}
          onAccept={(values) => answer("accept", { arguments: values })}
          onRefuse={answer}
        />
      )}
      {wait.canAnswer && sends && wait.form === null && form === null && (
        <div className={styles.choices}>
          {choices.map((choice) => (
            <Button
              label={WORDS[choice] ?? reveal(choice)}
              key={choice}
              kind={choice === "reject" ? "danger" : choice === choices[0] ? "primary" : "plain"}
              busy={send.isPending || send.isSuccess}
              onClick={() => (KNOWN.has(choice) ? answer(choice as Decision) : answer("answer", { text: choice }))}
            />
          ))}
          {wait.risk !== null && <Button label={texts.edit} kind="quiet" onClick={() => setForm("edit")} />}
          {wait.risk !== null && <Button label={texts.feedback} kind="quiet" onClick={() => setForm("feedback")} />}
        </div>
      )}
      {form === "edit" && (
        <Edit
          of={wait}
          busy={send.isPending}
          onCancel={() => setForm(null)}
          onSend={(given) => answer("edit", { arguments: given })}
        />
      )}
      {form === "feedback" && (
        <Feedback
          busy={send.isPending}
          onCancel={() => setForm(null)}
          onSend={(text) => answer("feedback", { text })}
        />
      )}
    </section>
  );
}

type FormProps<Given> = { busy: boolean; onCancel: () => void; onSend: (given: Given) => void };

function Edit({ of: wait, busy, onCancel, onSend }: FormProps<Record<string, unknown>> & { of: Wait }) {
  const [text, setText] = useState(() => JSON.stringify(wait.arguments ?? {}, null, 2));
  const [wrong, setWrong] = useState(false);
  const send = () => {
    const given = objectOf(jsonOf(text));
    setWrong(given === null);
    if (given !== null) onSend(given);
  };
  return (
    <Form onSend={send} by={[{ isPending: busy }]} save={texts.approveEdited} onCancel={onCancel} label={texts.edit}>
      <Field label={texts.arguments} hint={texts.argumentsHint} error={wrong ? texts.notJson : null}>
        <textarea rows={6} spellCheck={false} value={text} onChange={(event) => setText(event.target.value)} />
      </Field>
    </Form>
  );
}

function Feedback({ busy, onCancel, onSend }: FormProps<string>) {
  const [text, setText] = useState("");
  return (
    <Form
      onSend={() => text.trim() !== "" && onSend(text.trim())}
      by={[{ isPending: busy }]}
      save={texts.sendFeedback}
      onCancel={onCancel}
      label={texts.feedback}
    >
      <Field label={texts.feedbackLabel}>
        <textarea rows={3} value={text} onChange={(event) => setText(event.target.value)} />
      </Field>
    </Form>
  );
}
