import { useMemo } from "react";
import { useApi } from "../../../api/hooks";
import type { Known } from "../../../workflow/checking";

const setOf = (names: readonly string[] | null): ReadonlySet<string> | null => names && new Set(names);

/** The names that the document of this workflow may use (null: not saved yet). Until they are loaded, no names are checked. */
export function useKnown(workflow: string | null): Known {
  const names = useApi("GET /api/names", { query: workflow === null ? {} : { workflow } }).data;
  return useMemo(
    () =>
      names === undefined
        ? {}
        : {
            agents: setOf(names.agents),
            searching: setOf(names.webSearchAgents),
            tools: setOf(names.tools),
            servers: new Set(names.servers),
            models: setOf(names.models),
            workflows: setOf(names.workflows),
            begun: setOf(names.activeTriggers),
          },
    [names],
  );
}
