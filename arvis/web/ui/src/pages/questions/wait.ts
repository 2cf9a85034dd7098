import type { Item } from "../../api/types";
import { ago, reveal } from "../../words/format";
import { texts } from "./texts";

export type Wait = Item<"GET /api/questions">;
export type Decision = "approve" | "reject" | "edit" | "feedback" | "answer";

/** True if an approval calls a tool, whose arguments can be changed. */
export const isTool = (wait: Wait): boolean => wait.kind === "approval" && wait.risk !== null;

const LONGEST_HEADLINE = 160;
const shortLine = (line: string): string =>
  line.length <= LONGEST_HEADLINE ? line : `${line.slice(0, LONGEST_HEADLINE)}…`;

/** The question in one line, without details. */
export function headline(wait: Wait): string {
  const agent = wait.agent === null ? texts.someAgent : reveal(wait.agent);
  if (wait.form !== null) return texts.serverAsks(reveal(wait.form.server));
  if (wait.kind === "approval" && wait.tool === null) return shortLine(reveal(wait.prompt.split("\n")[0] ?? ""));
  if (wait.tool === null) return texts.asks(agent);
  return isTool(wait) ? texts.wantsTool(agent, reveal(wait.tool)) : texts.wantsChange(agent, reveal(wait.tool));
}

/** The decision as text. */
export function decisionOf(wait: Wait): string {
  const { decision, text } = (wait.answer ?? {}) as { decision?: string; text?: string | null };
  if (decision === undefined) return texts.expired;
  if (decision === "answer" && text && wait.choices.includes(text)) return reveal(text);
  return (texts.decisions as Record<string, string>)[decision] ?? reveal(decision);
}

/** The person who answered first, and their decision. */
export function alreadyAnswered(wait: Wait): string {
  if (wait.answeredAt === null) return texts.alreadyBySomebody;
  const by = wait.answeredByName === null ? texts.anotherPerson : reveal(wait.answeredByName);
  return texts.already(decisionOf(wait), by, ago(wait.answeredAt, Date.now()));
}

/** The typed arguments, or the reason why they are invalid. */
export function argumentsOf(written: string): { value: Record<string, unknown> } | { problem: string } {
  try {
    const value: unknown = JSON.parse(written);
    if (value === null || typeof value !== "object" || Array.isArray(value)) return { problem: texts.notObject };
    return { value: value as Record<string, unknown> };
  } catch (error) {
    return { problem: texts.notJson(error instanceof Error ? error.message : "") };
  }
}
