import { useState } from "react";
import type { Body } from "../../api/types";
import { Button } from "../../parts/button";
import { TextArea } from "../../parts/fields";
import { Form, FormButtons } from "../../parts/form";
import { texts as common } from "../../parts/texts";
import { texts } from "./texts";
import { argumentsOf, type Wait } from "./wait";

export type Words = "approve" | "reject" | "edit" | "feedback" | "answer";

type Props = {
  words: Words;
  wait: Wait;
  busy: boolean;
  onSend: (body: Body<"POST /api/questions/{question}/answer">) => void;
  onCancel?: () => void;
};

/** An answer with text: a note, changed arguments, other instructions, or an answer. */
export function DecisionForm({ words, wait, busy, onSend, onCancel }: Props) {
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
