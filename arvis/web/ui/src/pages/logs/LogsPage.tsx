import { RefreshCw } from "lucide-react";
import { useState } from "react";
import { addressOf } from "../../api/client";
import { useApi, useList } from "../../api/hooks";
import type { Item, Query } from "../../api/types";
import { Button } from "../../parts/button";
import { Choice } from "../../parts/field";
import { Page, SearchField, Sheet, useFilter, useFilters } from "../../parts/page";
import { Code, Facts, Status, Time, type Tone } from "../../parts/show";
import { Empty } from "../../parts/states";
import { Table } from "../../parts/table";
import { bytes, exactly } from "../../words/format";
import styles from "./logs.module.css";
import { texts } from "./texts";

type Line = Item<"GET /api/logs">;
type Level = NonNullable<Query<"GET /api/logs">["level"]>;

const TONES: Record<Line["level"], Tone> = {
  debug: "plain",
  info: "plain",
  warning: "warn",
  error: "trouble",
  critical: "trouble",
};
const LEVELS = Object.entries(texts.levels) as [Level, string][];

/** The daemon's log lines, newest first. Secrets were removed when the lines were written. */
export default function LogsPage() {
  const [level, setLevel] = useFilter("level");
  const { q, logger } = useFilters("q", "logger");
  const [open, setOpen] = useState<Line | null>(null);
  const chosen = LEVELS.find(([one]) => one === level)?.[0];
  const pages = useList("GET /api/logs", { level: chosen, q: q || undefined, logger: logger || undefined });
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={<Button label={texts.newest} icon={RefreshCw} busy={pages.loading} onClick={pages.retry} />}
      filters={
        <>
          <Choice aria-label={texts.level} value={chosen ?? "info"} onChange={setLevel} options={LEVELS} />
          <SearchField label={texts.search} />
          <SearchField name="logger" label={texts.logger} />
          <Days />
        </>
      }
      sheet={open && <Detail line={open} onClose={() => setOpen(null)} />}
    >
      <Table
        label={texts.title}
        pages={pages}
        idOf={(line) => line.id}
        openId={open?.id}
        onOpen={setOpen}
        columns={[
          {
            name: texts.at,
            width: "210px",
            show: (line) => (line.at === null ? "–" : <span>{exactly(line.at)}</span>),
          },
          { name: texts.level, width: "100px", show: (line) => <Level level={line.level} /> },
          { name: texts.logger, width: "180px", show: (line) => line.logger },
          { name: texts.event, width: "minmax(160px, 3fr)", show: (line) => summary(line) },
        ]}
        empty={<Empty why={texts.emptyWhy} title={texts.empty} />}
      />
    </Page>
  );
}

function Level({ level }: { level: Line["level"] }) {
  return <Status tone={TONES[level]}>{texts.words[level]}</Status>;
}

function summary(line: Line): string {
  const fields = Object.entries(line.fields).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return [line.event, ...fields].join("  ");
}

function Detail({ line, onClose }: { line: Line; onClose: () => void }) {
  return (
    <Sheet title={line.event} onClose={onClose}>
      <Facts
        of={[
          [texts.at, <Time key="at" at={line.at} />],
          [texts.level, <Level key="level" level={line.level} />],
          [texts.logger, line.logger],
        ]}
      />
      <Code value={line.fields} label={texts.fields} />
      {line.exception && <Code value={line.exception} label={texts.exception} />}
    </Sheet>
  );
}

/** The log files on disk, one per day. */
function Days() {
  const days = useApi("GET /api/logs/days", {});
  return (
    <details className={styles.days}>
      <summary>{texts.files}</summary>
      <ul>
        {days.data?.items.map(({ day, bytes: size }) => (
          <li key={day}>
            <a href={addressOf("GET /api/logs/download", { query: { day } })} download>
              {day}
            </a>{" "}
            <span className="muted">{bytes(size)}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
