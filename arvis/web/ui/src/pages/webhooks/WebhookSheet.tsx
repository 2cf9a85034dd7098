import { KeyRound, Pencil } from "lucide-react";
import { useEffect, useRef } from "react";
import { useApi, useSend } from "../../api/hooks";
import { AskButton } from "../../parts/askButton";
import { Button } from "../../parts/button";
import { NEW, ResourceSheet } from "../../parts/resource";
import { Code, CopyButton, Facts, Status, Time, UntrustedText } from "../../parts/show";
import { texts as common } from "../../parts/texts";
import { GraphName } from "../../parts/workflowGraph";
import { count, reveal } from "../../words/format";
import { texts } from "./texts";
import { WebhookForm } from "./WebhookForm";
import { exampleOf, type Webhook } from "./webhook";
import styles from "./webhooks.module.css";

type WebhookSheetProps = {
  id: string;
  fresh: Webhook | null;
  onFresh: (hook: Webhook) => void;
  onSeen: () => void;
  onClose: () => void;
};

/** One web hook. `fresh` has its complete secret, right after its creation. */
export function WebhookSheet({ id, fresh, onFresh, onSeen, onClose }: WebhookSheetProps) {
  return (
    <ResourceSheet
      id={id}
      of={useApi("GET /api/webhooks/{webhook}", id === NEW ? null : { path: { webhook: id } })}
      texts={texts}
      title={(hook) => reveal(hook.name || hook.path)}
      onClose={onClose}
      above={fresh && <Secret hook={fresh} onSeen={onSeen} />}
      form={(known, close) => <WebhookForm known={known} onSaved={known ? close : onFresh} onCancel={close} />}
      actions={(hook, edit) => <Actions hook={hook} onEdit={edit} onFresh={onFresh} onRemoved={onClose} />}
    >
      {(hook) => <Body hook={hook} />}
    </ResourceSheet>
  );
}

type ActionsProps = { hook: Webhook; onEdit: () => void; onFresh: (hook: Webhook) => void; onRemoved: () => void };

function Actions({ hook, onEdit, onFresh, onRemoved }: ActionsProps) {
  const path = { webhook: hook.id };
  const rotate = useSend("POST /api/webhooks/{webhook}/rotate");
  const remove = useSend("DELETE /api/webhooks/{webhook}", { done: texts.removed });
  return (
    <>
      <Button label={common.edit} icon={Pencil} onClick={onEdit} />
      <AskButton
        icon={KeyRound}
        busy={rotate.isPending}
        label={texts.rotate}
        title={texts.rotateTitle}
        words={texts.rotateWhy}
        onYes={() => rotate.mutate({ path }, { onSuccess: onFresh })}
      />
      <AskButton
        kind="danger"
        busy={remove.isPending}
        label={common.remove}
        words={texts.removeWhy(reveal(hook.url))}
        onYes={() => remove.mutate({ path }, { onSuccess: onRemoved })}
      />
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
          [texts.agent, hook.agent],
          [texts.graph, hook.graph && <GraphName key="graph" graph={hook.graph} words={{}} />],
          [texts.posts, [hook.platform, hook.channelId, hook.thread].filter(Boolean).join(" · ")],
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

/** The complete secret, shown once, and a call signed with it. */
function Secret({ hook, onSeen }: { hook: Webhook; onSeen: () => void }) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    place.current?.scrollIntoView({ block: "nearest" });
  }, []);
  return (
    <section ref={place} className={styles.secret} aria-label={texts.secretTitle}>
      <h3>{texts.secretTitle}</h3>
      <p>{texts.secretWhy}</p>
      <p className={styles.address}>
        <code data-secret>{hook.secret}</code>
        <CopyButton text={hook.secret} label={texts.copySecret} />
      </p>
      <p>{texts.try}</p>
      <Code value={exampleOf(hook, window.location.origin)} label={texts.try} />
      <Button label={texts.understood} onClick={onSeen} />
    </section>
  );
}
