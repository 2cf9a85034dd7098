/** The progress of the setup: the daemon's state, and the steps skipped in this window. */

import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { useApi } from "../../api/hooks";
import type { Answer } from "../../api/types";

type Setup = Answer<"GET /api/setup">;

export const STEPS = ["password", "model", "agent", "hello", "bot"] as const;
export type StepName = (typeof STEPS)[number];

const DONE: Record<StepName, keyof Setup> = {
  password: "hasPassword",
  model: "hasAccount",
  agent: "hasOwnAgent",
  hello: "hasReply",
  bot: "hasBot",
};

const KEY = "welcome skipped";

export function useSetup() {
  const setup = useApi("GET /api/setup", {});
  const client = useQueryClient();
  const [skipped, setSkipped] = useState<readonly string[]>(() => (sessionStorage.getItem(KEY) ?? "").split(","));
  const keep = useCallback((names: readonly string[]) => {
    sessionStorage.setItem(KEY, names.join(","));
    setSkipped(names);
  }, []);
  const isDone = (name: StepName) => setup.data?.[DONE[name]] === true;
  const isSkipped = (name: StepName) => skipped.includes(name) && !isDone(name);
  return {
    setup,
    isDone,
    isSkipped,
    /** The current step; `null`: none is left, or the state is not known yet. */
    current: setup.data === undefined ? null : (STEPS.find((name) => !isDone(name) && !isSkipped(name)) ?? null),
    skip: (name: StepName) => keep([...skipped, name]),
    resume: (name: StepName) => keep(skipped.filter((one) => one !== name)),
    /** Reload the progress after a change. */
    refresh: useCallback(() => void client.invalidateQueries({ queryKey: ["setup"] }), [client]),
  };
}

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
