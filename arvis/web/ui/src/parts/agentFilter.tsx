import { useApi } from "../api/hooks";
import { reveal } from "../words/format";
import { Choice } from "./field";
import { useFilter } from "./page";
import { texts } from "./texts";

/** Chooses one agent; `?agent=` of the address. */
export function AgentFilter() {
  const agents = useApi("GET /api/agents", {});
  const [agent, setAgent] = useFilter("agent");
  const known = (agents.data?.items ?? []).map((one) => [one.slug, reveal(one.name)] as const);
  // An agent that is gone can still stand in an address.
  const all =
    agent === "" || known.some(([slug]) => slug === agent) ? known : [[agent, reveal(agent)] as const, ...known];
  return (
    <Choice aria-label={texts.agent} value={agent} options={[["", texts.everyAgent], ...all]} onChange={setAgent} />
  );
}
