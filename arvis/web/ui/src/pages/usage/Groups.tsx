import { useMemo } from "react";
import type { Answer } from "../../api/types";
import { Money, UntrustedText } from "../../parts/show";
import { Empty } from "../../parts/states";
import { Table } from "../../parts/table";
import { count, duration, money } from "../../words/format";
import { texts } from "./texts";

export type Usage = Answer<"GET /api/usage">;
type Group = Usage["groups"][number];

/** The rows of a report, the most expensive first; each with its success rate. */
export function Groups({ usage }: { usage: Usage }) {
  const pages = useMemo(
    () => ({ rows: usage.groups, error: null, loading: false, more: null, retry: () => {} }),
    [usage.groups],
  );
  const number = (name: string, pick: (group: Group) => number) => ({
    name,
    width: "100px",
    show: (group: Group) => count(pick(group)),
  });
  return (
    <Table
      label={texts.groups}
      pages={pages}
      idOf={(group) => group.key}
      columns={[
        {
          name: texts.bys[usage.by],
          width: "minmax(120px, 2fr)",
          show: (group) => <UntrustedText text={group.name || texts.none} />,
        },
        { name: texts.cost, width: "90px", show: (group) => <Cost of={group} /> },
        number(texts.calls, (group) => group.calls),
        number(texts.input, (group) => group.inputTokens),
        number(texts.output, (group) => group.outputTokens),
        number(texts.errors, (group) => group.errors),
        {
          name: texts.success,
          width: "90px",
          show: (group) => (group.success === null ? "–" : `${Math.round(group.success * 100)} %`),
        },
        {
          name: texts.average,
          width: "90px",
          show: (group) => (group.averageMs === null ? "–" : duration(group.averageMs)),
        },
      ]}
      empty={<Empty why={texts.emptyWhy} title={texts.empty} />}
    />
  );
}

/** The cost of calls. Calls of models without a price are not free: their cost is unknown. */
export function Cost({ of }: { of: Pick<Group, "costUsd" | "calls" | "unpriced"> }) {
  if (of.unpriced === 0) return <Money usd={of.costUsd} />;
  const known = of.unpriced < of.calls ? texts.atLeast(money(of.costUsd)) : texts.unpriced;
  return <span title={texts.unpricedWhy(count(of.unpriced))}>{known}</span>;
}
