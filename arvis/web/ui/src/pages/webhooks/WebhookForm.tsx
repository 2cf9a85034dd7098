import { useSend } from "../../api/hooks";
import { ChoiceField, TextArea, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { AgentField, NOWHERE, type Place, PlaceFields } from "../../parts/place";
import { texts as common } from "../../parts/texts";
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

type Props = { known?: Webhook; onSaved: (hook: Webhook) => void; onCancel: () => void };

/** Create a web hook, or change a `known` one. `onSaved` gets the complete secret if it was just created. */
export function WebhookForm({ known, onSaved, onCancel }: Props) {
  const { draft, of } = useDraft(() => draftOf(known));
  const graphs = [["", texts.graphAgent] as const, ...useWorkflowOptions(draft.graph)];
  const make = useSend("POST /api/webhooks", { quiet: true, done: texts.made });
  const change = useSend("PATCH /api/webhooks/{webhook}", { quiet: true, done: common.saved });
  const send = () => {
    const { place, secret, graph, ...rest } = draft;
    const body = { ...rest, ...place, graph: graph || null, ...(secret === "" ? {} : { secret }) };
    if (known === undefined) make.mutate({ body }, { onSuccess: onSaved });
    else change.mutate({ path: { webhook: known.id }, body }, { onSuccess: onSaved });
  };
  return (
    <Form onSend={send} by={[make, change]} onCancel={onCancel} label={known === undefined ? texts.add : common.edit}>
      <TextField label={texts.path} hint={texts.pathHint} required spellCheck={false} {...of("path")} />
      <TextField label={texts.name} {...of("name")} />
      <AgentField {...of("agent")} />
      <ChoiceField label={texts.graph} hint={texts.graphHint} options={graphs} {...of("graph")} />
      <TextArea label={texts.template} hint={texts.templateHint} required rows={5} {...of("template")} />
      <PlaceFields {...of("place")} />
      <ChoiceField label={texts.preset} hint={texts.presetHint[draft.preset]} options={PRESETS} {...of("preset")} />
      <TextField
        label={texts.ownSecret}
        hint={known === undefined ? texts.ownSecretHint : texts.newSecretHint}
        type="password"
        autoComplete="new-password"
        {...of("secret")}
      />
    </Form>
  );
}
