import { useApi } from "../../../../api/hooks";
import { reveal } from "../../../../words/format";

/** A value and its label. */
export type Offer = readonly [value: string, words: string];

/** People who may answer are named by role, or individually. */
const ROLES = ["owner", "operator"];

/** The choices: agents, tools, workflows, models, platforms or people. */
export function useOffers(offers: string): Offer[] {
  const asked = (name: string) => (offers === name ? {} : null);
  const agents = useApi("GET /api/agents", asked("agents"));
  const tools = useApi("GET /api/tools", asked("tools"));
  const workflows = useApi("GET /api/workflows", asked("workflows"));
  const models = useApi("GET /api/models", asked("models"));
  const bots = useApi("GET /api/bots", asked("platforms"));
  switch (offers) {
    case "agents":
      return (agents.data?.items ?? []).map(({ slug, name }) => [slug, reveal(name)]);
    case "tools":
      return (tools.data?.items ?? []).map(({ name }) => [name, reveal(name)]);
    case "workflows":
      return (workflows.data?.items ?? []).map(({ slug, name }) => [slug, reveal(name)]);
    case "models":
      return (models.data?.items ?? [])
        .filter(({ accounts }) => accounts.length > 0)
        .map(({ name }) => [name, reveal(name)]);
    case "platforms":
      return [...new Set(["web", ...(bots.data?.items ?? []).map(({ platform }) => platform)])].map((one) => [
        one,
        one,
      ]);
    case "people":
      return ROLES.map((role) => [role, role]);
    default:
      return [];
  }
}
