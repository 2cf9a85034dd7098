/** Open questions of a conversation: those shown by a message, and those shown separately. */

import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { useApi } from "../../api/hooks";
import type { Item } from "../../api/types";
import type { Chat, View } from "./chat";
import type { AgentEntry, Choice } from "./conversation";

export type Wait = Item<"GET /api/questions">;

const BUTTON = /^wait\.([^.]+)\./;

export const isWaitButton = ({ id }: Choice): boolean => BUTTON.test(id);

/** The question that a message shows, or `null`. */
export function waitOf(entry: AgentEntry): string | null {
  if (entry.question !== null) return entry.question.id;
  for (const { id } of entry.buttons) {
    const found = BUTTON.exec(id)?.[1];
    if (found !== undefined) return found;
  }
  return null;
}

type Questions = {
  /** True if the list of open questions is available; otherwise messages show buttons. */
  known: boolean;
  byId: ReadonlyMap<string, Wait>;
  /** Questions that belong to this conversation but to no message shown. */
  elsewhere: readonly Wait[];
};

/**
 * A stored message contains the state of its question; for live messages and later answers, the list of open questions
 * decides.
 */
export function isDecided({ question }: AgentEntry, { known, byId }: Questions, wait: string | null): boolean {
  return wait !== null && (question?.open === false || (known && !byId.has(wait)));
}

export function useQuestions(chat: Chat, { talk }: View): Questions {
  const client = useQueryClient();
  const found = useApi("GET /api/questions", { query: { open: true } });
  // Users without notices of changes learn of new and closed questions from messages.
  const signs = useMemo(() => {
    const asked = talk.entries.flatMap((entry) => (entry.kind === "agent" ? (waitOf(entry) ?? []) : []));
    const waiting = talk.entries.filter((entry) => entry.kind === "user" && entry.status === "waiting").length;
    return `${asked.join(",")} ${waiting}`;
  }, [talk.entries]);
  useEffect(() => {
    if (signs !== " 0") void client.invalidateQueries({ queryKey: ["questions"] });
  }, [signs, client]);
  return useMemo(() => {
    const open = (found.data?.items ?? []).filter((wait) => wait.kind !== "user");
    const shown = new Set(talk.entries.map((entry) => (entry.kind === "agent" ? waitOf(entry) : null)));
    const isHere = (wait: Wait) => wait.conversationId !== null && chat.holds(wait.conversationId);
    return {
      known: !found.isError,
      byId: new Map(open.map((wait) => [wait.id, wait])),
      elsewhere: open.filter((wait) => !shown.has(wait.id) && isHere(wait)),
    };
  }, [found.data, found.isError, talk.entries, chat]);
}
