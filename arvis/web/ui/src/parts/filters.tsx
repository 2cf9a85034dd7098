/** Choices stored in the address, such as `?agent=helper`, so that a link can name a view. */

import { useApi } from "../api/hooks";
import { reveal } from "../words/format";
import { Choice, type Options } from "./field";
import { useFilter } from "./page";
import { texts } from "./texts";

type Props = { label: string; name: string; all: string; options: Options };

/** A choice of one value or of all (the first option). A value of the address that is not among the options is kept. */
export function FilterChoice({ label, name, all, options }: Props) {
  const [value, set] = useFilter(name);
  const known = value === "" || options.some(([one]) => one === value);
  const others: Options = known ? options : [[value, reveal(value)], ...options];
  return <Choice aria-label={label} value={value} options={[["", all], ...others]} onChange={set} />;
}

/** The agents by name, as choices; also the `chosen` one, even if it was removed. */
export function useAgentOptions(chosen = ""): Options {
  const agents = useApi("GET /api/agents", {});
  const all = (agents.data?.items ?? []).map((one) => [one.slug, reveal(one.name)] as const);
  return chosen === "" || all.some(([slug]) => slug === chosen) ? all : [[chosen, reveal(chosen)], ...all];
}

/** A choice of one agent. */
export function AgentFilter() {
  return <FilterChoice label={texts.agent} name="agent" all={texts.everyAgent} options={useAgentOptions()} />;
}
