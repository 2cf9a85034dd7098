import { useState } from "react";
import { useList, useSend } from "../../api/hooks";
import { Switch } from "../../parts/fields";
import { AgentFilter } from "../../parts/filters";
import { useFilter } from "../../parts/page";
import { ResourcePage } from "../../parts/resource";
import { Time, UntrustedText } from "../../parts/show";
import type { Column } from "../../parts/table";
import { GraphName, isWorkflow } from "../../parts/workflowGraph";
import { count, reveal } from "../../words/format";
import { texts } from "./texts";
import { WebhookSheet } from "./WebhookSheet";
import type { Webhook } from "./webhook";

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
  // The secret of a web hook that was just created: kept only here, until the user has seen it.
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

/** Turn a web hook on or off from its row. */
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
