import { useState } from "react";
import { useLocation } from "wouter";
import { useApi, useSend } from "../../api/hooks";
import { ButtonLink } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { ChoiceField, TextArea } from "../../parts/fields";
import { Form, FormButtons } from "../../parts/form";
import { Loaded } from "../../parts/states";
import { count, reveal } from "../../words/format";
import { jsonOf } from "../../words/json";
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
    <Form onSend={send} by={[begin]} save={texts.begin}>
      {known.runnable !== known.version && <p className="muted">{texts.draftNote(count(known.runnable))}</p>}
      <TextArea
        label={texts.input}
        hint={read.broken ? texts.notJson : texts.inputHint}
        rows={5}
        autoFocus
        value={input}
        onChange={setInput}
      />
      {options.length > 1 && (
        <ChoiceField label={texts.entry} value={entry || (first?.id ?? "")} options={options} onChange={setEntry} />
      )}
    </Form>
  );
}

/** The typed input: nothing, JSON if it is valid JSON, else text. */
function readInput(written: string): { value: unknown; broken: boolean } {
  const text = written.trim();
  if (text === "") return { value: undefined, broken: false };
  if (!/^[[{]/u.test(text)) return { value: written, broken: false };
  const value = jsonOf(text);
  return { value: value ?? written, broken: value === undefined };
}
