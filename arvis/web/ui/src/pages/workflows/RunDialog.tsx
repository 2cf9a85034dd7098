import { useState } from "react";
import { useLocation } from "wouter";
import { useApi, useSend } from "../../api/hooks";
import { Button, ButtonLink } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { Choice, Field } from "../../parts/field";
import { Form, FormButtons } from "../../parts/form";
import { Failure, Loaded } from "../../parts/states";
import { count, reveal } from "../../words/format";
import { nameOf } from "../../workflow/canvas/look";
import { texts } from "./texts";
import { addressOf, documentOf, entriesOf, type Workflow, type WorkflowDetail } from "./workflow";

/** Start a run by hand: its input and start step. */
export function RunDialog({ workflow, onClose }: { workflow: Pick<Workflow, "id" | "name">; onClose: () => void }) {
  const found = useApi("GET /api/workflows/{workflow}", { path: { workflow: workflow.id } });
  return (
    <Dialog title={texts.runTitle(reveal(workflow.name))} onClose={onClose}>
      <Loaded of={found}>{(known) => <RunForm of={known} />}</Loaded>
    </Dialog>
  );
}

function RunForm({ of: known }: { of: WorkflowDetail }) {
  const [, navigate] = useLocation();
  const entries = entriesOf(documentOf(known));
  const [input, setInput] = useState("");
  const [entry, setEntry] = useState("");
  const begin = useSend("POST /api/workflows/{workflow}/runs", { quiet: true });
  if (known.runnable === null) {
    return (
      <>
        <p>{texts.cannotRun}</p>
        <FormButtons>
          <ButtonLink label={texts.edit} kind="primary" href={addressOf(known.id, "edit")} />
        </FormButtons>
      </>
    );
  }
  const read = readInput(input);
  const send = () => {
    const body = { ...(read.value === undefined ? {} : { input: read.value }), ...(entry === "" ? {} : { entry }) };
    begin.mutate(
      { path: { workflow: known.id }, body },
      { onSuccess: (run) => navigate(addressOf(known.id, "runs", run.id)) },
    );
  };
  const options = entries.map((node) => [node.id, reveal(nameOf(node))] as const);
  const first = entries.find((node) => node.type === "start") ?? entries[0];
  return (
    <Form onSend={send}>
      {begin.error && <Failure error={begin.error} />}
      {known.runnable !== known.version && <p className="muted">{texts.draftNote(count(known.runnable))}</p>}
      <Field label={texts.input} hint={read.broken ? texts.notJson : texts.inputHint}>
        {/* biome-ignore lint/a11y/noAutofocus: it opens at a press of a button that asks for the input */}
        <textarea value={input} rows={5} autoFocus onChange={(event) => setInput(event.target.value)} />
      </Field>
      {options.length > 1 && (
        <Field label={texts.entry}>
          <Choice value={entry || (first?.id ?? "")} options={options} onChange={setEntry} />
        </Field>
      )}
      <FormButtons>
        <Button label={texts.begin} type="submit" kind="primary" busy={begin.isPending} />
      </FormButtons>
    </Form>
  );
}

/** The typed input: nothing, JSON if it is valid JSON, else text. */
export function readInput(written: string): { value: unknown; broken: boolean } {
  const text = written.trim();
  if (text === "") return { value: undefined, broken: false };
  if (!/^[[{]/u.test(text)) return { value: written, broken: false };
  try {
    return { value: JSON.parse(text) as unknown, broken: false };
  } catch {
    return { value: written, broken: true };
  }
}
