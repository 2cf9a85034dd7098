import { useApi } from "../../api/hooks";

/** There from the first start on. */
const GIVEN = "helper";
const CONDUCTOR = "conductor";

/** The slug of the agent of the first run: the newest of one's own, else the one that was there; `null`: not known yet. */
export function useFirstAgent(): string | null {
  const agents = useApi("GET /api/agents", { query: { status: "active" } });
  const able = (agents.data?.items ?? []).filter((one) => one.role !== CONDUCTOR);
  const own = able.filter((one) => one.slug !== GIVEN);
  return (own.at(-1) ?? able.at(-1))?.slug ?? null;
}
