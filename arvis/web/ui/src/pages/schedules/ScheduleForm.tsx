import { useState } from "react";
import { useSend } from "../../api/hooks";
import { ChoiceField, type DraftOf, TextArea, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { EffortField, ModelField } from "../../parts/modelFields";
import { AgentField, PlaceFields } from "../../parts/place";
import { texts as common } from "../../parts/texts";
import { isWorkflow, useWorkflowOptions } from "../../parts/workflowGraph";
import { reveal } from "../../words/format";
import { BLANK, bodyOf, type Draft, draftOf, given } from "./draft";
import type { Kind, ScheduleDetail } from "./schedule";
import styles from "./schedules.module.css";
import { texts } from "./texts";

const KINDS = Object.entries(texts.kinds) as [Kind, string][];

type Props = { known?: ScheduleDetail; onSaved: (id: string) => void; onCancel: () => void };

/** Create a schedule, or change a `known` one; its agent and kind cannot be changed. */
export function ScheduleForm({ known, onSaved, onCancel }: Props) {
  const { draft, of } = useDraft(known === undefined ? BLANK : draftOf(known));
  const [wrong, setWrong] = useState<string | null>(null);
  const make = useSend("POST /api/schedules", { quiet: true, done: texts.made });
  const change = useSend("PATCH /api/schedules/{schedule}", { quiet: true, done: common.saved });
  const send = () => {
    const body = read(draft, setWrong);
    if (body === null) return;
    if (known !== undefined) {
      change.mutate({ path: { schedule: known.id }, body }, { onSuccess: () => onSaved(known.id) });
      return;
    }
    const kind = draft.kind === "script" ? "heartbeat" : draft.kind;
    make.mutate({ body: { ...given(body), kind, agent: draft.agent } }, { onSuccess: (made) => onSaved(made.id) });
  };
  return (
    <Form onSend={send} by={[make, change]} onCancel={onCancel} label={known === undefined ? texts.add : common.edit}>
      {known === undefined && (
        <>
          <ChoiceField label={texts.kind} hint={texts.kindHint[draft.kind]} options={KINDS} {...of("kind")} />
          <AgentField {...of("agent")} />
        </>
      )}
      <TextField label={texts.name} {...of("name")} />
      <TextField label={texts.schedule} hint={texts.scheduleHint} required spellCheck={false} {...of("schedule")} />
      {draft.kind === "script" ? (
        <TextArea
          label={texts.script}
          hint={texts.scriptHint}
          error={wrong}
          rows={8}
          spellCheck={false}
          {...of("script")}
        />
      ) : (
        <TextArea label={texts.prompt} hint={texts.promptHint} rows={5} {...of("prompt")} />
      )}
      <PlaceFields {...of("place")} />
      <MoreFields draft={draft} of={of} />
    </Form>
  );
}

function read(draft: Draft, wrong: (why: string | null) => void): ReturnType<typeof bodyOf> | null {
  try {
    const body = bodyOf(draft);
    wrong(null);
    return body;
  } catch (error) {
    wrong(texts.scriptWrong(error instanceof Error ? error.message : String(error)));
    return null;
  }
}

const MISSED = Object.entries(texts.missedKinds) as [Draft["missed"], string][];
const ZONES: readonly string[] = Intl.supportedValuesOf("timeZone");

/** Rarely changed fields. */
function MoreFields({ draft, of }: DraftOf<Draft>) {
  const zones = draft.timezone === "" || ZONES.includes(draft.timezone) ? ZONES : [draft.timezone, ...ZONES];
  const graphs = [...Object.entries(texts.graphs), ...useWorkflowOptions(draft.graph)];
  const known = graphs.some(([name]) => name === draft.graph);
  return (
    <details className={styles.more}>
      <summary>{texts.more}</summary>
      <ChoiceField
        label={texts.timezone}
        options={[["", texts.ownZone], ...zones.map((zone) => [zone, zone] as const)]}
        {...of("timezone")}
      />
      <ChoiceField label={texts.missed} options={MISSED} {...of("missed")} />
      <TextField label={texts.grace} hint={texts.graceHint} type="number" min={0} step="any" {...of("grace")} />
      {draft.kind !== "script" && (
        <ChoiceField
          label={texts.graph}
          options={known ? graphs : [[draft.graph, reveal(draft.graph)], ...graphs]}
          {...of("graph")}
        />
      )}
      {!isWorkflow(draft.graph) && (
        <>
          <ModelField label={texts.model} hint={texts.modelHint} unset={texts.ownModel} {...of("model")} />
          <EffortField label={texts.effort} hint={texts.effortHint} unset={texts.ownEffort} {...of("effort")} />
        </>
      )}
      {draft.kind === "heartbeat" && (
        <TextField label={texts.cycles} hint={texts.cyclesHint} type="number" min={1} max={10} {...of("cycles")} />
      )}
    </details>
  );
}
