import { useApi, useList, useSend } from "../../api/hooks";
import type { Item } from "../../api/types";
import { sends } from "../../parts/actions";
import { Button } from "../../parts/button";
import { ChoiceField, TextArea, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { Chips, useFilter } from "../../parts/page";
import { AgentField } from "../../parts/place";
import { NEW, type Opening, ResourcePage, ResourceSheet } from "../../parts/resource";
import { Status, Time, type Tone } from "../../parts/show";
import type { Column } from "../../parts/table";
import { texts as common } from "../../parts/texts";
import { useToast } from "../../parts/toast";
import { reveal } from "../../words/format";
import { texts } from "./texts";

type Project = Item<"GET /api/projects">;

const STATUSES = Object.entries(texts.statuses) as [Project["status"], string][];

type Props = { known?: Project; onSaved: (id: string) => void; onRemoved: () => void };

/** Create a project, or change a `known` one. */
function ProjectForm({ known, onSaved, onRemoved }: Props) {
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
            <Button label={common.undo} {...sends(undo, { path: { project: known.id } })} />
            <Button label={common.delete} kind="danger" busy={remove.isPending} onClick={() => drop(known.id)} />
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

const TONES: Record<Project["status"], Tone> = { active: "accent", done: "good", paused: "plain" };
const COLUMNS: Column<Project>[] = [
  { name: texts.name, width: "2fr", show: (row) => row.title },
  { name: texts.agent, show: (row) => row.agent ?? "–" },
  {
    name: texts.status,
    width: "110px",
    show: (row) => <Status tone={TONES[row.status]}>{texts.statuses[row.status]}</Status>,
  },
  { name: texts.changed, width: "150px", show: (row) => <Time at={row.updatedAt} /> },
];

/** Goals that agents work on by themselves. */
export default function ProjectsPage() {
  const [status] = useFilter("status");
  return (
    <ResourcePage
      home="/projects"
      texts={texts}
      pages={useList("GET /api/projects", { status: status as Project["status"] })}
      columns={COLUMNS}
      idOf={(row) => row.id}
      mayAdd
      filters={<Chips label={texts.status} name="status" options={STATUSES} />}
      sheet={(id, opening) => <ProjectSheet id={id} {...opening} />}
    />
  );
}

/** A project is always shown as its form. */
function ProjectSheet({ id, onOpen, onClose }: { id: string } & Opening) {
  return (
    <ResourceSheet
      id={id}
      of={useApi("GET /api/projects/{project}", id === NEW ? null : { path: { project: id } })}
      texts={texts}
      title={(project) => reveal(project.title)}
      onClose={onClose}
      form={() => <ProjectForm onSaved={onOpen} onRemoved={onClose} />}
    >
      {(known) => <ProjectForm key={known.updatedAt} known={known} onSaved={() => {}} onRemoved={onClose} />}
    </ResourceSheet>
  );
}
