/** An agent in its form, and the conversion to the fields of the API. */

import type { Answer, Body, Item } from "../../api/types";
import type { Effort } from "../../parts/modelFields";

export type Agent = Answer<"GET /api/agents/{agent}">;
export type Binding = Agent["bindings"][number];
export type Version = Item<"GET /api/agents/{agent}/versions">;
type Written = Body<"PATCH /api/agents/{agent}">;

export const CONDUCTOR = "conductor";

/** The longest slug; the server allows 64 characters, but short ones are easier to type. */
const SLUG_LENGTH = 50;

/**
 * The values in the form. Lists of ids are texts with one id per line. An empty text is an unset value. If `everybody` is
 * true, everyone may use the agent, and `allowUsers` is ignored.
 */
export type Draft = {
  name: string;
  role: string;
  description: string;
  prompt: string;
  model: string;
  fallbacks: string;
  tools: readonly string[];
  graph: string;
  completion: Agent["completion"];
  contextTokens: string;
  timezone: string;
  everybody: boolean;
  allowUsers: string;
  onNewMessage: NonNullable<Agent["onNewMessage"]> | "";
  plugins: readonly string[];
  helpers: readonly string[];
  skills: readonly string[];
  credentials: readonly string[];
  knowledge: readonly string[];
  effort: Effort;
};

export type Change = (changes: Partial<Draft>) => void;

export const FRESH: Draft = {
  name: "",
  role: "custom",
  description: "",
  prompt: "",
  model: "",
  fallbacks: "",
  tools: [],
  graph: "agent",
  completion: "implicit",
  contextTokens: "96000",
  timezone: "",
  everybody: true,
  allowUsers: "",
  onNewMessage: "",
  plugins: [],
  helpers: [],
  skills: [],
  credentials: [],
  knowledge: [],
  effort: "",
};

export function draftOf(agent: Agent): Draft {
  return {
    name: agent.name,
    role: agent.role,
    description: agent.description,
    prompt: agent.prompt,
    model: agent.model ?? "",
    fallbacks: agent.fallbacks.join("\n"),
    tools: agent.tools,
    graph: agent.graph,
    completion: agent.completion,
    contextTokens: agent.contextTokens === null ? "" : String(agent.contextTokens),
    timezone: agent.timezone ?? "",
    everybody: agent.allowUsers === null,
    allowUsers: (agent.allowUsers ?? []).join("\n"),
    onNewMessage: agent.onNewMessage ?? "",
    plugins: agent.plugins,
    helpers: agent.helpers,
    skills: agent.skills,
    credentials: agent.credentials,
    knowledge: agent.knowledge,
    effort: agent.effort ?? "",
  };
}

const lines = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

export function written(draft: Draft): Required<Written> {
  return {
    name: draft.name.trim(),
    role: draft.role.trim(),
    description: draft.description,
    prompt: draft.prompt,
    model: draft.model.trim() || null,
    fallbacks: lines(draft.fallbacks),
    tools: [...draft.tools],
    graph: draft.graph,
    completion: draft.completion,
    contextTokens: draft.contextTokens === "" ? null : Number(draft.contextTokens),
    timezone: draft.timezone.trim() || null,
    allowUsers: draft.everybody ? null : lines(draft.allowUsers),
    onNewMessage: draft.onNewMessage || null,
    plugins: [...draft.plugins],
    helpers: [...draft.helpers],
    skills: [...draft.skills],
    credentials: [...draft.credentials],
    knowledge: [...draft.knowledge],
    effort: draft.effort || null,
  };
}

/** The changed fields only, so that a save keeps another user's changes. */
export function differing(agent: Agent, draft: Draft): Written {
  const after = written(draft);
  const before: Record<string, unknown> = agent;
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
  );
  return Object.fromEntries(changed);
}

/** A slug for a name: `Zoë's News!` becomes `zoe-s-news`. */
export function slugFor(name: string): string {
  return name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, SLUG_LENGTH)
    .replace(/^-|-$/g, "");
}
