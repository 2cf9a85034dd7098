import { ArrowDown } from "lucide-react";
import { memo, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { useMay } from "../../api/session";
import { Button } from "../../parts/button";
import { reveal } from "../../words/format";
import { AgentMessage } from "./AgentMessage";
import type { Chat, View } from "./chat";
import type { Note, NoteEntry, UserEntry } from "./conversation";
import type { Quotation } from "./entries";
import styles from "./log.module.css";
import { Question } from "./Question";
import { texts } from "./texts";
import { UserMessage } from "./UserMessage";
import { isDecided, useQuestions, waitOf } from "./waits";

const NEAR_END_PX = 80;

type Props = {
  chat: Chat;
  view: View;
  name: string;
  who: (slug: string | null) => string;
  again: (entry: UserEntry) => void;
  onReply: (quotation: Quotation) => void;
  mayAct: boolean;
};

/** The messages. The view follows the newest message while the reader is at the end, and otherwise keeps its position. */
export function Log({ chat, view, name, who, again, onReply, mayAct }: Props) {
  const { entries, cut } = view.talk;
  const questions = useQuestions(chat, view);
  const { scroller, content, behind, away, toEnd, hold } = useScrolling(view);
  const connected = view.link.name === "ready";
  return (
    <div className={styles.stage}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <div ref={scroller} className={styles.scroller} tabIndex={0} role="region" aria-label={texts.messages}>
        <div ref={content} className={styles.content}>
          {entries.length === 0 && view.loaded && (
            <div className={styles.empty}>
              <p className={styles.hello}>{texts.hello}</p>
              <p className="muted">{texts.helloWords(name)}</p>
            </div>
          )}
          {cut ? <Cut /> : <Older chat={chat} view={view} hold={hold} />}
          {/* Screen readers announce only new messages, not the history. */}
          <div className={styles.log} role="log" aria-label={texts.messages} aria-live={view.loaded ? "polite" : "off"}>
            {entries.map((entry) => {
              if (entry.kind === "note") return <NoteLine key={entry.key} entry={entry} who={who} />;
              if (entry.kind === "user") {
                return (
                  <UserMessage
                    key={entry.key}
                    entry={entry}
                    connected={connected || entry.status !== "sending"}
                    again={again}
                    onReply={onReply}
                    chat={chat}
                    mayAct={mayAct}
                  />
                );
              }
              const wait = waitOf(entry);
              return (
                <AgentMessage
                  key={entry.key}
                  entry={entry}
                  name={entry.notice ? texts.arvis : who(entry.agent)}
                  chat={chat}
                  onReply={onReply}
                  question={wait === null ? undefined : questions.byId.get(wait)}
                  decided={isDecided(entry, questions, wait)}
                  mayAct={mayAct}
                />
              );
            })}
          </div>
          {questions.elsewhere.map((wait) => (
            <Question key={wait.id} wait={wait} />
          ))}
        </div>
      </div>
      {away && <Button label={texts.newest(behind)} className={styles.newest} icon={ArrowDown} onClick={toEnd} />}
    </div>
  );
}

function Older({ chat, view, hold }: { chat: Chat; view: View; hold: () => void }) {
  if (view.older === "none") return null;
  const load = () => {
    hold();
    void chat.loadOlder();
  };
  return (
    <Button label={texts.older} kind="quiet" className={styles.older} busy={view.older === "loading"} onClick={load} />
  );
}

function Cut() {
  const reads = useMay("viewer");
  return (
    <p className={`muted ${styles.older}`}>
      {texts.cut} {reads && <Link href="/conversations">{texts.cutLink}</Link>}
    </p>
  );
}

/** The reader's position, and the number of answers that arrived below. */
function useScrolling({ talk: { entries } }: View) {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const seen = useRef(new Set<string>());
  /** The distance to the end, which is kept while older messages are inserted above. */
  const held = useRef<number | null>(null);
  const [behind, setBehind] = useState(0);
  const [away, setAway] = useState(false);

  const toEnd = () => {
    const shown = scroller.current;
    if (shown === null) return;
    atEnd.current = true;
    shown.scrollTop = shown.scrollHeight;
    setBehind(0);
    setAway(false);
  };
  const toEndNow = useRef(toEnd);
  toEndNow.current = toEnd;

  useEffect(() => {
    const shown = scroller.current;
    if (shown === null || content.current === null) return;
    const scrolled = () => {
      atEnd.current = shown.scrollHeight - shown.scrollTop - shown.clientHeight < NEAR_END_PX;
      setAway(!atEnd.current);
      if (atEnd.current) setBehind(0);
    };
    shown.addEventListener("scroll", scrolled, { passive: true });
    const observer = new ResizeObserver(() => {
      if (atEnd.current) toEndNow.current();
    });
    observer.observe(shown);
    observer.observe(content.current);
    return () => {
      shown.removeEventListener("scroll", scrolled);
      observer.disconnect();
    };
  }, []);

  useLayoutEffect(() => {
    const shown = scroller.current;
    const fresh = entries.filter((entry) => !seen.current.has(entry.key));
    for (const entry of fresh) seen.current.add(entry.key);
    if (shown !== null && held.current !== null && fresh.length > 0) {
      shown.scrollTop = shown.scrollHeight - held.current;
      held.current = null;
    } else if (atEnd.current || fresh.some((entry) => entry.kind === "user" && entry.status === "sending")) {
      toEndNow.current();
    } else {
      const answers = fresh.filter((entry) => entry.kind === "agent" && !entry.past).length;
      if (answers > 0) setBehind((before) => before + answers);
    }
  }, [entries]);

  const hold = () => {
    const shown = scroller.current;
    if (shown !== null) held.current = shown.scrollHeight - shown.scrollTop;
  };
  return { scroller, content, behind, away, toEnd, hold };
}

/** A note between messages. */
const NoteLine = memo(function NoteLine({ entry, who }: { entry: NoteEntry; who: (slug: string | null) => string }) {
  return (
    <p className={styles.note} data-kind="note">
      {wordsOf(entry.note, who)}
    </p>
  );
});

function wordsOf(note: Note, who: (slug: string | null) => string): string {
  if (note.about === "moved") return texts.noteMoved(who(note.from), who(note.to));
  if (note.about === "clicked") return reveal(note.words);
  const graphs: Record<string, string> = texts.graphs;
  const hows: Record<string, string> = texts.hows;
  return texts.noteEnded(graphs[note.graph] ?? reveal(note.graph), hows[note.how] ?? reveal(note.how));
}
