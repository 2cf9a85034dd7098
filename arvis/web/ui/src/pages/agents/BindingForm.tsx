import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { Button } from "../../parts/button";
import { Choice, Field } from "../../parts/field";
import { Form, FormButtons } from "../../parts/form";
import { Failure } from "../../parts/states";
import { texts as common } from "../../parts/texts";
import { reveal } from "../../words/format";
import type { Binding } from "./draft";
import { texts } from "./texts";

const PERMISSIONS = Object.entries(texts.permissions) as [Binding["permission"], string][];
const RESPONDS = Object.entries(texts.responds) as [NonNullable<Binding["respond"]>, string][];

/** Assign a channel to an agent, or change the settings of a `known` channel. */
export function BindingForm({ slug, known, onClose }: { slug: string; known?: Binding; onClose: () => void }) {
  const platforms = useApi("GET /api/platforms", {});
  const [platform, setPlatform] = useState(known?.platform ?? "discord");
  const [channel, setChannel] = useState(known?.channel ?? "");
  const [permission, setPermission] = useState<Binding["permission"]>(known?.permission ?? "full");
  const [respond, setRespond] = useState<NonNullable<Binding["respond"]> | "">(known?.respond ?? "");
  const [observe, setObserve] = useState(
    known?.observe === undefined || known.observe === null ? "" : String(known.observe),
  );
  const bind = useSend("POST /api/agents/{agent}/bindings", { quiet: true, done: texts.bound });
  const names = new Map((platforms.data?.items ?? []).map((one) => [one.name, one.title]));
  if (!names.has("web")) names.set("web", texts.web);
  if (!names.has(platform)) names.set(platform, platform);
  const body = {
    platform,
    channel: channel.trim(),
    permission,
    respond: respond || null,
    observe: observe === "" ? null : Number(observe),
  };
  const send = () => bind.mutate({ path: { agent: slug }, body }, { onSuccess: onClose });
  return (
    <Form label={texts.addChannel} onSend={send}>
      <Field label={texts.platform}>
        <Choice
          value={platform}
          disabled={known !== undefined}
          options={[...names].map(([name, title]) => [name, reveal(title)] as const)}
          onChange={setPlatform}
        />
      </Field>
      <Field label={texts.channel} hint={texts.channelHint}>
        <input
          value={channel}
          required
          disabled={known !== undefined}
          autoComplete="off"
          onChange={(event) => setChannel(event.target.value)}
        />
      </Field>
      <Field label={texts.permission} hint={texts.permissionHint}>
        <Choice value={permission} options={PERMISSIONS} onChange={setPermission} />
      </Field>
      <Field label={texts.respond}>
        <Choice value={respond} options={[["", texts.respondDefault], ...RESPONDS]} onChange={setRespond} />
      </Field>
      <Field label={texts.observe} hint={texts.observeHint}>
        <input type="number" step={1} value={observe} onChange={(event) => setObserve(event.target.value)} />
      </Field>
      {bind.error && <Failure error={bind.error} />}
      <FormButtons>
        <Button type="submit" kind="primary" busy={bind.isPending}>
          {known === undefined ? texts.addChannel : texts.save}
        </Button>
        <Button onClick={onClose}>{common.cancel}</Button>
      </FormButtons>
    </Form>
  );
}
