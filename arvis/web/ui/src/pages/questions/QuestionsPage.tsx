import { type KeyboardEvent, type ReactNode, useRef, useState } from "react";
import { useList } from "../../api/hooks";
import type { Query } from "../../api/types";
import { Button } from "../../parts/button";
import { useListKeys } from "../../parts/keys";
import { AgentFilter, Chips, FilterChoice, Page, useFilters } from "../../parts/page";
import { useDetail } from "../../parts/resource";
import { Status, Time } from "../../parts/show";
import { Empty, Failure, Skeleton } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { texts as common } from "../../parts/texts";
import { QuestionCard, QuestionSheet } from "./QuestionSheet";
import styles from "./questions.module.css";
import { texts } from "./texts";
import { type Place, useHeldPlaces } from "./useHeldPlaces";
import { decisionOf, headline, type Wait } from "./wait";

const KINDS = Object.entries(texts.kinds) as [Wait["kind"], string][];
const ANSWERED = "answered";

/** Open questions, and answered ones. */
export default function QuestionsPage() {
  const { state, kind, agent } = useFilters("state", "kind", "agent");
  const { id, open, close } = useDetail("/questions");
  const query = { kind: kind as Wait["kind"], agent };
  return (
    <Page
      title={texts.title}
      about={texts.about}
      filters={
        <>
          <Chips label={texts.state} name="state" all={texts.open} options={[[ANSWERED, texts.answered]]} />
          <FilterChoice label={texts.kind} name="kind" all={texts.everyKind} options={KINDS} />
          <AgentFilter />
        </>
      }
      sheet={id && <QuestionSheet key={id} id={id} onClose={close} />}
    >
      {state === ANSWERED ? (
        <Answered query={query} openId={id} onOpen={open} />
      ) : (
        <Open key={`${kind} ${agent}`} query={query} openId={id} filtered={Boolean(kind || agent)} onOpen={open} />
      )}
    </Page>
  );
}

type OpenProps = {
  query: Query<"GET /api/questions">;
  openId: string | null;
  filtered: boolean;
  onOpen: (id: string) => void;
};

function Open({ query, openId, filtered, onOpen }: OpenProps) {
  const waits = useList("GET /api/questions", { ...query, open: true });
  const { places, hover } = useHeldPlaces(waits.rows);
  if (places.length > 0) {
    return (
      <Cards places={places} onHover={hover} openId={openId} onOpen={onOpen}>
        {waits.more !== null && <Button label={common.more} onClick={waits.more} />}
      </Cards>
    );
  }
  if (waits.error !== null) return <Failure error={waits.error} retry={waits.retry} />;
  if (waits.loading) return <Skeleton />;
  if (filtered) return <Empty why={texts.noMatchWhy} title={texts.noMatch} />;
  return <Empty why={texts.emptyWhy} title={texts.empty} />;
}

type CardsProps = {
  places: readonly Place[];
  onHover: (over: boolean) => void;
  openId: string | null;
  onOpen: (id: string) => void;
  children: ReactNode;
};

/** Questions side by side; `j` and `k` move between them, Enter opens one. */
function Cards({ places, onHover, openId, onOpen, children }: CardsProps) {
  const list = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  useListKeys(list, active);
  const pressed = (event: KeyboardEvent, index: number) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    const place = places[index];
    if (event.key === "Enter" && place !== undefined) onOpen(place.wait.id);
    else if (step !== undefined) list.current?.querySelector<HTMLElement>(`[data-index="${index + step}"]`)?.focus();
    else return;
    event.preventDefault();
  };
  return (
    <div ref={list} className={styles.cards} onPointerEnter={() => onHover(true)} onPointerLeave={() => onHover(false)}>
      {places.map(({ wait, answered }, index) => (
        <QuestionCard
          key={wait.id}
          wait={wait}
          open={wait.id === openId}
          answered={answered}
          onOpen={() => onOpen(wait.id)}
          row={{
            "data-index": index,
            tabIndex: index === active ? 0 : -1,
            onFocus: () => setActive(index),
            onKeyDown: (event) => pressed(event, index),
          }}
        />
      ))}
      {children}
    </div>
  );
}

const COLUMNS: Column<Wait>[] = [
  { name: texts.what, width: "minmax(160px, 3fr)", show: (wait) => headline(wait) },
  { name: texts.decision, width: "minmax(120px, 1fr)", show: (wait) => <Decided wait={wait} /> },
  { name: texts.by, width: "minmax(80px, 1fr)", show: (wait) => wait.answeredByName ?? "–" },
  { name: texts.when, width: "128px", show: (wait) => <Time at={wait.answeredAt} /> },
];

type Props = { query: Query<"GET /api/questions">; openId: string | null; onOpen: (id: string) => void };

/** Answered questions, newest first. The API also lists open ones; they are shown separately. */
function Answered({ query, openId, onOpen }: Props) {
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

function Decided({ wait }: { wait: Wait }) {
  const { decision } = (wait.answer ?? {}) as { decision?: string };
  const tone = decision === undefined ? "warn" : decision === "reject" ? "trouble" : "good";
  return <Status tone={tone}>{decisionOf(wait)}</Status>;
}
