import { Check, MessageSquareReply, Pencil, X } from "lucide-react";
import { useState } from "react";
import { useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Body } from "../../api/types";
import { Button } from "../../parts/button";
import { useKey } from "../../parts/keys";
import { Failure } from "../../parts/states";
import { reveal } from "../../words/format";
import { DecisionForm, type Words } from "./DecisionForm";
import styles from "./questions.module.css";
import { texts } from "./texts";
import { isTool, type Wait } from "./wait";

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
  const approve = () => answer({ decision: "approve" });
  useKey("a", keys && approval && wait.canAnswer && words === null && !send.isPending ? approve : null);
  if (wait.answeredAt !== null) return null;
  if (!wait.canAnswer)
    return mayRead ? <p className="muted">{texts.mayNot(wait.approvers.map(reveal).join(", "))}</p> : null;
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
