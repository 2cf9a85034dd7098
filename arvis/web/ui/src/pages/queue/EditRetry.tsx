import { useState } from "react";
import { useSend } from "../../api/hooks";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";
import { Form, FormButtons } from "../../parts/form";
import { Failure } from "../../parts/states";
import { texts as common } from "../../parts/texts";
import { texts } from "./texts";

/** Edit the text of an unanswered message and retry it; `onDone` gets the id of the new job. */
export function EditRetry({
  job,
  content,
  onCancel,
  onDone,
}: {
  job: string;
  content: string;
  onCancel: () => void;
  onDone: (job: string) => void;
}) {
  const [written, setWritten] = useState(content);
  const send = useSend("POST /api/jobs/{job}/retry", { quiet: true, done: texts.askedAnew });
  const askAnew = () =>
    send.mutate({ path: { job }, body: { content: written } }, { onSuccess: (made) => onDone(made.id) });
  return (
    <Form label={texts.edit} onSend={askAnew}>
      <Field label={texts.newWords} hint={texts.newWordsHint}>
        {/* biome-ignore lint/a11y/noAutofocus: it opens at a press of "Edit and retry" */}
        <textarea value={written} rows={6} autoFocus onChange={(event) => setWritten(event.target.value)} />
      </Field>
      {send.error && <Failure error={send.error} />}
      <FormButtons>
        <Button type="submit" kind="primary" busy={send.isPending} disabled={written.trim() === ""}>
          {texts.send}
        </Button>
        <Button onClick={onCancel}>{common.cancel}</Button>
      </FormButtons>
    </Form>
  );
}
