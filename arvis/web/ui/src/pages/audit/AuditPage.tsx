import { useList } from "../../api/hooks";
import type { Item } from "../../api/types";
import { Chips, Sheet, useFilter } from "../../parts/page";
import { ResourcePage } from "../../parts/resource";
import { Code, Facts, linkTo, Status, Time, type Tone } from "../../parts/show";
import type { Column } from "../../parts/table";
import { texts } from "./texts";

type Entry = Item<"GET /api/audit">;

const TONES: Record<Entry["outcome"], Tone> = { done: "good", asked: "warn", refused: "plain", failed: "trouble" };
const OUTCOMES = Object.entries(texts.outcomes) as [Entry["outcome"], string][];

const COLUMNS: Column<Entry>[] = [
  { name: texts.at, width: "150px", show: (row) => <Time at={row.at} /> },
  { name: texts.agent, width: "140px", show: (row) => row.agent },
  { name: texts.what, show: (row) => row.kind.replaceAll("_", " ") },
  { name: texts.subject, width: "2fr", show: (row) => row.subject },
  { name: texts.outcome, width: "110px", show: (row) => <Outcome of={row} /> },
];

function Outcome({ of: { outcome } }: { of: Entry }) {
  return <Status tone={TONES[outcome]}>{texts.outcomes[outcome]}</Status>;
}

/** Decisions of the gate about actions. */
export default function AuditPage() {
  const [outcome] = useFilter("outcome");
  const pages = useList("GET /api/audit", { outcome: outcome as Entry["outcome"] });
  return (
    <ResourcePage
      home="/settings/audit"
      texts={texts}
      pages={pages}
      columns={COLUMNS}
      idOf={(row) => row.id}
      filters={<Chips label={texts.outcome} name="outcome" options={OUTCOMES} />}
      sheet={(id, { onClose }) => {
        const entry = pages.rows.find((row) => row.id === id);
        return entry && <Detail entry={entry} onClose={onClose} />;
      }}
    />
  );
}

function Detail({ entry, onClose }: { entry: Entry; onClose: () => void }) {
  return (
    <Sheet title={entry.kind.replaceAll("_", " ")} onClose={onClose}>
      <Facts
        of={[
          [texts.outcome, <Outcome key="outcome" of={entry} />],
          [texts.reason, entry.reason],
          [texts.at, <Time key="at" at={entry.at} />],
          [texts.agent, entry.agent],
          [texts.subject, entry.subject],
          [texts.taint, entry.taint.join(", ")],
          [texts.message, linkTo("/messages", entry.messageId)],
          [texts.run, linkTo("/executions", entry.executionId)],
        ]}
      />
      <Code value={entry.fields} label={texts.fields} />
    </Sheet>
  );
}
