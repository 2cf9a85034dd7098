import { KeyRound, Pencil } from "lucide-react";
import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { Button } from "../../parts/button";
import { NEW } from "../../parts/detail";
import { useAsk } from "../../parts/dialog";
import { Sheet } from "../../parts/page";
import { CopyButton, Facts, Status, Time, UntrustedText } from "../../parts/show";
import { Empty, Loaded } from "../../parts/states";
import { GraphName } from "../../parts/workflowGraph";
import { count, reveal } from "../../words/format";
import { Secret } from "./Secret";
import { texts } from "./texts";
import { WebhookForm } from "./WebhookForm";
import type { Webhook } from "./webhook";
import styles from "./webhooks.module.css";

const NOT_FOUND = 404;

/** One web hook. `fresh` has its complete secret, right after its creation. */
export function WebhookSheet({
  id,
  fresh,
  onFresh,
  onSeen,
  onClose,
}: {
  id: string;
  fresh: Webhook | null;
  onFresh: (hook: Webhook) => void;
  onSeen: () => void;
  onClose: () => void;
}) {
  const found = useApi("GET /api/webhooks/{webhook}", id === NEW ? null : { path: { webhook: id } });
  const [editing, setEditing] = useState(false);
  if (id === NEW) {
    return (
      <Sheet title={texts.add} onClose={onClose}>
        <WebhookForm onSaved={onFresh} onCancel={onClose} />
      </Sheet>
    );
  }
  if (found.error?.status === NOT_FOUND) {
    return (
      <Sheet title={texts.gone} onClose={onClose}>
        <Empty title={texts.gone}>{texts.goneWhy}</Empty>
      </Sheet>
    );
  }
  return (
    <Sheet
      title={found.data === undefined ? "" : reveal(found.data.name || found.data.path)}
      onClose={onClose}
      actions={
        found.data &&
        !editing && <Actions hook={found.data} onEdit={() => setEditing(true)} onFresh={onFresh} onRemoved={onClose} />
      }
    >
      {fresh && <Secret hook={fresh} onSeen={onSeen} />}
      <Loaded of={found}>
        {(hook) =>
          editing ? (
            <WebhookForm known={hook} onSaved={() => setEditing(false)} onCancel={() => setEditing(false)} />
          ) : (
            <Body hook={hook} />
          )
        }
      </Loaded>
    </Sheet>
  );
}

function Actions({
  hook,
  onEdit,
  onFresh,
  onRemoved,
}: {
  hook: Webhook;
  onEdit: () => void;
  onFresh: (hook: Webhook) => void;
  onRemoved: () => void;
}) {
  const path = { webhook: hook.id };
  const ask = useAsk();
  const rotate = useSend("POST /api/webhooks/{webhook}/rotate");
  const remove = useSend("DELETE /api/webhooks/{webhook}", { done: texts.removed });
  const turn = async () => {
    if (await ask({ title: texts.rotateTitle, words: texts.rotateWhy, yes: texts.rotate, danger: true })) {
      rotate.mutate({ path }, { onSuccess: onFresh });
    }
  };
  const drop = async () => {
    const words = texts.removeWhy(reveal(hook.url));
    if (await ask({ title: texts.remove, words, yes: texts.remove, danger: true })) {
      // The removal notice may arrive first and unmount this button: the follow-up must not depend on it.
      remove.mutateAsync({ path }).then(onRemoved, () => {});
    }
  };
  return (
    <>
      <Button icon={<Pencil aria-hidden />} onClick={onEdit}>
        {texts.edit}
      </Button>
      <Button icon={<KeyRound aria-hidden />} busy={rotate.isPending} onClick={() => void turn()}>
        {texts.rotate}
      </Button>
      <Button kind="danger" busy={remove.isPending} onClick={() => void drop()}>
        {texts.remove}
      </Button>
    </>
  );
}

function Body({ hook }: { hook: Webhook }) {
  const address = `${window.location.origin}${hook.url}`;
  return (
    <>
      <Facts
        of={[
          [
            texts.address,
            <span key="address" className={styles.address}>
              <UntrustedText text={address} />
              <CopyButton text={address} label={texts.copyAddress} />
            </span>,
          ],
          [
            texts.on,
            <Status key="on" tone={hook.enabled ? "good" : "plain"}>
              {hook.enabled ? texts.on : texts.off}
            </Status>,
          ],
          [texts.agent, <UntrustedText key="agent" text={hook.agent} />],
          [texts.graph, hook.graph && <GraphName key="graph" graph={hook.graph} words={{}} />],
          [
            texts.posts,
            <UntrustedText
              key="place"
              text={[hook.platform, hook.channelId, hook.thread].filter(Boolean).join(" · ")}
            />,
          ],
          [texts.preset, texts.presets[hook.preset]],
          [texts.secret, hook.secret],
          [texts.calls, count(hook.triggerCount)],
          [texts.last, <Time key="last" at={hook.lastTriggered} />],
        ]}
      />
      <h3>{texts.template}</h3>
      <p className={styles.template}>
        <UntrustedText text={hook.template} />
      </p>
    </>
  );
}
