import { Pencil, Play } from "lucide-react";
import { Link } from "wouter";
import { useApi, useList, useSend } from "../../api/hooks";
import { sends } from "../../parts/actions";
import { Button } from "../../parts/button";
import { NEW, type Opening, ResourceSheet } from "../../parts/resource";
import { Code, Facts, Status, Time, UntrustedText } from "../../parts/show";
import { Failure, Skeleton } from "../../parts/states";
import { texts as common } from "../../parts/texts";
import { useToast } from "../../parts/toast";
import { GraphName } from "../../parts/workflowGraph";
import { language } from "../../words/words";
import { ScheduleForm } from "./ScheduleForm";
import { kindOf, LastOutcome, nameOf, OutcomeState, type ScheduleDetail, whenInWords } from "./schedule";
import styles from "./schedules.module.css";
import { texts } from "./texts";

/** One schedule: its times, outcomes and actions. */
export function ScheduleSheet({ id, onOpen, onClose }: { id: string } & Opening) {
  return (
    <ResourceSheet
      id={id}
      of={useApi("GET /api/schedules/{schedule}", id === NEW ? null : { path: { schedule: id } })}
      texts={texts}
      title={nameOf}
      onClose={onClose}
      form={(known, close) => <ScheduleForm known={known} onSaved={known ? close : onOpen} onCancel={close} />}
      actions={(known, edit) => <Actions of={known} onEdit={edit} onRemoved={onClose} />}
    >
      {(known) => <Body of={known} />}
    </ResourceSheet>
  );
}

function Actions({ of: one, onEdit, onRemoved }: { of: ScheduleDetail; onEdit: () => void; onRemoved: () => void }) {
  const path = { schedule: one.id };
  const { tell } = useToast();
  const run = useSend("POST /api/schedules/{schedule}/run", { done: texts.begun });
  const change = useSend("PATCH /api/schedules/{schedule}", { done: one.enabled ? texts.paused : texts.resumed });
  const undo = useSend("POST /api/schedules/{schedule}/undo", { done: common.undone });
  const remove = useSend("DELETE /api/schedules/{schedule}");
  // The removal notice may arrive first and unmount this button: the follow-up must not depend on it.
  const drop = () =>
    remove.mutateAsync({ path }).then(
      () => {
        tell(texts.removed, { words: common.undo, act: () => undo.mutate({ path }) });
        onRemoved();
      },
      () => {},
    );
  const undoLast = () =>
    undo.mutateAsync({ path }).then(
      ({ schedule }) => {
        if (schedule === null) onRemoved();
      },
      () => {},
    );
  return (
    <>
      <Button label={texts.runNow} kind="primary" icon={Play} {...sends(run, { path })} />
      <Button label={common.edit} icon={Pencil} onClick={onEdit} />
      <Button
        label={one.enabled ? texts.pause : texts.resume}
        {...sends(change, { path, body: { enabled: !one.enabled } })}
      />
      <Button label={texts.undoLast} busy={undo.isPending} onClick={() => void undoLast()} />
      <Button label={common.delete} kind="danger" busy={remove.isPending} onClick={() => void drop()} />
    </>
  );
}

function Body({ of: one }: { of: ScheduleDetail }) {
  const place = new URLSearchParams({ platform: one.platform, channel: one.channelId });
  return (
    <>
      <Facts
        of={[
          [texts.when, whenInWords(one.schedule)],
          [texts.kind, texts.kinds[kindOf(one)]],
          [texts.agent, one.agent],
          [texts.facts.graph, one.graph && <GraphName key="graph" graph={one.graph} words={texts.graphs} />],
          [texts.model, one.model],
          [texts.effort, one.effort && common.efforts[one.effort]],
          [
            texts.facts.writes,
            <Link key="place" href={`/conversations?${place}`}>
              <UntrustedText text={`${one.platform} ${one.channelId}`} />
            </Link>,
          ],
          [texts.timezone, one.timezone],
          [texts.last, <LastOutcome key="last" of={one} />],
          [texts.facts.lastRun, one.lastRun === null ? null : <Time key="run" at={one.lastRun} />],
          [texts.facts.rests, one.pausedUntil === null ? null : <Time key="rests" at={one.pausedUntil} />],
          [texts.facts.acts, texts.missedKinds[one.misfirePolicy]],
          [texts.facts.made, texts.createdBy[one.createdBy]],
        ]}
      />
      <h3>{texts.nextFive}</h3>
      <NextTimes of={one} />
      {one.prompt !== "" && (
        <>
          <h3>{texts.prompt}</h3>
          <p className={styles.prompt}>
            <UntrustedText text={one.prompt} />
          </p>
        </>
      )}
      {one.script !== null && <Code value={one.script} label={texts.script} />}
      <h3>{texts.history}</h3>
      <History id={one.id} />
    </>
  );
}

/** The next five times, in the reader's time zone. */
function NextTimes({ of: one }: { of: ScheduleDetail }) {
  if (!one.enabled) return <Status tone="plain">{texts.off}</Status>;
  if (one.nextRuns.length === 0) return <p className="muted">{texts.noTimes}</p>;
  return (
    <ol className={styles.times} aria-label={texts.nextFive}>
      {one.nextRuns.map((at) => (
        <li key={at}>
          <span>{inFull(at)}</span> <Time at={at} />
        </li>
      ))}
    </ol>
  );
}

const FULL: Intl.DateTimeFormatOptions = {
  weekday: "short",
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
};
const inFull = (at: number): string => new Date(at).toLocaleString(language, FULL);

/** Past times of the schedule with their outcomes, newest first; each links to its execution. */
function History({ id }: { id: string }) {
  const pages = useList("GET /api/schedules/{schedule}/runs", { limit: 20 }, { schedule: id });
  if (pages.rows.length === 0) {
    if (pages.error !== null) return <Failure error={pages.error} retry={pages.retry} />;
    return pages.loading ? <Skeleton lines={3} /> : <p className="muted">{texts.noHistory}</p>;
  }
  return (
    <>
      <ul className={styles.history} aria-label={texts.history}>
        {pages.rows.map((one) => (
          <li key={one.id}>
            <div className={styles.line}>
              <OutcomeState status={one.status} />
              <span className="muted">
                {texts.causes[one.cause]} · <Time at={one.dueAt} />
              </span>
              {one.executionId !== null && <Link href={`/executions/${one.executionId}`}>{texts.run}</Link>}
            </div>
            {one.report !== "" && (
              <p className={styles.report}>
                <UntrustedText text={one.report} />
              </p>
            )}
          </li>
        ))}
      </ul>
      {pages.more && <Button label={texts.older} kind="quiet" onClick={pages.more} />}
    </>
  );
}
