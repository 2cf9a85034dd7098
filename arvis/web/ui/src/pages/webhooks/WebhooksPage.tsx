import { KeyRound, Pencil } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useApi, useList, useSend } from "../../api/hooks";
import { AskButton, sends } from "../../parts/actions";
import { Button } from "../../parts/button";
import { ChoiceField, Switch, TextArea, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { AgentFilter, useFilter } from "../../parts/page";
import { AgentField, NOWHERE, type Place, PlaceFields } from "../../parts/place";
import { NEW, ResourcePage, ResourceSheet } from "../../parts/resource";
import { Code, CopyButton, Facts, Status, Time, UntrustedText } from "../../parts/show";
import type { Column } from "../../parts/table";
import { texts as common } from "../../parts/texts";
import { GraphName, isWorkflow, useWorkflowOptions } from "../../parts/workflowGraph";
import { count, reveal } from "../../words/format";
import { texts } from "./texts";
import { exampleOf, type Webhook } from "./webhook";
import styles from "./webhooks.module.css";

const COLUMNS: Column<Webhook>[] = [
  { name: texts.address, width: "minmax(140px, 2fr)", show: (hook) => hook.url },
  { name: texts.name, width: "minmax(80px, 1fr)", wide: true, show: (hook) => hook.name },
  {
    name: texts.answeredBy,
    width: "minmax(80px, 1fr)",
    show: (hook) =>
      isWorkflow(hook.graph) ? <GraphName graph={hook.graph} words={{}} /> : <UntrustedText text={hook.agent} />,
  },
  { name: texts.preset, width: "130px", wide: true, show: (hook) => texts.presets[hook.preset] },
  { name: texts.calls, width: "64px", wide: true, show: (hook) => count(hook.triggerCount) },
  { name: texts.last, width: "116px", wide: true, show: (hook) => <Time at={hook.lastTriggered} /> },
  { name: texts.on, width: "44px", show: (hook) => <Enabled hook={hook} /> },
];

/** Addresses that other programs call. */
export default function WebhooksPage() {
  const [agent] = useFilter("agent");
  // The secret of a webhook that was just created: kept only here, until the user has seen it.
  const [fresh, setFresh] = useState<Webhook | null>(null);
  return (
    <ResourcePage
      home="/settings/webhooks"
      texts={texts}
      pages={useList("GET /api/webhooks", { agent })}
      columns={COLUMNS}
      idOf={(hook) => hook.id}
      mayAdd
      filters={<AgentFilter />}
      sheet={(id, { onOpen, onClose }) => (
        <WebhookSheet
          id={id}
          fresh={fresh?.id === id ? fresh : null}
          onFresh={(hook) => {
            setFresh(hook);
            onOpen(hook.id);
          }}
          onSeen={() => setFresh(null)}
          onClose={() => {
            setFresh(null);
            onClose();
          }}
        />
      )}
    />
  );
}

/** Turn a webhook on or off from its row. */
function Enabled({ hook }: { hook: Webhook }) {
  const change = useSend("PATCH /api/webhooks/{webhook}");
  return (
    <Switch
      on={hook.enabled}
      busy={change.isPending}
      name={reveal(hook.path)}
      onChange={(enabled) => change.mutate({ path: { webhook: hook.id }, body: { enabled } })}
    />
  );
}

type WebhookSheetProps = {
  id: string;
  fresh: Webhook | null;
  onFresh: (hook: Webhook) => void;
  onSeen: () => void;
  onClose: () => void;
};

/** One webhook. `fresh` has its complete secret, right after its creation. */
function WebhookSheet({ id, fresh, onFresh, onSeen, onClose }: WebhookSheetProps) {
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
        label={texts.rotate}
        title={texts.rotateTitle}
        words={texts.rotateWhy}
        {...sends(rotate, { path }, { onSuccess: onFresh })}
      />
      <AskButton
        kind="danger"
        label={common.delete}
        words={texts.removeWhy(reveal(hook.url))}
        {...sends(remove, { path }, { onSuccess: onRemoved })}
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

/** Create a webhook, or change a `known` one. `onSaved` gets the complete secret if it was just created. */
function WebhookForm({ known, onSaved, onCancel }: Props) {
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
