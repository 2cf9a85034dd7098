/** Converts the steps of messages, jobs, executions and occurrences, as the API returns them, for the timeline component. */

import type { Answer } from "../api/types";
import { clock, count, reveal, sentences } from "../words/format";
import { jsonOf } from "../words/json";
import { stepTexts as texts } from "./steps.texts";
import type { Step } from "./timeline";

/** A step as the API returns it; its further fields depend on its code. */
export type ApiStep = Answer<"GET /api/jobs/{job}/timeline">["steps"][number];

type Data = Record<string, unknown>;
type Shown = Pick<Step, "title"> & Partial<Pick<Step, "tone" | "detail" | "input" | "output" | "who">>;

/** Fields that are not listed below a step, because the timeline shows them elsewhere or people do not need them. */
const COMMON = new Set(["at", "step", "actor", "durationMs", "costUsd", "input", "output", "job", "delivery", "seq"]);

export function stepsOf(steps: readonly ApiStep[]): Step[] {
  return steps.map((step) => {
    const data = step as unknown as Data;
    const shown = (SHOW[step.step] ?? unknown)(data, step.step);
    return {
      at: step.at,
      who: step.actor,
      durationMs: step.durationMs,
      costUsd: step.costUsd,
      input: step.input,
      output: step.output,
      ...shown,
    };
  });
}

/**
 * The text of a reason code; unknown codes are shown unchanged. `kind`: the kind of the job, because `refused` means the
 * platform if the job is a delivery, otherwise the model.
 */
export function reasonInWords(code: string, kind?: string): string {
  if (code === "refused" && kind === "deliver") return texts.platformRefused;
  return (texts.reason as Record<string, string>)[code] ?? reveal(code);
}

const SHOW: Record<string, (data: Data, code: string) => Shown> = {
  received: (data) => ({ title: texts.title.received, detail: on(data) }),
  posted: (data) => ({
    title: texts.title.posted,
    who: text(data.agent),
    detail: sentences(data.source ? texts.begunBy(text(data.source)) : "", on(data)),
  }),
  routed: (data) => ({ title: texts.title.routed, who: text(data.agent), detail: reason(data) }),
  dropped: (data) => ({ title: texts.title.dropped, tone: "trouble", detail: reason(data) }),
  queued: (data) => ({ title: texts.title.queued, detail: texts.priority(text(data.priority)) }),
  started: (data) => ({
    title: texts.title.started,
    detail: Number(data.claim) > 1 ? texts.claim(text(data.claim)) : "",
  }),
  node: (data) => ({
    title: lookUp(texts.node, text(data.node)),
    who: text(data.node) in texts.node ? null : texts.title.node,
    tone: data.decision === "pause" ? "waiting" : "plain",
    detail: lookUp(texts.decision, text(data.decision)),
    input: undefined,
    output: rest(data, ["node", "decision"], true),
  }),
  model_call: modelCall,
  tool: (data) => ({
    title: data.failed ? texts.title.tool_failed : texts.title.tool,
    tone: data.failed ? "trouble" : "done",
    detail: data.decision ? lookUp(texts.verdict, text(data.decision)) : "",
    input: asJson(data.input ?? data.arguments),
    output: data.output,
  }),
  file: (data) => ({
    title: data.problem ? texts.title.file_failed : texts.title.file,
    tone: data.problem ? "trouble" : "plain",
    who: text(data.name),
    detail: shown(sentences(text(data.kind), text(data.type), text(data.problem))),
  }),
  edited: (data) => ({ title: texts.title.edited, output: data.now }),
  deleted: () => ({ title: texts.title.deleted }),
  retried: (data) => ({ title: texts.title.retried, tone: "waiting", detail: later(data, shown(text(data.error))) }),
  snoozed: (data) => ({ title: texts.title.snoozed, tone: "waiting", detail: later(data, reason(data)) }),
  recovered: (data) => ({ title: texts.title.recovered, tone: "waiting", detail: texts.crashes(text(data.crashes)) }),
  requeued: (data) => ({
    title: texts.title.requeued,
    tone: "waiting",
    detail: data.why === "crashed" ? texts.putBack.crashed : texts.putBack.unread,
  }),
  stopped: () => ({ title: texts.title.stopped, tone: "trouble" }),
  compacted: (data) => ({
    title: texts.title.compacted,
    detail: texts.savedTokens(number(data.messages), number(data.tokensSaved)),
  }),
  compaction_failed: (data) => ({
    title: texts.title.compaction_failed,
    tone: "trouble",
    detail: sentences(reason(data), shown(text(data.error))),
  }),
  graph_changed: (data) => ({ title: texts.title.graph_changed, who: text(data.graph) }),
  reply_problem: (data) => ({ title: texts.title.reply_problem, tone: "trouble", detail: shown(text(data.problem)) }),
  warning: (data) => ({
    title: texts.title.warning,
    tone: "trouble",
    who: text(data.node),
    detail: shown(text(data.warning)),
  }),
  undelivered: (data) => ({
    title: texts.title.undelivered,
    tone: "trouble",
    detail: data.reason ? reasonInWords(text(data.reason), "deliver") : "",
  }),
  asked: () => ({ title: texts.title.asked, tone: "waiting" }),
  decided: (data) => ({
    title: texts.title.decided,
    tone: "done",
    detail: data.decision ? lookUp(texts.verdict, text(data.decision)) : "",
  }),
  accepted: () => ({ title: texts.title.accepted }),
  waiting: () => ({ title: texts.title.waiting, tone: "waiting" }),
  answered: () => ({ title: texts.title.answered, tone: "done" }),
  done: () => ({ title: texts.title.done, tone: "done" }),
  failed: ended,
  cancelled: ended,
  expired: ended,
  delivery: (data) => ({
    title: lookUp(texts.delivery, text(data.state)),
    tone:
      data.state === "sent"
        ? "done"
        : ["failed", "unknown", "expired"].includes(text(data.state))
          ? "trouble"
          : "plain",
    detail: sentences(Number(data.part) > 0 ? texts.part(number(Number(data.part) + 1)) : "", shown(text(data.error))),
  }),
};

