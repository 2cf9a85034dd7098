import { Square, X } from "lucide-react";
import { useCallback, useEffect, useRef, useSyncExternalStore } from "react";
import { Link } from "wouter";
import { useApi } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Button, IconButton } from "../../parts/button";
import { Status, UntrustedText } from "../../parts/show";
import { reveal, sentences } from "../../words/format";
import type { Agent } from "./agents";
import { Composer, Elapsed } from "./Composer";
import type { Chat, View } from "./chat";
import styles from "./chat.module.css";
import { ANYONE, addressOf, type Chats } from "./chats";
import { firstOpen, isStreaming, speaker, type UserEntry } from "./conversation";
import type { DraftStore } from "./draftStore";
import type { Quotation } from "./entries";
import { Log } from "./Log";
import { texts } from "./texts";

type Props = {
  agent: Agent;
  chat: Chat;
  drafts: DraftStore;
  chats: Chats;
  nameOf: (slug: string | null) => string;
  mayWrite: boolean;
  isBranch?: boolean;
  onClose: (() => void) | null;
};

/** One conversation: its agent, the messages, the current activity, and the composer. */
export function Column({ agent, chat, drafts, chats, nameOf, mayWrite, isBranch = false, onClose }: Props) {
  const view = useSyncExternalStore(chat.subscribe, () => chat.view);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => chats.show(chat.place.channel), [chats, chat]);
  useEffect(() => {
    // On a touch screen, focus would open the keyboard over the messages.
    if (window.matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, []);
  const again = useCallback(
    (entry: UserEntry) => {
      const { text, uploads } = chat.withdraw(entry);
      drafts.write(text);
      drafts.put(uploads);
      field.current?.focus();
    },
    [chat, drafts],
  );
  const reply = useCallback(
    (quotation: Quotation) => {
      drafts.answer(quotation);
      field.current?.focus();
    },
    [drafts],
  );
  const name = reveal(agent.name);
  const who = useCallback(
    // A stream does not name its agent; where one agent was chosen, that one is assumed.
    (slug: string | null) => reveal(slug === null && agent.slug !== ANYONE ? agent.name : nameOf(slug)),
    [agent, nameOf],
  );
  return (
    <section className={styles.column} aria-label={texts.conversation(name)} data-channel={chat.place.channel}>
      <header className={styles.head}>
        <div className={styles.who}>
          <h2>
            <UntrustedText text={agent.name} />
          </h2>
          {agent.description && <UntrustedText text={agent.description} className="muted" />}
        </div>
        {isBranch && <Link href={addressOf([agent.slug])}>{texts.leaveBranch}</Link>}
        {agent.paused && <Status tone="warn">{texts.paused}</Status>}
        <span role="status" data-link={view.link.name} className={view.link.name === "ready" ? "hidden" : undefined}>
          {view.link.name === "ready" ? texts.link.ready : <Status tone="warn">{texts.link[view.link.name]}</Status>}
        </span>
        {onClose && <IconButton icon={X} label={texts.closeColumn(name)} onClick={onClose} />}
      </header>
      {view.fault && (
        <div className={styles.fault} role="alert">
          <p>{reveal(sentences(view.fault.message, view.fault.fix))}</p>
          <Button label={texts.dismiss} kind="quiet" onClick={() => chat.dismiss()} />
        </div>
      )}
      <Log chat={chat} view={view} name={name} who={who} again={again} onReply={reply} mayAct={mayWrite} />
      <Activity chat={chat} view={view} who={who} mayStop={mayWrite} />
      {mayWrite ? (
        <Composer ref={field} chat={chat} drafts={drafts} name={agent.slug === ANYONE ? null : name} />
      ) : (
        <p className={styles.readOnly}>{texts.readOnly}</p>
      )}
    </section>
  );
}

const SECONDS_AFTER_MS = 3_000;

type ActivityProps = { chat: Chat; view: View; who: (slug: string | null) => string; mayStop: boolean };

/** One line about the agent's current activity, in a fixed position so that nothing moves when it appears. */
function Activity({ chat, view, who, mayStop }: ActivityProps) {
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
