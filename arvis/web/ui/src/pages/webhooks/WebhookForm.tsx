import { useState } from "react";
import { useSend } from "../../api/hooks";
import { Button } from "../../parts/button";
import { Choice, Field, Form, FormButtons } from "../../parts/field";
import { AgentField, NOWHERE, type Place, PlaceFields } from "../../parts/place";
import { Failure } from "../../parts/states";
import { useWorkflowOptions } from "../../parts/workflowGraph";
import { texts } from "./texts";
import type { Webhook } from "./webhook";

const PRESETS = Object.entries(texts.presets) as [Webhook["preset"], string][];

type Draft = Pick<Webhook, "path" | "name" | "agent" | "preset" | "template"> & {
  place: Place;
  secret: string;
  graph: string;
};

function draftOf(hook: Webhook | undefined): Draft {
  if (hook === undefined) {
    const blank = { path: "", name: "", agent: "", preset: "plain", template: texts.templateStart } as const;
    return { ...blank, place: NOWHERE, secret: "", graph: "" };
  }
  const { path, name, agent, preset, template, platform, connector, channelId, thread } = hook;
  const place = { platform, connector, channelId, thread };
  return { path, name, agent, preset, template, place, secret: "", graph: hook.graph ?? "" };
}

/** Create a web hook, or change a `known` one. `onSaved` gets the complete secret if it was just created. */
export function WebhookForm({
  known,
  onSaved,
  onCancel,
}: {
  known?: Webhook;
  onSaved: (hook: Webhook) => void;
  onCancel: () => void;
}) {
  const [draft, setDraft] = useState(() => draftOf(known));
  const set = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const graphs = [["", texts.graphAgent] as const, ...useWorkflowOptions(draft.graph)];
  const make = useSend("POST /api/webhooks", { quiet: true, done: texts.made });
  const change = useSend("PATCH /api/webhooks/{webhook}", { quiet: true, done: texts.saved });
  const error = make.error ?? change.error;
  const send = () => {
    const { place, secret, graph, ...rest } = draft;
    const body = { ...rest, ...place, graph: graph || null, ...(secret === "" ? {} : { secret }) };
    if (known === undefined) make.mutate({ body }, { onSuccess: onSaved });
    else change.mutate({ path: { webhook: known.id }, body }, { onSuccess: onSaved });
  };
  return (
    <Form onSend={send} label={known === undefined ? texts.add : texts.edit}>
      {error && <Failure error={error} />}
      <Field label={texts.path} hint={texts.pathHint}>
        <input
          value={draft.path}
          required
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => set({ path: event.target.value })}
        />
      </Field>
      <Field label={texts.name}>
        <input value={draft.name} autoComplete="off" onChange={(event) => set({ name: event.target.value })} />
      </Field>
      <AgentField value={draft.agent} onChange={(agent) => set({ agent })} />
      <Field label={texts.graph} hint={texts.graphHint}>
        <Choice value={draft.graph} options={graphs} onChange={(graph) => set({ graph })} />
      </Field>
      <Field label={texts.template} hint={texts.templateHint}>
        <textarea
          value={draft.template}
          required
          rows={5}
          onChange={(event) => set({ template: event.target.value })}
        />
      </Field>
      <PlaceFields value={draft.place} onChange={(place) => set({ place })} />
      <Field label={texts.preset} hint={texts.presetHint[draft.preset]}>
        <Choice value={draft.preset} options={PRESETS} onChange={(preset) => set({ preset })} />
      </Field>
      <Field label={texts.ownSecret} hint={known === undefined ? texts.ownSecretHint : texts.newSecretHint}>
        <input
          type="password"
          value={draft.secret}
          autoComplete="new-password"
          onChange={(event) => set({ secret: event.target.value })}
        />
      </Field>
      <FormButtons>
        <Button type="submit" kind="primary" busy={make.isPending || change.isPending}>
          {texts.save}
        </Button>
        <Button onClick={onCancel}>{texts.cancel}</Button>
      </FormButtons>
    </Form>
  );
}
