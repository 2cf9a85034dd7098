import { Plus } from "lucide-react";
import { useLocation, useRoute } from "wouter";
import { useApi, useList } from "../../api/hooks";
import { Button } from "../../parts/button";
import { NEW } from "../../parts/detail";
import { Chips, Page, Sheet, useFilter } from "../../parts/page";
import { Status, Time, type Tone, UntrustedText } from "../../parts/show";
import { Empty, Loaded } from "../../parts/states";
import { Table } from "../../parts/table";
import { type Project, ProjectForm, STATUSES } from "./ProjectForm";
import { texts } from "./texts";

const HOME = "/projects";
const TONES: Record<Project["status"], Tone> = { active: "accent", done: "good", paused: "plain" };

export default function ProjectsPage() {
  const [, navigate] = useLocation();
  const [, match] = useRoute("/projects/:project");
  const [status] = useFilter("status");
  const pages = useList("GET /api/projects", { status: (status || undefined) as Project["status"] | undefined });
  const add = (
    <Button kind="primary" icon={<Plus aria-hidden />} onClick={() => navigate(`${HOME}/${NEW}`)}>
      {texts.add}
    </Button>
  );
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={add}
      filters={<Chips label={texts.status} name="status" options={STATUSES} />}
      sheet={match && <Detail key={match.project} id={match.project} />}
    >
      <Table
        label={texts.title}
        pages={pages}
        idOf={(row) => row.id}
        openId={match?.project ?? null}
        onOpen={(row) => navigate(`${HOME}/${row.id}${location.search}`)}
        columns={[
          { name: texts.name, width: "2fr", show: (row) => <UntrustedText text={row.title} /> },
          { name: texts.agent, show: (row) => <UntrustedText text={row.agent ?? "–"} /> },
          {
            name: texts.status,
            width: "110px",
            show: (row) => <Status tone={TONES[row.status]}>{texts.statuses[row.status]}</Status>,
          },
          { name: texts.changed, width: "150px", show: (row) => <Time at={row.updatedAt} /> },
        ]}
        empty={
          <Empty title={texts.empty} action={add}>
            {texts.emptyWhy}
          </Empty>
        }
      />
    </Page>
  );
}

function Detail({ id }: { id: string }) {
  const [, navigate] = useLocation();
  const close = () => navigate(`${HOME}${location.search}`);
  const project = useApi("GET /api/projects/{project}", id === NEW ? null : { path: { project: id } });
  return (
    <Sheet title={id === NEW ? texts.add : (project.data?.title ?? texts.title)} onClose={close}>
      {id === NEW ? (
        <ProjectForm onSaved={(saved) => navigate(`${HOME}/${saved}`)} onRemoved={close} />
      ) : (
        <Loaded of={project}>
          {(known) => <ProjectForm key={known.updatedAt} known={known} onSaved={() => {}} onRemoved={close} />}
        </Loaded>
      )}
    </Sheet>
  );
}
