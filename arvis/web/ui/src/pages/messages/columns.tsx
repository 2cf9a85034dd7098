import { RotateCcw } from "lucide-react";
import { useSend } from "../../api/hooks";
import { Button } from "../../parts/button";
import { NOTHING, Time, UntrustedText } from "../../parts/show";
import { reasonInWords } from "../../parts/steps";
import type { Column } from "../../parts/table";
import { type Message, MessageState } from "./message";
import { texts } from "./texts";

/** The content of a row; with `mayAct`, failed rows have an action. */
export function columns(mayAct: boolean): Column<Message>[] {
  return [
    { name: texts.status, width: "152px", show: (one) => <MessageState status={one.status} /> },
    { name: texts.what, width: "minmax(160px, 3fr)", show: (one) => <UntrustedText text={one.preview} /> },
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
    <Button
      label={texts.retry}
      kind="quiet"
      icon={RotateCcw}
      busy={retry.isPending}
      onClick={() => retry.mutate({ path: { message: message.id } })}
    />
  );
}
