import { Plus } from "lucide-react";
import { useState } from "react";
import { useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Button } from "../../parts/button";
import { UntrustedText } from "../../parts/show";
import { Empty } from "../../parts/states";
import { texts as common } from "../../parts/texts";
import { useToast } from "../../parts/toast";
import { count } from "../../words/format";
import styles from "./agents.module.css";
import { BindingForm } from "./BindingForm";
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