/** The codes that have a text. */
export const KNOWN_STEPS: readonly string[] = Object.keys(SHOW);

function modelCall(data: Data): Shown {
  const failed = Boolean(data.error);
  const tokens = sentences(
    texts.tokens(number(data.inputTokens), number(data.outputTokens)),
    Number(data.cachedTokens) > 0 ? texts.cached(number(data.cachedTokens)) : "",
    data.priced === false ? texts.unpriced : "",
  );
  return {
    title: failed ? texts.title.model_failed : texts.title.model_call,
    tone: failed ? "trouble" : "done",
    detail: sentences(
      failed ? reasonInWords(text(data.error)) : "",
      shown(text(data.detail)),
      failed ? "" : tokens,
      data.account ? shown(texts.account(text(data.account))) : "",
    ),
  };
}

function ended(data: Data, code: string): Shown {
  return {
    title: lookUp(texts.title, code),
    tone: "trouble",
    detail: sentences(reason(data), shown(text(data.error))),
  };
}

function unknown(data: Data, code: string): Shown {
  return { title: code, output: rest(data, [], false) };
}

function later(data: Data, why: string): string {
  return sentences(why, typeof data.runAt === "number" ? texts.again(clock(data.runAt)) : "");
}

const on = (data: Data): string => (data.platform ? texts.platform(shown(text(data.platform))) : "");
const reason = (data: Data): string => (data.reason ? reasonInWords(text(data.reason)) : "");
const text = (value: unknown): string => (value === null || value === undefined ? "" : String(value));
const shown = (value: string): string => reveal(value);
const number = (value: unknown): string => count(Number(value ?? 0));

function lookUp(from: Record<string, string>, code: string): string {
  return from[code] ?? reveal(code);
}

/** The further fields of a step. `whole`: also the fields that the timeline shows elsewhere for other steps. */
function rest(data: Data, shown: readonly string[], whole: boolean): Data | undefined {
  const skipped = whole ? new Set(["at", "step", "actor", "durationMs", "costUsd"]) : COMMON;
  const left = Object.entries(data).filter(([name]) => !skipped.has(name) && !shown.includes(name));
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

/** Arguments arrive as a text that contains JSON, possibly truncated. */
const asJson = (value: unknown): unknown => (typeof value === "string" ? jsonOf(value, value) : value);
