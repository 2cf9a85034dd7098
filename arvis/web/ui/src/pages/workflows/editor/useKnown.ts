import { useMemo } from "react";
import { useApi } from "../../../api/hooks";
import type { Known } from "../../../workflow/checking";

/** The names that nodes may refer to. What is not read yet, or only in part, is not looked up. */
export function useKnown(): Known {
  const agents = useApi("GET /api/agents", {}).data;
  const tools = useApi("GET /api/tools", {}).data;
  const workflows = useApi("GET /api/workflows", {}).data;
  return useMemo(
    () => ({
      agents: agents && new Set(agents.items.flatMap(({ id, slug }) => [id, slug])),
      tools: tools && new Set(tools.items.map(({ name }) => name)),
      workflows:
        workflows && workflows.nextCursor === null
          ? new Set(workflows.items.flatMap(({ id, slug }) => [id, slug]))
          : undefined,
    }),
    [agents, tools, workflows],
  );
}
