import { useState } from "react";
import { useLocation } from "wouter";
import { useSend } from "../../api/hooks";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";
import { TextArea, TextField } from "../../parts/fields";
import { Form, FormButtons } from "../../parts/form";
import { Page } from "../../parts/page";
import { Failure } from "../../parts/states";
import { MOST_BYTES } from "../../workflow/kinds";
import { Back } from "./Gallery";
import { Problems } from "./Overview";
import { texts } from "./texts";
import { addressOf, problemsOf } from "./workflow";
import styles from "./workflows.module.css";

const REFUSED = 422;

/** Create a workflow from a file or pasted text. */
export function ImportPage() {
  const [, navigate] = useLocation();
  const [text, setText] = useState("");
  const [name, setName] = useState("");
  const [tooLarge, setTooLarge] = useState(false);
  const bring = useSend("POST /api/workflows/import", { quiet: true, done: texts.importing.done });
  const says = texts.importing;
  const send = (draft: boolean) =>
    bring.mutate(
      { body: { text, draft, enabled: false, ...(name.trim() === "" ? {} : { name: name.trim() }) } },
      { onSuccess: (made) => navigate(addressOf(made.id)) },
    );
  const take = async (file: File | undefined) => {
    if (file === undefined) return;
    setTooLarge(file.size > MOST_BYTES);
    if (file.size <= MOST_BYTES) setText(await file.text());
  };
  const problems = problemsOf(bring.error);
  return (
    <Page title={says.title} about={says.about} actions={<Back />}>
      <div className={styles.narrow}>
        <Form onSend={() => send(false)} label={says.title}>
          {bring.error && problems.length === 0 && <Failure error={bring.error} />}
          {problems.length > 0 && <Problems of={problems} />}
          {bring.error?.status === REFUSED && problems.length > 0 && (
            <div className={styles.anyway}>
              <p className="muted">{says.anywayWhy}</p>
              <Button label={says.anyway} busy={bring.isPending} onClick={() => send(true)} />
            </div>
          )}
          <Field label={says.file} hint={says.fileHint} error={tooLarge ? says.tooLarge : null}>
            <input
              type="file"
              accept=".json,.yaml,.yml,application/json,application/yaml"
              onChange={(event) => void take(event.target.files?.[0])}
            />
          </Field>
          <TextArea
            label={says.text}
            rows={14}
            required
            spellCheck={false}
            className={styles.source}
            value={text}
            onChange={setText}
          />
          <TextField label={says.name} hint={says.nameHint} value={name} onChange={setName} />
          <FormButtons>
            <Button
              label={says.check}
              type="submit"
              kind="primary"
              busy={bring.isPending}
              disabled={text.trim() === ""}
            />
          </FormButtons>
        </Form>
      </div>
    </Page>
  );
}
