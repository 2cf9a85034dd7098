/** Fields in which a graph may be a workflow: agents, schedules and webhooks store it as `workflow:SLUG`. */

import type { ReactNode } from "react";
import { Link } from "wouter";
import { useApi } from "../api/hooks";
import { reveal } from "../words/format";
import { UntrustedText } from "./show";
import { texts } from "./texts";

const PREFIX = "workflow:";
const MOST = 200;

export const isWorkflow = (graph: string | null): graph is string => graph?.startsWith(PREFIX) ?? false;

type Option = readonly [graph: string, words: string];

/** Workflows that can run, by name, as choices; also the currently chosen one, even if it was removed. */
export function useWorkflowOptions(chosen: string): Option[] {
  const known = useApi("GET /api/workflows", { query: { limit: MOST } });
  const all = (known.data?.items ?? [])
    .filter((one) => one.runnable !== null || `${PREFIX}${one.slug}` === chosen)
    .map((one): Option => [`${PREFIX}${one.slug}`, texts.workflow(reveal(one.name))]);
  const gone = isWorkflow(chosen) && !all.some(([graph]) => graph === chosen);
  return gone ? [[chosen, reveal(chosen)], ...all] : all;
}

/** A graph by name: a workflow links to its page, any other is shown as `words`. */
export function GraphName({ graph, words }: { graph: string; words: Record<string, string> }): ReactNode {
  const slug = isWorkflow(graph) ? graph.slice(PREFIX.length) : null;
  const known = useApi("GET /api/workflows", slug === null ? null : { query: { limit: MOST } });
  if (slug === null) return words[graph] ?? <UntrustedText text={graph} />;
  const name = known.data?.items.find((one) => one.slug === slug || one.id === slug)?.name;
  return (
    <Link href={`/workflows/${encodeURIComponent(slug)}`}>
      <UntrustedText text={name ?? slug} />
    </Link>
  );
}
