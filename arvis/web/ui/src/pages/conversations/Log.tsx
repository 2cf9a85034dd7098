import { memo, useLayoutEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";
import { useApi, useList, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Item } from "../../api/types";
import { Button } from "../../parts/button";
import { useAsk } from "../../parts/dialog";
import { Markdown } from "../../parts/markdown";
import { Money, Status, type Tone, UntrustedText } from "../../parts/show";
import { Failure, Loaded, Skeleton } from "../../parts/states";
import { reasonInWords } from "../../parts/steps";
import { clock, count, exactly, reveal, sentences } from "../../words/format";
import { Files } from "../chat/Files";
import { Quoted } from "../chat/Quoted";
import styles from "./conversations.module.css";
import { texts } from "./texts";

type Entry = { said: Said } | { summed: Summed };

const NEAR_PX = 80;

/** The messages, newest last; older ones load on demand, and summarized ones are folded into one line. */
export function Log({ talk, agent }: { talk: string; agent: string }) {
  const path = { conversation: talk };
  const pages = useList("GET /api/conversations/{conversation}/messages", { limit: 50 }, path);
  const summaries = useApi("GET /api/conversations/{conversation}/summaries", { path, query: { limit: 200 } });
  const entries = useMemo(() => woven(pages.rows, summaries.data?.items ?? []), [pages.rows, summaries.data]);
  const place = usePlace(entries.length, keyOf(entries[0]));
  if (entries.length === 0) {
    if (pages.error !== null) return <Failure error={pages.error} retry={pages.retry} />;
    return pages.loading ? <Skeleton /> : <p className="muted">{texts.noMessages}</p>;
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div ref={place} className={styles.log} role="log" aria-label={texts.log} tabIndex={0}>
      {pages.more && <Button label={texts.older} kind="quiet" onClick={pages.more} />}
      {entries.map((entry) =>
        "said" in entry ? (
          <Message key={entry.said.id} said={entry.said} agent={agent} />
        ) : (
          <Compaction key={entry.summed.id} summed={entry.summed} agent={agent} />
        ),
      )}
    </div>
  );
}

const keyOf = (entry: Entry | undefined): string =>
  entry === undefined ? "" : "said" in entry ? entry.said.id : entry.summed.id;

/** Oldest first, each summary in the place of the turns that it replaces. */
function woven(newestFirst: readonly Said[], all: readonly Summed[]): Entry[] {
  const summaries = all.filter((one) => one.status !== "restored").sort((one, other) => one.lastTurn - other.lastTurn);
  const entries: Entry[] = [];
  let next = 0;
  const before = (turn: number) => {
    for (let summed = summaries[next]; summed !== undefined && summed.lastTurn < turn; summed = summaries[next]) {
      entries.push({ summed });
      next += 1;
    }
  };
  for (const said of newestFirst.toReversed()) {
    const { turn } = said;
    if (turn !== null && summaries.some((one) => one.firstTurn <= turn && turn <= one.lastTurn)) continue;
    before(turn ?? Number.POSITIVE_INFINITY);
    entries.push({ said });
  }
  before(Number.POSITIVE_INFINITY);
  return entries;
}

/** Starts at the newest message and stays there while the reader does; older messages inserted above move nothing. */
function usePlace(length: number, first: string) {
  const place = useRef<HTMLDivElement>(null);
  const before = useRef({ first: "", height: 0 });
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is about the moment after entries have come
  useLayoutEffect(() => {
    const log = place.current;
    if (log === null) return;
    const { first: was, height } = before.current;
    const atEnd = height === 0 || height - log.scrollTop - log.clientHeight < NEAR_PX;
    if (atEnd) log.scrollTop = log.scrollHeight;
    else if (was !== first) log.scrollTop += log.scrollHeight - height;
    before.current = { first, height: log.scrollHeight };
  }, [length, first]);
  return place;
}

type Summed = Item<"GET /api/conversations/{conversation}/summaries">;

/** A line that replaces summarized messages: the summary, the messages themselves, and a button that restores them. */
function Compaction({ summed, agent }: { summed: Summed; agent: string }) {
  const [originals, setOriginals] = useState(false);
  const number = count(Math.max(summed.messagesBefore - summed.messagesAfter, 1));
  return (
    <details className={styles.summed}>
      <summary>{texts.folded(number)}</summary>
      <h3>{texts.summary}</h3>
      <Markdown text={summed.summary} />
      {summed.status === "final" ? (
        <p className="muted">{texts.final}</p>
      ) : (
        <>
          {originals ? (
            <Originals compaction={summed.id} agent={agent} />
          ) : (
            <Button label={texts.originals} onClick={() => setOriginals(true)} />
          )}
          <Restore compaction={summed.id} number={number} />
        </>
      )}
    </details>
  );
}

function Restore({ compaction, number }: { compaction: string; number: string }) {
  const ask = useAsk();
  const operates = useMay("operator");
  const restore = useSend("POST /api/summaries/{summary}/restore", { done: texts.restored });
  if (!operates) return null;
  const back = async () => {
    if (await ask({ title: texts.restoreTitle, words: texts.restoreWhy(number), yes: texts.restore })) {
      restore.mutate({ path: { summary: compaction } });
    }
  };
  return <Button label={texts.restore} busy={restore.isPending} onClick={() => void back()} />;
}

function Originals({ compaction, agent }: { compaction: string; agent: string }) {
  const found = useApi("GET /api/summaries/{summary}/messages", { path: { summary: compaction } });
  return (
    <Loaded of={found}>
      {({ items }) => (
        <ol className={styles.originals}>
          {items.map((past) => (
            <li key={past.id}>
              <p className={styles.who}>
                <strong>
                  <UntrustedText text={past.role === "user" ? past.userName || texts.unknown : agent} />
                </strong>
                <span className="muted">{clock(past.createdAt)}</span>
              </p>
              {past.content === "" ? <p className="muted">{texts.past}</p> : <Markdown text={past.content} />}
            </li>
          ))}
        </ol>
      )}
    </Loaded>
  );
}

type Said = Item<"GET /api/conversations/{conversation}/messages">;

const TONES: Partial<Record<Said["status"], Tone>> = {
  failed: "trouble",
  dropped: "trouble",
  waiting: "warn",
  expired: "warn",
  running: "accent",
};
const UNSENT: ReadonlySet<string> = new Set(["pending", "sending", "failed", "unknown", "expired"]);

/** One message: author, time, files, and a link to its timeline. */
const Message = memo(function Message({ said, agent }: { said: Said; agent: string }) {
  const byPerson = said.role === "user";
  return (
    <article className={byPerson ? styles.person : styles.agent} data-message={said.id}>
      <header className={styles.who}>
        <strong>
          <UntrustedText text={authorOf(said, agent)} />
        </strong>
        {said.role === "progress" && <span className="muted">{texts.progress}</span>}
        <time className="muted" dateTime={new Date(said.createdAt).toISOString()} title={exactly(said.createdAt)}>
          {clock(said.createdAt)}
        </time>
      </header>
      {said.quotations.map((quotation, number) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the quotations of a message never change their order
        <Quoted key={number} quotation={quotation} />
      ))}
      {said.content === "" ? <p className="muted">{texts.notText}</p> : <Markdown text={said.content} />}
      <Files files={filesOf(said)} />
      {said.attachments.map((file, number) =>
        file.problem === "" ? null : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the files of a message never change their order
          <p key={number} className="muted">
            {texts.unread(reveal(file.filename), reveal(file.problem))}
          </p>
        ),
      )}
      <footer className={styles.foot}>
        {byPerson && <Status tone={TONES[said.status] ?? "plain"}>{texts.statuses[said.status]}</Status>}
        {said.reason !== null && TONES[said.status] !== undefined && (
          <span className="muted">{reveal(sentences(reasonInWords(said.reason)))}</span>
        )}
        {said.delivery !== null && UNSENT.has(said.delivery) && (
          <Status tone={said.delivery === "failed" ? "trouble" : "warn"}>{texts.deliveries[said.delivery]}</Status>
        )}
        {said.costUsd > 0 && (
          <span className="muted">
            <Money usd={said.costUsd} />
          </span>
        )}
        <Way said={said} />
      </footer>
    </article>
  );
});

function Way({ said }: { said: Said }) {
  const message = said.role === "user" ? said.id : said.replyTo;
  if (message !== null) return <Link href={`/messages/${message}`}>{texts.timeline}</Link>;
  return said.executionId === null ? null : <Link href={`/executions/${said.executionId}`}>{texts.run}</Link>;
}

function authorOf(said: Said, agent: string): string {
  if (said.role === "user") return said.userName || texts.unknown;
  return said.role === "notice" ? texts.arvis : (said.agent ?? agent);
}

const filesOf = (said: Said) => [
  ...said.attachments.map(({ filename, ...file }) => ({ ...file, name: filename })),
  ...said.files,
];
