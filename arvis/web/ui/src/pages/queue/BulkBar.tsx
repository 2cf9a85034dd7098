import { useState } from "react";
import { useSend } from "../../api/hooks";
import type { Body } from "../../api/types";
import { Button } from "../../parts/button";
import { useAsk } from "../../parts/dialog";
import { UntrustedText } from "../../parts/show";
import { useToast } from "../../parts/toast";
import { count } from "../../words/format";
import styles from "./queue.module.css";
import { bulkTexts as texts } from "./texts";

type Bulk = Body<"POST /api/jobs/bulk">;
type Verb = Bulk["action"];
type Outcome = { verb: Verb; done: number; refused: { id: string; message: string }[] };

/** The number of ids per request. */
const MOST_IDS = 500;
const SHOWN = 5;
const VERBS: readonly Verb[] = ["retry", "cancel", "delete"];

type Props = {
  chosen: ReadonlySet<string>;
  choose: (chosen: ReadonlySet<string>) => void;
  filter: Bulk["filter"] | null;
  more: boolean;
};

/** The actions for selected jobs. With a `filter` and `more` jobs than loaded, all matching jobs can be selected. */
export function BulkBar({ chosen, choose, filter, more }: Props) {
  const ask = useAsk();
  const [everything, setEverything] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const { send, busy } = useBulk();
  const { tell } = useToast();
  const all = everything && filter !== null;
  const act = async (verb: Verb) => {
    const what = all ? texts.matching : texts.jobs(count(chosen.size));
    const words = texts.consequence[verb];
    if (!(await ask({ title: texts.ask[verb](what), words, yes: texts.verbs[verb], danger: verb !== "retry" }))) return;
    const after = await send(verb, all ? { filter: clean(filter) } : { ids: [...chosen] });
    if (after === null) return;
    if (after.done > 0) tell(texts.done[verb](count(after.done)));
    setOutcome(after);
    setEverything(false);
    // Refused jobs stay selected, so that another action can be tried.
    if (after.refused.length === 0) choose(new Set());
    else choose(new Set(after.refused.map((one) => one.id)));
  };
  return (
    <section className={styles.bulk} aria-live="polite">
      <div className={styles.bulkRow}>
        <strong>{all ? texts.everything : texts.selected(count(chosen.size))}</strong>
        {VERBS.map((verb) => (
          <Button
            label={texts.verbs[verb]}
            key={verb}
            kind={verb === "delete" ? "danger" : "plain"}
            busy={busy !== null}
            onClick={() => void act(verb)}
          />
        ))}
        {filter !== null && more && !everything && (
          <Button label={texts.all} kind="quiet" onClick={() => setEverything(true)} />
        )}
        <Button label={texts.none} kind="quiet" onClick={() => choose(new Set())} />
        {busy !== null && busy > 0 && <span className="muted">{texts.busy(count(busy))}</span>}
      </div>
      {outcome && outcome.refused.length > 0 && <Refused outcome={outcome} />}
    </section>
  );
}

function Refused({ outcome }: { outcome: Outcome }) {
  const { refused } = outcome;
  return (
    <div>
      <p>{texts.refused(count(refused.length))}</p>
      <ul className={styles.refused}>
        {refused.slice(0, SHOWN).map((one) => (
          <li key={one.id}>
            <UntrustedText text={one.message} />
          </li>
        ))}
        {refused.length > SHOWN && <li>{texts.furtherRefused(count(refused.length - SHOWN))}</li>}
      </ul>
    </div>
  );
}

/** Send the requests one after the other. `busy`: the number of jobs processed so far; null if no request runs. */
function useBulk() {
  const bulk = useSend("POST /api/jobs/bulk");
  const [busy, setBusy] = useState<number | null>(null);
  const send = async (verb: Verb, which: { ids: string[] } | { filter: Bulk["filter"] }): Promise<Outcome | null> => {
    const outcome: Outcome = { verb, done: 0, refused: [] };
    const add = async (body: Bulk) => {
      const answer = await bulk.mutateAsync({ body });
      outcome.done += answer.done;
      outcome.refused.push(...answer.refused);
      setBusy(outcome.done);
      return answer.nextCursor;
    };
    setBusy(0);
    try {
      if ("ids" in which) {
        for (let from = 0; from < which.ids.length; from += MOST_IDS) {
          await add({ action: verb, ids: which.ids.slice(from, from + MOST_IDS) });
        }
      } else {
        let cursor = await add({ action: verb, filter: which.filter });
        while (cursor !== null) cursor = await add({ action: verb, filter: which.filter, cursor });
      }
      return outcome;
    } catch {
      return outcome.done > 0 || outcome.refused.length > 0 ? outcome : null; // a toast has shown the reason
    } finally {
      setBusy(null);
    }
  };
  return { send, busy };
}

/** The filter without unset fields, because the API would search for an empty text. */
function clean(filter: Bulk["filter"]): Bulk["filter"] {
  return Object.fromEntries(Object.entries(filter ?? {}).filter(([, value]) => value !== "")) as Bulk["filter"];
}
