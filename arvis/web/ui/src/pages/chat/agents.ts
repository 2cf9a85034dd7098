/** The agents that the user can chat with. Users who may not read agents' details see only their names. */

import { useCallback, useMemo } from "react";
import type { ApiError } from "../../api/client";
import { useApi } from "../../api/hooks";
import { useMay } from "../../api/session";
import { ANYONE } from "./chats";
import { texts } from "./texts";

export type Agent = { slug: string; name: string; description: string; paused: boolean };

export type Agents = {
  all: readonly Agent[];
  find: (slug: string) => Agent | undefined;
  /** The display name; the slug if it is not known. */
  nameOf: (slug: string | null) => string;
  loaded: boolean;
  error: ApiError | null;
  retry: () => void;
};

const NOTHING_CHOSEN: Agent = { slug: ANYONE, name: texts.anyone, description: texts.anyoneAbout, paused: false };

export function useAgents(): Agents {
  const reads = useMay("viewer");
  const full = useApi("GET /api/agents", reads ? {} : null);
  const names = useApi("GET /v1/models", reads ? null : {});
  const listed = reads ? full : names;
  const all = useMemo(() => {
    const known = full.data?.items.map(({ slug, name, description, status }) => ({
      ...{ slug, name, description },
      paused: status !== "active",
    }));
    const named = names.data?.data.map(({ id }) => ({ slug: id, name: id, description: "", paused: false }));
    return [NOTHING_CHOSEN, ...(known ?? named ?? [])];
  }, [full.data, names.data]);
  const find = useCallback((slug: string) => all.find((agent) => agent.slug === slug), [all]);
  const nameOf = useCallback(
    (slug: string | null) => (slug === null ? NOTHING_CHOSEN : find(slug))?.name ?? slug ?? "",
    [find],
  );
  return {
    ...{ all, find, nameOf, error: listed.error, retry: () => void listed.refetch() },
    // Without the list, the user can still chat with the default agent.
    loaded: listed.data !== undefined || listed.error !== null,
  };
}
