import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Item } from "../../api/types";
import { Button } from "../../parts/button";
import { useAsk } from "../../parts/dialog";
import { Markdown } from "../../parts/markdown";
import { UntrustedText } from "../../parts/show";
import { Loaded } from "../../parts/states";
import { clock, count } from "../../words/format";
import styles from "./conversations.module.css";
import { texts } from "./texts";

export type Summed = Item<"GET /api/conversations/{conversation}/summaries">;

/** A line that replaces summarized messages: the summary, the messages themselves, and a button that restores them. */
export function Compaction({ summed, agent }: { summed: Summed; agent: string }) {
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
