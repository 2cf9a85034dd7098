import { Plus } from "lucide-react";
import { useState } from "react";
import { useList, useSend } from "../../api/hooks";
import { AgentFilter } from "../../parts/agentFilter";
import { Button } from "../../parts/button";
import { NEW, useDetail } from "../../parts/detail";
import { Page, useFilter } from "../../parts/page";
import { Time, UntrustedText } from "../../parts/show";
import { Empty } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { GraphName, isWorkflow } from "../../parts/workflowGraph";
import { count, reveal } from "../../words/format";
import { texts } from "./texts";
import { WebhookSheet } from "./WebhookSheet";
import type { Webhook } from "./webhook";

const ADDRESS: Column<Webhook> = {
  name: texts.address,
  width: "minmax(140px, 2fr)",
  show: (hook) => <UntrustedText text={hook.url} />,
};
const AGENT: Column<Webhook> = {
  name: texts.answeredBy,
  width: "minmax(80px, 1fr)",
  show: (hook) =>
    isWorkflow(hook.graph) ? <GraphName graph={hook.graph} words={{}} /> : <UntrustedText text={hook.agent} />,
};
const SWITCH: Column<Webhook> = { name: texts.on, width: "44px", show: (hook) => <Switch hook={hook} /> };
const COLUMNS: Column<Webhook>[] = [
  ADDRESS,
  { name: texts.name, width: "minmax(80px, 1fr)", show: (hook) => <UntrustedText text={hook.name} /> },
  AGENT,
  { name: texts.preset, width: "130px", show: (hook) => texts.presets[hook.preset] },
  { name: texts.calls, width: "64px", show: (hook) => count(hook.triggerCount) },
  { name: texts.last, width: "116px", show: (hook) => <Time at={hook.lastTriggered} /> },
  SWITCH,
];
/** The columns if a detail is shown beside the list. */
const FEWER: Column<Webhook>[] = [ADDRESS, AGENT, SWITCH];

/** Addresses that other programs call. */
export default function WebhooksPage() {
  const [agent] = useFilter("agent");
  const pages = useList("GET /api/webhooks", { agent });
  const { id, open, close } = useDetail("/settings/webhooks");
  // The secret of a web hook that was just created: kept only here, until the user has seen it.
  const [fresh, setFresh] = useState<Webhook | null>(null);
  const add = (
    <Button kind="primary" icon={<Plus aria-hidden />} onClick={() => open(NEW)}>
      {texts.add}
    </Button>
  );
  const made = (hook: Webhook) => {
    setFresh(hook);
    open(hook.id);
  };
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={add}
      filters={<AgentFilter />}
      sheet={
        id && (
          <WebhookSheet
            key={id}
            id={id}
            fresh={fresh?.id === id ? fresh : null}
            onFresh={made}
            onSeen={() => setFresh(null)}
            onClose={() => {
              setFresh(null);
              close();
            }}
          />
        )
      }
    >
      <Table
        label={texts.title}
        columns={id === null ? COLUMNS : FEWER}
        pages={pages}
        idOf={(hook) => hook.id}
        onOpen={(hook) => open(hook.id)}
        openId={id}
        empty={
          <Empty title={texts.empty} action={add}>
            {texts.emptyWhy}
          </Empty>
        }
      />
    </Page>
  );
}

/** Turn a web hook on or off from its row. */
function Switch({ hook }: { hook: Webhook }) {
  const change = useSend("PATCH /api/webhooks/{webhook}");
  const path = reveal(hook.path);
  return (
    <input
      type="checkbox"
      aria-label={hook.enabled ? texts.turnOff(path) : texts.turnOn(path)}
      checked={change.isPending ? !hook.enabled : hook.enabled}
      disabled={change.isPending}
      onChange={() => change.mutate({ path: { webhook: hook.id }, body: { enabled: !hook.enabled } })}
    />
  );
}
