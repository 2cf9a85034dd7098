import { useApi, useList } from "../../api/hooks";
import { NEW } from "../../parts/detail";
import { Chips, useFilter } from "../../parts/page";
import { type Opening, ResourcePage, ResourceSheet } from "../../parts/resource";
import { Status, Time, type Tone, UntrustedText } from "../../parts/show";
import type { Column } from "../../parts/table";
import { reveal } from "../../words/format";
import { type Project, ProjectForm, STATUSES } from "./ProjectForm";
import { texts } from "./texts";

const TONES: Record<Project["status"], Tone> = { active: "accent", done: "good", paused: "plain" };
const COLUMNS: Column<Project>[] = [
  { name: texts.name, width: "2fr", show: (row) => <UntrustedText text={row.title} /> },
  { name: texts.agent, show: (row) => <UntrustedText text={row.agent ?? "–"} /> },
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
