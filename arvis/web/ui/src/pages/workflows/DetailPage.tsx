import { Pencil, Play } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useApi } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Button, ButtonLink } from "../../parts/button";
import { Page, useFilter } from "../../parts/page";
import { Empty, Loaded } from "../../parts/states";
import { Tabs } from "../../parts/tabs";
import { reveal } from "../../words/format";
import { CallPart } from "./CallPart";
import { Back } from "./Gallery";
import { Enabled } from "./List";
import { Overview } from "./Overview";
import { More } from "./RowActions";
import { RunDialog } from "./RunDialog";
import { RunsPart } from "./RunsPart";
import { texts } from "./texts";
import { Versions } from "./Versions";
import { addressOf, HOME, type WorkflowDetail } from "./workflow";
import styles from "./workflows.module.css";

const NOT_FOUND = 404;
const PARTS: Record<string, (workflow: WorkflowDetail, version: number | null) => ReactNode> = {
  "": (workflow) => <Overview workflow={workflow} />,
  runs: (workflow) => <RunsPart workflow={workflow} />,
  versions: (workflow, version) => <Versions workflow={workflow} open={version} />,
  call: (workflow) => <CallPart workflow={workflow} />,
};

/** One workflow: overview, runs, versions, and the ways to start it. */
export function DetailPage({ id, tab, version = null }: { id: string; tab: string; version?: number | null }) {
  const workflow = useApi("GET /api/workflows/{workflow}", { path: { workflow: id } });
  const found = workflow.data;
  const part = PARTS[tab];
  if (workflow.error?.status === NOT_FOUND || part === undefined) return <Gone />;
  return (
    <Page
      title={found === undefined ? texts.title : reveal(found.name)}
      about={found && reveal(found.description || texts.noDescription)}
      actions={found && <Actions workflow={found} />}
    >
      <Tabs
        label={texts.parts}
        current={tab === "" ? addressOf(id) : addressOf(id, tab)}
        tabs={[
          [addressOf(id), texts.tabs.overview],
          [addressOf(id, "runs"), texts.tabs.runs],
          [addressOf(id, "versions"), texts.tabs.versions],
          [addressOf(id, "call"), texts.tabs.call],
        ]}
      />
      <Loaded of={workflow}>{(known) => part(known, version)}</Loaded>
    </Page>
  );
}

export function Gone() {
  return (
    <Page title={texts.title}>
      <Empty why={texts.goneWhy} title={texts.gone} action={<ButtonLink label={texts.all} href={HOME} />} />
    </Page>
  );
}

function Actions({ workflow }: { workflow: WorkflowDetail }) {
  const operates = useMay("operator");
  const [asked, setAsked] = useFilter("run");
  const [open, setOpen] = useState(asked !== "");
  const close = () => {
    setOpen(false);
    setAsked("");
  };
  return (
    <>
      <Back />
      <More of={workflow} />
      {operates && (
        <>
          <span className={styles.enabled}>
            <Enabled of={workflow} />
            <span aria-hidden>{workflow.enabled ? texts.on : texts.off}</span>
          </span>
          <ButtonLink label={texts.edit} href={addressOf(workflow.id, "edit")} icon={Pencil} />
          <Button label={texts.run} kind="primary" icon={Play} onClick={() => setOpen(true)} />
          {open && <RunDialog workflow={workflow} onClose={close} />}
        </>
      )}
    </>
  );
}
