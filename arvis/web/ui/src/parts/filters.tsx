import { useApi } from "../api/hooks";
import { reveal } from "../words/format";
import { Choice } from "./field";
import { useFilter } from "./page";
import { texts } from "./texts";

/** A choice of one agent, stored as `?agent=` in the address. */
export function AgentFilter() {
  const agents = useApi("GET /api/agents", {});
  const [agent, setAgent] = useFilter("agent");
  const known = (agents.data?.items ?? []).map((one) => [one.slug, reveal(one.name)] as const);
  // The address may name an agent that no longer exists.
  const all =
    agent === "" || known.some(([slug]) => slug === agent) ? known : [[agent, reveal(agent)] as const, ...known];
  return (
    <Choice aria-label={texts.agent} value={agent} options={[["", texts.everyAgent], ...all]} onChange={setAgent} />
  );
}
