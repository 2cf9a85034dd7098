import { useState } from "react";
import { useSend } from "../../api/hooks";
import { ChoiceField, TextArea, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { AgentField, PlaceFields } from "../../parts/place";
import { texts as common } from "../../parts/texts";
import { BLANK, bodyOf, type Draft, draftOf, given } from "./draft";
import { MoreFields } from "./MoreFields";
import type { Kind, ScheduleDetail } from "./schedule";
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
