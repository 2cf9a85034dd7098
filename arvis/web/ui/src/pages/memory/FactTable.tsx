import type { ReactNode } from "react";
import { useList } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Item, Query } from "../../api/types";
import { Status, Time, type Tone } from "../../parts/show";
import { type Column, EmptyList, Table } from "../../parts/table";
import { count } from "../../words/format";
import { Scope } from "./people";
import { texts } from "./texts";

export type Fact = Item<"GET /api/memory">;
export type FactFilter = Omit<Query<"GET /api/memory">, "limit" | "cursor">;

const TONES: Record<Fact["status"], Tone> = {
  active: "good",
  superseded: "plain",
  deleted: "trouble",
  faded: "warn",
  ended: "plain",
};

export function FactState({ status }: { status: Fact["status"] }) {
  return <Status tone={TONES[status]}>{texts.statuses[status]}</Status>;
}

type Props = {
  filter: FactFilter;
  onOpen: (fact: Fact) => void;
  openId?: string | null;
  /** The action offered while there are no facts. */
  action?: ReactNode;
};

/** Facts that match; with `filter.agent`, all belong to one agent, whose name is omitted. */
export function FactTable({ filter, onOpen, openId = null, action }: Props) {
  const pages = useList("GET /api/memory", filter);
  const looksAfter = useMay("viewer");
  const { agent, ...others } = filter;
  const narrowed = Object.values(others).some(Boolean);
  return (
    <Table
      label={texts.facts}
      pages={pages}
      idOf={(fact) => fact.id}
      openId={openId}
      onOpen={onOpen}
      columns={columns(!agent, looksAfter)}
      empty={<EmptyList texts={texts} filtered={narrowed} action={action} />}
    />
  );
}

function columns(withAgent: boolean, withScope: boolean): Column<Fact>[] {
  const all: (Column<Fact> | false)[] = [
    { name: texts.fact, width: "minmax(160px, 3fr)", show: (fact) => fact.content },
    withAgent && { name: texts.agent, show: (fact) => fact.agent },
    withScope && { name: texts.whose, show: (fact) => <Scope scope={fact.scope} /> },
    { name: texts.category, width: "110px", show: (fact) => texts.categories[fact.category] },
    {
      name: texts.trust,
      width: "110px",
      show: (fact) =>
        fact.taint.length > 0 ? (
          <Status tone="warn">{texts.unverified}</Status>
        ) : (
          texts.percent(count(Math.round(fact.confidence * 100)))
        ),
    },
    { name: texts.changed, width: "120px", show: (fact) => <Time at={fact.updatedAt} /> },
  ];
  return all.filter((column) => column !== false);
}
