import { useList } from "../../api/hooks";
import type { Query } from "../../api/types";
import { Status, Time, UntrustedText } from "../../parts/show";
import { Empty } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { texts } from "./texts";
import { decisionOf, headline, type Wait } from "./wait";

const COLUMNS: Column<Wait>[] = [
  { name: texts.what, width: "minmax(160px, 3fr)", show: (wait) => headline(wait) },
  { name: texts.decision, width: "minmax(120px, 1fr)", show: (wait) => <Decided wait={wait} /> },
  { name: texts.by, width: "minmax(80px, 1fr)", show: (wait) => <UntrustedText text={wait.answeredByName ?? "–"} /> },
  { name: texts.when, width: "128px", show: (wait) => <Time at={wait.answeredAt} /> },
];

type Props = { query: Query<"GET /api/questions">; openId: string | null; onOpen: (id: string) => void };

/** Answered questions, newest first. The API also lists open ones; they are shown separately. */
export function Answered({ query, openId, onOpen }: Props) {
  const pages = useList("GET /api/questions", { ...query, open: false });
  const rows = pages.rows.filter((wait) => wait.answeredAt !== null);
  return (
    <Table
      label={texts.table}
      columns={COLUMNS}
      pages={{ ...pages, rows }}
      idOf={(wait) => wait.id}
      openId={openId}
      onOpen={(wait) => onOpen(wait.id)}
      empty={<Empty why={texts.emptyAnsweredWords} title={texts.emptyAnswered} />}
    />
  );
}

export function Decided({ wait }: { wait: Wait }) {
  const { decision } = (wait.answer ?? {}) as { decision?: string };
  const tone = decision === undefined ? "warn" : decision === "reject" ? "trouble" : "good";
  return <Status tone={tone}>{decisionOf(wait)}</Status>;
}
