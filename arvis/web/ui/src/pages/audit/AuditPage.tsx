import { Link, useLocation, useRoute } from "wouter";
import { useList } from "../../api/hooks";
import type { Item } from "../../api/types";
import { Chips, Page, Sheet, useFilter } from "../../parts/page";
import { Code, Facts, Status, Time, type Tone, UntrustedText } from "../../parts/show";
import { Empty } from "../../parts/states";
import { Table } from "../../parts/table";
import { texts } from "./texts";

type Entry = Item<"GET /api/audit">;

const HOME = "/settings/audit";
const TONES: Record<Entry["outcome"], Tone> = { done: "good", asked: "warn", refused: "plain", failed: "trouble" };
const OUTCOMES = Object.entries(texts.outcomes) as [Entry["outcome"], string][];

export default function AuditPage() {
  const [, navigate] = useLocation();
  const [, match] = useRoute("/settings/audit/:entry");
  const [outcome] = useFilter("outcome");
  const pages = useList("GET /api/audit", { outcome: (outcome || undefined) as Entry["outcome"] | undefined });
  const open = pages.rows.find((row) => row.id === match?.entry);
  return (
    <Page
      title={texts.title}
      about={texts.about}
      filters={<Chips label={texts.outcome} name="outcome" options={OUTCOMES} />}
      sheet={open && <Detail entry={open} />}
    >
      <Table
        label={texts.title}
        pages={pages}
        idOf={(row) => row.id}
        openId={open?.id}
        onOpen={(row) => navigate(`${HOME}/${row.id}${location.search}`)}
        columns={[
          { name: texts.at, width: "150px", show: (row) => <Time at={row.at} /> },
          { name: texts.agent, width: "140px", show: (row) => <UntrustedText text={row.agent} /> },
          { name: texts.what, show: (row) => row.kind.replaceAll("_", " ") },
          { name: texts.subject, width: "2fr", show: (row) => <UntrustedText text={row.subject} /> },
          {
            name: texts.outcome,
            width: "110px",
            show: (row) => <Status tone={TONES[row.outcome]}>{texts.outcomes[row.outcome]}</Status>,
          },
        ]}
        empty={<Empty title={texts.empty}>{texts.emptyWhy}</Empty>}
      />
    </Page>
  );
}

function Detail({ entry }: { entry: Entry }) {
  const [, navigate] = useLocation();
  return (
    <Sheet title={entry.kind.replaceAll("_", " ")} onClose={() => navigate(`${HOME}${location.search}`)}>
      <Facts
        of={[
          [
            texts.outcome,
            <Status key="outcome" tone={TONES[entry.outcome]}>
              {texts.outcomes[entry.outcome]}
            </Status>,
          ],
          [texts.reason, entry.reason],
          [texts.at, <Time key="at" at={entry.at} />],
          [texts.agent, <UntrustedText key="agent" text={entry.agent} />],
          [texts.subject, <UntrustedText key="subject" text={entry.subject} />],
          [texts.taint, entry.taint.join(", ")],
          [
            texts.message,
            entry.messageId && (
              <Link key="message" href={`/messages/${entry.messageId}`}>
                {entry.messageId}
              </Link>
            ),
          ],
          [
            texts.run,
            entry.executionId && (
              <Link key="run" href={`/executions/${entry.executionId}`}>
                {entry.executionId}
              </Link>
            ),
          ],
        ]}
      />
      <Code value={entry.fields} label={texts.fields} />
    </Sheet>
  );
}
