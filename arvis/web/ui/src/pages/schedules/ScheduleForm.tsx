import { useState } from "react";
import { useSend } from "../../api/hooks";
import { Button } from "../../parts/button";
import { Choice, Field, Form, FormButtons } from "../../parts/field";
import { AgentField, PlaceFields } from "../../parts/place";
import { Failure } from "../../parts/states";
import { BLANK, bodyOf, type Draft, draftOf, given } from "./draft";
import { MoreFields } from "./MoreFields";
import type { Kind, ScheduleDetail } from "./schedule";
import { texts } from "./texts";

const KINDS = Object.entries(texts.kinds) as [Kind, string][];

/** Create a schedule, or change a `known` one; its agent and kind cannot be changed. */
export function ScheduleForm({
  known,
  onSaved,
  onCancel,
}: {
  known?: ScheduleDetail;
  onSaved: (id: string) => void;
  onCancel: () => void;
}) {
  const [draft, setDraft] = useState<Draft>(known === undefined ? BLANK : draftOf(known));
  const [wrong, setWrong] = useState<string | null>(null);
  const make = useSend("POST /api/schedules", { quiet: true, done: texts.made });
  const change = useSend("PATCH /api/schedules/{schedule}", { quiet: true, done: texts.saved });
  const set = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const error = make.error ?? change.error;
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
    <Form onSend={send} label={known === undefined ? texts.add : texts.edit}>
      {error && <Failure error={error} />}
      {known === undefined && (
        <>
          <Field label={texts.kind} hint={texts.kindHint[draft.kind]}>
            <Choice value={draft.kind} options={KINDS} onChange={(kind) => set({ kind })} />
          </Field>
          <AgentField value={draft.agent} onChange={(agent) => set({ agent })} />
        </>
      )}
      <Field label={texts.name}>
        <input value={draft.name} autoComplete="off" onChange={(event) => set({ name: event.target.value })} />
      </Field>
      <Field label={texts.schedule} hint={texts.scheduleHint}>
        <input
          value={draft.schedule}
          required
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => set({ schedule: event.target.value })}
        />
      </Field>
      {draft.kind === "script" ? (
        <Field label={texts.script} hint={texts.scriptHint} error={wrong}>
          <textarea
            value={draft.script}
            rows={8}
            spellCheck={false}
            onChange={(event) => set({ script: event.target.value })}
          />
        </Field>
      ) : (
        <Field label={texts.prompt} hint={texts.promptHint}>
          <textarea value={draft.prompt} rows={5} onChange={(event) => set({ prompt: event.target.value })} />
        </Field>
      )}
      <PlaceFields value={draft.place} onChange={(place) => set({ place })} />
      <MoreFields draft={draft} set={set} />
      <FormButtons>
        <Button type="submit" kind="primary" busy={make.isPending || change.isPending}>
          {texts.save}
        </Button>
        <Button onClick={onCancel}>{texts.cancel}</Button>
      </FormButtons>
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
