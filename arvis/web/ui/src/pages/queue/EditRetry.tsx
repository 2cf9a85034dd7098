import { useState } from "react";
import { useSend } from "../../api/hooks";
import { TextArea } from "../../parts/fields";
import { Form } from "../../parts/form";
import { texts } from "./texts";

type Props = { job: string; content: string; onCancel: () => void; onDone: (job: string) => void };

/** Edit the text of an unanswered message and retry it; `onDone` gets the id of the new job. */
export function EditRetry({ job, content, onCancel, onDone }: Props) {
  const [written, setWritten] = useState(content);
  const send = useSend("POST /api/jobs/{job}/retry", { quiet: true, done: texts.askedAnew });
  const askAnew = () =>
    send.mutate({ path: { job }, body: { content: written } }, { onSuccess: (made) => onDone(made.id) });
  return (
    <Form
      label={texts.edit}
      onSend={askAnew}
      by={[send]}
      save={texts.send}
      disabled={written.trim() === ""}
      onCancel={onCancel}
    >
      <TextArea
        label={texts.newWords}
        hint={texts.newWordsHint}
        value={written}
        onChange={setWritten}
        rows={6}
        autoFocus
      />
    </Form>
  );
}
