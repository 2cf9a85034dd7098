import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import type { Item } from "../../api/types";
import { Button } from "../../parts/button";
import { Choice, Field } from "../../parts/field";
import { Form, FormButtons } from "../../parts/form";
import { Failure } from "../../parts/states";
import { useToast } from "../../parts/toast";
import { texts } from "./texts";

export type Project = Item<"GET /api/projects">;

export const STATUSES = Object.entries(texts.statuses) as [Project["status"], string][];

/** Create a project, or change a `known` one. */
export function ProjectForm({
  known,
  onSaved,
  onRemoved,
}: {
  known?: Project;
  onSaved: (id: string) => void;
  onRemoved: () => void;
}) {
  const agents = useApi("GET /api/agents", {});
  const [title, setTitle] = useState(known?.title ?? "");
  const [goal, setGoal] = useState(known?.goal ?? "");
  const [notes, setNotes] = useState(known?.notes ?? "");
  const [agent, setAgent] = useState(known?.agent ?? "");
  const [status, setStatus] = useState<Project["status"]>(known?.status ?? "active");
  const { tell } = useToast();
  const make = useSend("POST /api/projects", { quiet: true, done: texts.made });
  const change = useSend("PATCH /api/projects/{project}", { quiet: true, done: texts.saved });
  const remove = useSend("DELETE /api/projects/{project}");
  const undo = useSend("POST /api/projects/{project}/undo", { done: texts.undone });
  const body = { title, goal, notes, agent: agent || null, status };
  const error = make.error ?? change.error;
  const send = () => {
    if (known === undefined) make.mutate({ body }, { onSuccess: (made) => onSaved(made.id) });
    else change.mutate({ path: { project: known.id }, body }, { onSuccess: () => onSaved(known.id) });
  };
  const drop = (project: string) =>
    remove.mutate(
      { path: { project } },
      {
        onSuccess: () => {
          tell(texts.removed, { words: texts.undo, act: () => undo.mutate({ path: { project } }) });
          onRemoved();
        },
      },
    );
  return (
    <Form onSend={send}>
      {error && <Failure error={error} />}
      <Field label={texts.name}>
        <input value={title} required onChange={(event) => setTitle(event.target.value)} />
      </Field>
      <Field label={texts.goal} hint={texts.goalHint}>
        <textarea value={goal} onChange={(event) => setGoal(event.target.value)} />
      </Field>
      <Field label={texts.agent} hint={texts.agentHint}>
        <Choice
          value={agent}
          onChange={setAgent}
          options={[["", texts.anybody], ...(agents.data?.items ?? []).map((one) => [one.slug, one.name] as const)]}
        />
      </Field>
      <Field label={texts.status}>
        <Choice value={status} onChange={setStatus} options={STATUSES} />
      </Field>
      <Field label={texts.notes} hint={texts.notesHint}>
        <textarea value={notes} rows={8} onChange={(event) => setNotes(event.target.value)} />
      </Field>
      <FormButtons>
        <Button type="submit" kind="primary" busy={make.isPending || change.isPending}>
          {texts.save}
        </Button>
        {known && (
          <>
            <Button busy={undo.isPending} onClick={() => undo.mutate({ path: { project: known.id } })}>
              {texts.undo}
            </Button>
            <Button kind="danger" busy={remove.isPending} onClick={() => drop(known.id)}>
              {texts.remove}
            </Button>
          </>
        )}
      </FormButtons>
    </Form>
  );
}
