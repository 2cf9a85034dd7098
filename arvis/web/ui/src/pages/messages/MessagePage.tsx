import { RotateCcw } from "lucide-react";
import { useList, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { sends } from "../../parts/actions";
import { Button, ButtonLink } from "../../parts/button";
import { AgentFilter, Chips, FilterChoice, SearchField, useFilters } from "../../parts/page";
import { ResourcePage } from "../../parts/resource";
import { NOTHING, Time, UntrustedText } from "../../parts/show";
import { reasonInWords } from "../../parts/steps";
import type { Column } from "../../parts/table";
import { type Message, MessageSheet, MessageState, type MessageStatus, STATUSES } from "./MessageSheet";
import { texts } from "./texts";

/** The content of a row; with `mayAct`, failed rows have an action. */
function columns(mayAct: boolean): Column<Message>[] {
  return [
    { name: texts.status, width: "152px", show: (one) => <MessageState status={one.status} /> },
    { name: texts.what, width: "minmax(160px, 3fr)", show: (one) => one.preview },
    { name: texts.why, width: "minmax(110px, 2fr)", show: whyOf },
    {
      name: texts.agent,
      width: "minmax(72px, 1fr)",
      wide: true,
      show: (one) => (one.agent ? <UntrustedText text={one.agent} /> : NOTHING),
    },
    { name: texts.person, width: "minmax(72px, 1fr)", wide: true, show: (one) => <From message={one} /> },
    { name: texts.when, width: "116px", wide: true, show: (one) => <Time at={one.createdAt} /> },
    ...(mayAct
      ? [
          {
            name: texts.action,
            width: "88px",
            show: (one: Message) => one.status === "failed" && <Retry message={one} />,
          },
        ]
      : []),
  ];
}

/** The list explains failures only; the reason for routing is in the detail. */
function whyOf({ status, reason }: Message) {
  return reason !== null && WRONG.has(status) ? <UntrustedText text={reasonInWords(reason)} /> : null;
}

const WRONG = new Set(["failed", "dropped", "cancelled", "expired"]);

function From({ message }: { message: Message }) {
  return (
    <span title={message.platform}>
      <UntrustedText text={message.userName} /> <UntrustedText text={message.platform} className="muted" />
    </span>
  );
}

function Retry({ message }: { message: Message }) {
  const retry = useSend("POST /api/messages/{message}/retry", { done: texts.retried });
  return (
    <Button label={texts.retry} kind="quiet" icon={RotateCcw} {...sends(retry, { path: { message: message.id } })} />
  );
}

/** Messages of people, with their outcomes. */
export default function MessagePage() {
  const { status, agent, platform, q } = useFilters("status", "agent", "platform", "q");
  return (
    <ResourcePage
      home="/messages"
      texts={texts}
      label={texts.table}
      pages={useList("GET /api/messages", { status: status as MessageStatus, agent, platform, q })}
      columns={columns(useMay("operator"))}
      idOf={(message) => message.id}
      filters={
        <>
          <Chips
            label={texts.status}
            name="status"
            options={STATUSES.map((one) => [one, texts.statuses[one]] as const)}
          />
          <SearchField label={texts.search} />
          <AgentFilter />
          <FilterChoice
            label={texts.platform}
            name="platform"
            all={texts.everyPlatform}
            options={Object.entries(texts.platforms)}
          />
        </>
      }
      filtered={Boolean(status || agent || platform || q)}
      action={<ButtonLink label={texts.emptyAction} href="/chat" />}
      sheet={(id, { onClose }) => <MessageSheet id={id} onClose={onClose} />}
    />
  );
}
