/** The logged-in user and their rights. */

import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { createContext, useContext } from "react";
import { ApiError, call } from "./client";
import type { Answer } from "./types";

export type Me = Answer<"GET /api/auth/me">;

export const WHO = ["auth", "GET /api/auth/me"] as const;

/** The logged-in user; `null`: no user is logged in. After a logout the query returns `null`, which replaces the previous user. */
export function useWho(): UseQueryResult<Me | null, ApiError> {
  return useQuery<Me | null, ApiError>({
    queryKey: WHO,
    queryFn: async ({ signal }) => {
      try {
        return await call("GET /api/auth/me", {}, { signal });
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) return null;
        throw error;
      }
    },
  });
}

type Session = {
  me: Me;
  /** Load the user again: after a login, a logout, or a change of the name. */
  refresh: () => void;
};

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error("useSession outside of a login");
  return session;
}

const RANKS = ["chat", "viewer", "operator", "owner"];

/** True if the user's role is at least this one. The server decides; this only hides actions that it would refuse. */
export function useMay(role: "viewer" | "operator" | "owner"): boolean {
  return RANKS.indexOf(useSession().me.role) >= RANKS.indexOf(role);
}
