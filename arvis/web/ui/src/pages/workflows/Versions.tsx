import { Undo2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { useApi, useList, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Button } from "../../parts/button";
import { ChoiceField } from "../../parts/fields";
import { Section } from "../../parts/page";
import { Status, Time, UntrustedText } from "../../parts/show";
import { Empty, Loaded } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { useToast } from "../../parts/toast";
import { count, reveal, sentences } from "../../words/format";
import { nameOf } from "../../workflow/canvas/look";
import type { WorkflowNode } from "../../workflow/types";
import { type Change, compare } from "./compare";
import { Drawn } from "./Drawn";
import { Problems } from "./Overview";
import { texts } from "./texts";
import { addressOf, documentOf, troublesOf, type Version, type WorkflowDetail } from "./workflow";
import styles from "./workflows.module.css";

/** All versions, and the selected one. */
export function Versions({ workflow, open }: { workflow: WorkflowDetail; open: number | null }) {
  const [, navigate] = useLocation();
  const pages = useList("GET /api/workflows/{workflow}/versions", {}, { workflow: workflow.id });
  return (
    <div className={styles.versions}>
      <Table
        label={texts.tabs.versions}
        columns={columnsOf(workflow)}
        pages={pages}
        idOf={(one) => String(one.version)}
        openId={open === null ? null : String(open)}
        onOpen={(one) => navigate(addressOf(workflow.id, "versions", String(one.version)))}
        empty={<Empty title={texts.nothingRuns} />}
      />
      {open !== null && (
        <VersionView key={open} workflow={workflow} number={open} all={pages.rows.map((one) => one.version)} />
      )}
    </div>
  );
}

function columnsOf({ runnable }: WorkflowDetail): Column<Version>[] {
  return [
    { name: texts.version, width: "70px", show: (one) => count(one.version) },
    {
      name: texts.state,
      width: "150px",
      show: (one) => {
        if (one.version === runnable) return <Status tone="good">{texts.thisRuns}</Status>;
        if (one.problemCount > 0) return <Status tone="warn">{texts.draftWith(one.problemCount)}</Status>;
        return <span className="muted">{texts.whole}</span>;
      },
    },
    { name: texts.when, width: "120px", show: (one) => <Time at={one.at} /> },
    { name: texts.by, width: "minmax(90px, 1fr)", show: (one) => one.by ?? texts.configuration },
    { name: texts.note, width: "minmax(100px, 3fr)", show: (one) => one.note },
  ];
}

type Props = { workflow: WorkflowDetail; number: number; all: readonly number[] };

/** One version: its diagram, its differences to another version, and a button that restores it. */
function VersionView({ workflow, number, all }: Props) {
  const [, navigate] = useLocation();
  const operates = useMay("operator");
  const { tell } = useToast();
  const others = all.filter((one) => one !== number);
  const [chosen, setChosen] = useState<number | null>(null);
  const other = chosen ?? others.find((one) => one < number) ?? others.at(0) ?? null;
  const path = { workflow: workflow.id, version: String(number) };
  const found = useApi("GET /api/workflows/{workflow}/versions/{version}", { path });
  const restore = useSend("POST /api/workflows/{workflow}/versions/{version}/restore");
  const bringBack = () =>
    restore.mutate(
      { path },
      {
        onSuccess: (now) => {
          tell(texts.restored(count(now.version)));
          navigate(addressOf(workflow.id, "versions", String(now.version)));
        },
      },
    );
  const title = texts.sheetVersion(count(number), reveal(workflow.name));
  return (
    <Section
      title={title}
      actions={
        number === workflow.version ? (
          <span className="muted">{texts.sameVersion}</span>
        ) : (
          operates && <Button label={texts.restore} icon={Undo2} busy={restore.isPending} onClick={bringBack} />
        )
      }
    >
      <Loaded of={found}>
        {(known) => (
          <>
            {known.problems.length > 0 && <Problems of={known.problems} />}
            <Drawn document={documentOf(known)} label={title} troubles={troublesOf(known.problems)} />
            <div className={styles.compare}>
              <ChoiceField
                label={texts.compare}
                value={other === null ? "" : String(other)}
                disabled={other === null}
                options={
                  other === null
                    ? [["", texts.noOther]]
                    : others.map((one) => [String(one), texts.versionOf(count(one))] as const)
                }
                onChange={(value) => setChosen(Number(value))}
              />
              {other !== null && <Differences workflow={workflow.id} from={other} to={known} />}
            </div>
          </>
        )}
      </Loaded>
    </Section>
  );
}

type DifferencesProps = { workflow: string; from: number; to: { document: Record<string, unknown> } };

function Differences({ workflow, from, to }: DifferencesProps) {
  const path = { workflow, version: String(from) };
  const before = useApi("GET /api/workflows/{workflow}/versions/{version}", { path });
  return (
    <Loaded of={before}>
      {(known) => <Reported change={compare(documentOf(known), documentOf(to))} from={known.version} />}
    </Loaded>
  );
}

function Reported({ change, from }: { change: Change; from: number }) {
  const { nodes, connections, settings } = change;
  const some = nodes.added.length + nodes.removed.length + nodes.changed.length > 0;
  if (!some && connections.added + connections.removed === 0 && !settings)
    return <p>{nodes.moved > 0 ? texts.onlyMoved : texts.same}</p>;
  return (
    <>
      <h3>{texts.since(count(from))}</h3>
      <ul className={styles.plainList}>
        {nodes.added.length + connections.added > 0 && (
          <Line words={texts.added(nodes.added.length, connections.added)} of={nodes.added} />
        )}
        {nodes.removed.length + connections.removed > 0 && (
          <Line words={texts.taken(nodes.removed.length, connections.removed)} of={nodes.removed} />
        )}
        {nodes.changed.length > 0 && <Line words={texts.altered(nodes.changed.length)} of={nodes.changed} />}
        {settings && <li>{sentences(texts.settingsDiffer)}</li>}
      </ul>
    </>
  );
}

function Line({ words, of }: { words: string; of: readonly WorkflowNode[] }) {
  return (
    <li>
      {words}
      {of.length > 0 && (
        <p className="muted">
          <UntrustedText text={of.map(nameOf).join(", ")} />
        </p>
      )}
    </li>
  );
}
