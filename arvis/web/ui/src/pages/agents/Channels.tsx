import { Plus } from "lucide-react";
import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Button } from "../../parts/button";
import { ChoiceField, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { UntrustedText } from "../../parts/show";
import { Empty } from "../../parts/states";
import { texts as common } from "../../parts/texts";
import { useToast } from "../../parts/toast";
import { count, reveal } from "../../words/format";
import styles from "./agents.module.css";
import type { Agent, Binding } from "./draft";
import { texts } from "./texts";

/** The channels of an agent; they are added, changed and removed here. */
export function Channels({ agent }: { agent: Agent }) {
  const owns = useMay("owner") && agent.status !== "archived";
  const [form, setForm] = useState<Binding | "new" | null>(null);
  const add = owns && <Button label={texts.addChannel} kind="primary" icon={Plus} onClick={() => setForm("new")} />;
  const known = form === "new" || form === null ? undefined : form;
  return (
    <>
      {form !== null && (
        <BindingForm
          key={known ? `${known.platform}:${known.channel}` : "new"}
          slug={agent.slug}
          known={known}
          onClose={() => setForm(null)}
        />
      )}
      {agent.bindings.length === 0 && form === null && (
        <Empty why={texts.noChannelsWhy} title={texts.noChannels} action={add} />
      )}
      {agent.bindings.length > 0 && (
        <>
          <p className="muted">{texts.channelsAbout}</p>
          {form === null && add && <div>{add}</div>}
          <ul className={styles.bindings}>
            {agent.bindings.map((binding) => (
              <Row
                key={`${binding.platform}:${binding.channel}`}
                slug={agent.slug}
                binding={binding}
                onChange={owns ? () => setForm(binding) : null}
              />
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function Row({ slug, binding, onChange }: { slug: string; binding: Binding; onChange: (() => void) | null }) {
  const { tell } = useToast();
  const path = { agent: slug };
  const remove = useSend("DELETE /api/agents/{agent}/bindings");
  const again = useSend("POST /api/agents/{agent}/bindings", { done: common.undone });
  const { platform, channel, permission, respond, observe } = binding;
  const drop = () =>
    remove.mutate(
      { path, query: { platform, channel } },
      {
        onSuccess: () => tell(texts.removed, { words: common.undo, act: () => again.mutate({ path, body: binding }) }),
      },
    );
  return (
    <li>
      <div>
        <UntrustedText text={`${platform}:${channel}`} />
        <p className="muted">
          {[
            texts.permissions[permission],
            respond === null ? null : texts.responds[respond],
            observe === null ? null : texts.observes(count(observe)),
          ]
            .filter(Boolean)
            .join(" · ")}
        </p>
      </div>
      {onChange && (
        <div className={styles.rowActions}>
          <Button label={texts.changeChannel} onClick={onChange} />
          <Button label={common.remove} kind="danger" busy={remove.isPending} onClick={drop} />
        </div>
      )}
    </li>
  );
}

const PERMISSIONS = Object.entries(texts.permissions) as [Binding["permission"], string][];
const RESPONDS = Object.entries(texts.responds) as [NonNullable<Binding["respond"]>, string][];

/** Assign a channel to an agent, or change the settings of a `known` channel. */
function BindingForm({ slug, known, onClose }: { slug: string; known?: Binding; onClose: () => void }) {
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
