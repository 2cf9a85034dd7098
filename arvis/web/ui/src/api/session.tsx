/** Who is logged in, and what that lets them do. */

import { createContext, useContext } from "react";
import type { Answer } from "./types";

export type Me = Answer<"GET /api/auth/me">;

type Session = {
  me: Me;
  /** Ask again who is logged in: after a login, a logout, a change of the name. */
  refresh: () => void;
};

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error("useSession outside of a login");
  return session;
}

const RANKS = ["chat", "viewer", "operator", "owner"];

/** Whether the role of the person in front of the screen is at least this one. The server decides; this only hides what it
 * would refuse. */
export function useMay(role: "viewer" | "operator" | "owner"): boolean {
  return RANKS.indexOf(useSession().me.role) >= RANKS.indexOf(role);
}
