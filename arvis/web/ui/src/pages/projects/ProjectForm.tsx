import { useSend } from "../../api/hooks";
import type { Item } from "../../api/types";
import { Button } from "../../parts/button";
import { ChoiceField, TextArea, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { AgentField } from "../../parts/place";
import { texts as common } from "../../parts/texts";
import { useToast } from "../../parts/toast";
import { texts } from "./texts";

export type Project = Item<"GET /api/projects">;

export const STATUSES = Object.entries(texts.statuses) as [Project["status"], string][];

type Props = { known?: Project; onSaved: (id: string) => void; onRemoved: () => void };

/** Create a project, or change a `known` one. */
export function ProjectForm({ known, onSaved, onRemoved }: Props) {
  const { draft, of } = useDraft({
    title: known?.title ?? "",
    goal: known?.goal ?? "",
    notes: known?.notes ?? "",
    agent: known?.agent ?? "",
    status: known?.status ?? ("active" as Project["status"]),
  });
  const { tell } = useToast();
  const make = useSend("POST /api/projects", { quiet: true, done: texts.made });
  const change = useSend("PATCH /api/projects/{project}", { quiet: true, done: common.saved });
  const remove = useSend("DELETE /api/projects/{project}");
  const undo = useSend("POST /api/projects/{project}/undo", { done: common.undone });
  const body = { ...draft, agent: draft.agent || null };
  const send = () => {
    if (known === undefined) make.mutate({ body }, { onSuccess: (made) => onSaved(made.id) });
    else change.mutate({ path: { project: known.id }, body }, { onSuccess: () => onSaved(known.id) });
  };
  const drop = (project: string) => {
    const back = { words: common.undo, act: () => undo.mutate({ path: { project } }) };
    const removed = () => {
      tell(texts.removed, back);
      onRemoved();
    };
    remove.mutate({ path: { project } }, { onSuccess: removed });
  };
  return (
    <Form
      onSend={send}
      by={[make, change]}
      buttons={
        known && (
          <>
            <Button
              label={common.undo}
              busy={undo.isPending}
              onClick={() => undo.mutate({ path: { project: known.id } })}
            />
            <Button label={common.remove} kind="danger" busy={remove.isPending} onClick={() => drop(known.id)} />
          </>
        )
      }
    >
      <TextField label={texts.name} required {...of("title")} />
      <TextArea label={texts.goal} hint={texts.goalHint} {...of("goal")} />
      <AgentField label={texts.agent} hint={texts.agentHint} none={texts.anybody} {...of("agent")} />
      <ChoiceField label={texts.status} options={STATUSES} {...of("status")} />
      <TextArea label={texts.notes} hint={texts.notesHint} rows={8} {...of("notes")} />
    </Form>
  );
}
