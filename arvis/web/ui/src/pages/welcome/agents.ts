import { useApi } from "../../api/hooks";

/** The agent that exists from the first start on. */
const GIVEN = "helper";
const CONDUCTOR = "conductor";

/** The slug of the agent for the setup: the newest agent of the user, else the built-in one; `null`: not known yet. */
export function useFirstAgent(): string | null {
  const agents = useApi("GET /api/agents", { query: { status: "active" } });
  const able = (agents.data?.items ?? []).filter((one) => one.role !== CONDUCTOR);
  const own = able.filter((one) => one.slug !== GIVEN);
  return (own.at(-1) ?? able.at(-1))?.slug ?? null;
}
