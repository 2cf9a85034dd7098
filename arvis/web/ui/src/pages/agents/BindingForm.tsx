import { useApi, useSend } from "../../api/hooks";
import { ChoiceField, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { texts as common } from "../../parts/texts";
import { reveal } from "../../words/format";
import type { Binding } from "./draft";
import { texts } from "./texts";

const PERMISSIONS = Object.entries(texts.permissions) as [Binding["permission"], string][];
const RESPONDS = Object.entries(texts.responds) as [NonNullable<Binding["respond"]>, string][];

/** Assign a channel to an agent, or change the settings of a `known` channel. */
export function BindingForm({ slug, known, onClose }: { slug: string; known?: Binding; onClose: () => void }) {
  const platforms = useApi("GET /api/platforms", {});
  const { draft, of } = useDraft({
    platform: known?.platform ?? "discord",
    channel: known?.channel ?? "",
    permission: known?.permission ?? ("full" as Binding["permission"]),
    respond: known?.respond ?? ("" as NonNullable<Binding["respond"]> | ""),
    observe: known?.observe === undefined || known.observe === null ? "" : String(known.observe),
  });
  const { platform, channel, permission, respond, observe } = draft;
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
    <Form
      label={texts.addChannel}
      onSend={send}
      by={[bind]}
      save={known === undefined ? texts.addChannel : common.save}
      onCancel={onClose}
    >
      <ChoiceField
        label={texts.platform}
        disabled={known !== undefined}
        options={[...names].map(([name, title]) => [name, reveal(title)] as const)}
        {...of("platform")}
      />
      <TextField
        label={texts.channel}
        hint={texts.channelHint}
        required
        disabled={known !== undefined}
        {...of("channel")}
      />
      <ChoiceField label={texts.permission} hint={texts.permissionHint} options={PERMISSIONS} {...of("permission")} />
      <ChoiceField label={texts.respond} options={[["", texts.respondDefault], ...RESPONDS]} {...of("respond")} />
      <TextField label={texts.observe} hint={texts.observeHint} type="number" step={1} {...of("observe")} />
    </Form>
  );
}
