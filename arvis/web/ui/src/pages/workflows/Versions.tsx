import { useLocation } from "wouter";
import { useList } from "../../api/hooks";
import { Status, Time, UntrustedText } from "../../parts/show";
import { Empty } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { count } from "../../words/format";
import { texts } from "./texts";
import { VersionView } from "./VersionView";
import { addressOf, type Version, type WorkflowDetail } from "./workflow";
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
    {
      name: texts.by,
      width: "minmax(90px, 1fr)",
      show: (one) => <UntrustedText text={one.by ?? texts.configuration} />,
    },
    { name: texts.note, width: "minmax(100px, 3fr)", show: (one) => <UntrustedText text={one.note} /> },
  ];
}
