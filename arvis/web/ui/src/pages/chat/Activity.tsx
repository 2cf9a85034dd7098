import { Square } from "lucide-react";
import { useApi } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Button } from "../../parts/button";
import { reveal } from "../../words/format";
import type { Chat, View } from "./chat";
import styles from "./chat.module.css";
import { firstOpen, isStreaming, speaker, type UserEntry } from "./conversation";
import { Elapsed } from "./Elapsed";
import { texts } from "./texts";

const SECONDS_AFTER_MS = 3_000;

type Props = { chat: Chat; view: View; who: (slug: string | null) => string; mayStop: boolean };

/** One line about the agent's current activity, in a fixed position so that nothing moves when it appears. */
export function Activity({ chat, view, who, mayStop }: Props) {
  const open = firstOpen(view.talk);
  const busy = open?.status === "working" || isStreaming(view.talk);
  const stoppable = open !== undefined || isStreaming(view.talk);
  return (
    <div className={styles.activity} data-activity>
      {busy && (
        <>
          <span className={styles.dots} aria-hidden>
            <i />
            <i />
            <i />
          </span>
          <span>
            {texts.working(who(speaker(view.talk)))}
            {open && <Doing entry={open} chat={chat} streaming={isStreaming(view.talk)} />}
            {open && <Elapsed since={open.at} after={SECONDS_AFTER_MS} words={(time) => ` · ${time}`} />}
          </span>
        </>
      )}
      {stoppable && mayStop && view.link.name === "ready" && (
        <Button label={texts.stop} className={styles.stop} icon={Square} onClick={() => chat.stop()} />
      )}
    </div>
  );
}

/** The current activity: the agent's own progress text, else the name of the last step. */
function Doing({ entry, chat, streaming }: { entry: UserEntry; chat: Chat; streaming: boolean }) {
  const operates = useMay("operator");
  const activity = useApi("GET /api/activity", operates ? {} : null);
  const id = entry.messageId;
  const timeline = useApi("GET /api/messages/{message}", id === null || streaming ? null : { path: { message: id } });
  const running = activity.data?.items.find((one) => one.platform === "web" && one.channelId === chat.place.channel);
  const words = running?.statusNote ?? stepWords(timeline.data?.steps ?? []);
  return words ? <> · {reveal(words)}</> : null;
}

function stepWords(steps: readonly { step: string; actor?: string | null; decision?: unknown }[]): string {
  const last = steps.findLast((step) => step.step === "node" || step.step === "tool");
  if (last === undefined) return "";
  if (last.step === "tool") return last.actor ? texts.used(last.actor) : "";
  const doing: Record<string, string> = texts.doing;
  return doing[typeof last.decision === "string" ? last.decision : ""] ?? "";
}
