import { Check, MessageSquareReply, Pencil, X } from "lucide-react";
import { useState } from "react";
import { useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Body } from "../../api/types";
import { Button } from "../../parts/button";
import { TextArea } from "../../parts/fields";
import { Form, FormButtons } from "../../parts/form";
import { useKey } from "../../parts/keys";
import { ServerForm } from "../../parts/serverForm";
import { Failure } from "../../parts/states";
import { texts as common } from "../../parts/texts";
import { reveal } from "../../words/format";
import styles from "./questions.module.css";
import { texts } from "./texts";
import { argumentsOf, isTool, type Wait } from "./wait";

const CONFLICT = 409;

/** The answers that a question accepts. `keys`: it is the open detail, where `a` approves. */
export function Decide({ wait, keys = false, onAnswered }: { wait: Wait; keys?: boolean; onAnswered?: () => void }) {
  const [words, setWords] = useState<Words | null>(null);
  const send = useSend("POST /api/questions/{question}/answer", { quiet: true, done: texts.done });
  const mayRead = useMay("viewer");
  const answer = (body: Body<"POST /api/questions/{question}/answer">) =>
    send.mutate(
      { path: { question: wait.id }, body },
      // Another person answered first: the detail names them. This is not a failure.
      { onError: (error) => error.status === CONFLICT && onAnswered?.() },
    );
  const approval = wait.kind === "approval";
  const { form } = wait;
  const approve = () => answer({ decision: "approve" });
  useKey("a", keys && approval && wait.canAnswer && words === null && !send.isPending ? approve : null);
  if (wait.answeredAt !== null) return null;
  if (!wait.canAnswer)
    return mayRead ? <p className="muted">{texts.mayNot(wait.approvers.map(reveal).join(", "))}</p> : null;
  if (form !== null)
    return (
      <div className={styles.decide}>
        <ServerForm
          form={form}
          busy={send.isPending}
          onAccept={(values) => answer({ decision: "accept", arguments: values })}
          onRefuse={(decision) => answer({ decision })}
        />
        {send.error && send.error.status !== CONFLICT && <Failure error={send.error} />}
      </div>
    );
  return (
    <div className={styles.decide}>
      {words === null && (
        <div className={styles.buttons}>
          {approval && (
            <>
              <Button
                label={texts.approve}
                kind="primary"
                icon={Check}
                aria-keyshortcuts={keys ? "a" : undefined}
                busy={send.isPending}
                onClick={approve}
              />
              {wait.workflowId !== null && (
                <Button label={texts.approveNoted} icon={MessageSquareReply} onClick={() => setWords("approve")} />
              )}
              <Button label={texts.reject} icon={X} onClick={() => setWords("reject")} />
            </>
          )}
          {isTool(wait) && (
            <>
              <Button label={texts.edit} icon={Pencil} onClick={() => setWords("edit")} />
              <Button label={texts.feedback} icon={MessageSquareReply} onClick={() => setWords("feedback")} />
            </>
          )}
          {!approval &&
            wait.choices.map((choice) => (
              <Button
                label={reveal(choice)}
                key={choice}
                busy={send.isPending}
                onClick={() => answer({ decision: "answer", text: choice })}
              />
            ))}
        </div>
      )}
      {!approval && wait.choices.length === 0 && (
        <DecisionForm words="answer" wait={wait} busy={send.isPending} onSend={answer} />
      )}
      {words !== null && (
        <DecisionForm words={words} wait={wait} busy={send.isPending} onSend={answer} onCancel={() => setWords(null)} />
      )}
      {send.error && send.error.status !== CONFLICT && <Failure error={send.error} />}
    </div>
  );
}

type Words = "approve" | "reject" | "edit" | "feedback" | "answer";

type Props = {
  words: Words;
  wait: Wait;
  busy: boolean;
  onSend: (body: Body<"POST /api/questions/{question}/answer">) => void;
  onCancel?: () => void;
};

/** An answer with text: a note, changed arguments, other instructions, or an answer. */
function DecisionForm({ words, wait, busy, onSend, onCancel }: Props) {
  const [text, setText] = useState(words === "edit" ? JSON.stringify(wait.arguments ?? {}, null, 2) : "");
  const checked = words === "edit" ? argumentsOf(text) : null;
  const problem = checked !== null && "problem" in checked ? checked.problem : null;
  const mayBeEmpty = words === "reject" || words === "approve";
  const send = () => {
    if (mayBeEmpty) onSend({ decision: words as "approve" | "reject", ...(text.trim() === "" ? {} : { note: text }) });
    else if (checked === null) onSend({ decision: words as "feedback" | "answer", text });
    else if ("value" in checked) onSend({ decision: "edit", arguments: checked.value });
  };
  const empty = text.trim() === "" && !mayBeEmpty;
  return (
    <Form label={texts.send[words]} onSend={send}>
      <TextArea
        label={LABELS[words]}
        hint={mayBeEmpty ? texts.noteHint : undefined}
        error={problem}
        value={text}
        rows={words === "edit" ? 8 : 3}
        spellCheck={words !== "edit"}
        autoFocus={words !== "answer"}
        onChange={setText}
      />
      <FormButtons>
        <Button
          label={texts.send[words]}
          type="submit"
          kind={words === "reject" ? "danger" : "primary"}
          busy={busy}
          disabled={empty || problem !== null}
        />
        {onCancel && <Button label={common.cancel} onClick={onCancel} />}
      </FormButtons>
    </Form>
  );
}

const LABELS: Record<Words, string> = {
  approve: texts.noteYes,
  reject: texts.note,
  edit: texts.newArguments,
  feedback: texts.feedbackText,
  answer: texts.answerText,
};
