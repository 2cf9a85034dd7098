import { Link } from "wouter";
import { useList } from "../../api/hooks";
import { Button } from "../../parts/button";
import { Time, UntrustedText } from "../../parts/show";
import { Failure, Skeleton } from "../../parts/states";
import { OutcomeState } from "./schedule";
import styles from "./schedules.module.css";
import { texts } from "./texts";

/** Past times of the schedule with their outcomes, newest first; each links to its execution. */
export function History({ id }: { id: string }) {
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
