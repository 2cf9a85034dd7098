/** A schedule in its form: numbers and JSON are texts, as the user typed them. */

import type { Effort } from "../../parts/modelFields";
import { NOWHERE, type Place } from "../../parts/place";
import { isWorkflow } from "../../parts/workflowGraph";
import { type Kind, kindOf, type ScheduleDetail } from "./schedule";

const MINUTE_MS = 60_000;
const SCRIPT = `{
  "type": "script",
  "url": "",
  "template": "It costs {{data.usd}} $"
}`;

export type Draft = {
  kind: Kind;
  agent: string;
  name: string;
  schedule: string;
  timezone: string;
  prompt: string;
  place: Place;
  missed: ScheduleDetail["misfirePolicy"];
  grace: string;
  graph: string;
  model: string;
  effort: Effort;
  cycles: string;
  script: string;
};

export const BLANK: Draft = {
  ...{ kind: "cron", agent: "", name: "", schedule: "every day", timezone: "", prompt: "", place: NOWHERE },
  ...{ missed: "once", grace: "", graph: "", model: "", effort: "", cycles: "1", script: SCRIPT },
};

export function draftOf(one: ScheduleDetail): Draft {
  return {
    kind: kindOf(one),
    agent: one.agent,
    name: one.name,
    schedule: one.schedule,
    timezone: one.timezone ?? "",
    prompt: one.prompt,
    place: { platform: one.platform, connector: one.connector, channelId: one.channelId, thread: one.thread },
    missed: one.misfirePolicy,
    grace: one.misfireGraceMs === null ? "" : String(one.misfireGraceMs / MINUTE_MS),
    graph: one.graph ?? "",
    model: one.model ?? "",
    effort: one.effort ?? "",
    cycles: String(one.maxIterations),
    script: one.script === null ? SCRIPT : JSON.stringify(one.script, null, 2),
  };
}

/** The fields for the API. Throws an error if the script is not valid JSON. */
export function bodyOf(draft: Draft) {
  return {
    name: draft.name,
    schedule: draft.schedule,
    prompt: draft.prompt,
    ...draft.place,
    misfirePolicy: draft.missed,
    timezone: draft.timezone || null,
    misfireGraceMs: draft.grace === "" ? null : Math.round(Number(draft.grace) * MINUTE_MS),
    graph: draft.kind === "script" ? null : draft.graph || null,
    // Each node of a workflow has its own model and effort.
    model: isWorkflow(draft.graph) ? null : draft.model.trim() || null,
    effort: isWorkflow(draft.graph) ? null : draft.effort || null,
    maxIterations: Number(draft.cycles) || 1,
    script: draft.kind === "script" ? (JSON.parse(draft.script) as Record<string, unknown>) : null,
  };
}

/** The fields without the unset ones, because a new schedule has no value to remove. */
export function given(body: ReturnType<typeof bodyOf>) {
  const { timezone, misfireGraceMs, graph, model, effort, script, ...rest } = body;
  return {
    ...rest,
    timezone: timezone ?? undefined,
    misfireGraceMs: misfireGraceMs ?? undefined,
    graph: graph ?? undefined,
    model: model ?? undefined,
    effort: effort ?? undefined,
    script: script ?? undefined,
  };
}
