import { Status } from "../../parts/show";
import { duration, money, reveal, sentences } from "../../words/format";
import type { Trial } from "./accounts";
import styles from "./accounts.module.css";
import { texts } from "./texts";

/** What came of a hello: how fast and what it cost, or what is wrong and what to do. */
export function TrialResult({ trial, free = false }: { trial: Trial; free?: boolean }) {
  if (!trial.ok)
    return (
      <div className={styles.trial} role="alert">
        <Status tone="trouble">{texts.noAnswer}</Status>
        <p>{reveal(sentences(capital(trial.error ?? "")))}</p>
        {trial.fix && <p>{reveal(sentences(trial.fix))}</p>}
      </div>
    );
  return (
    <div className={styles.trial} role="status">
      <Status tone="good">{texts.answers}</Status>
      <p>{trialWords(trial, free)}</p>
    </div>
  );
}

/** One line of a trial that went well. `free`: this vendor takes nothing. */
export function trialWords(trial: Trial, free: boolean): string {
  const cost = free ? texts.free : trial.costUsd === null ? texts.costUnknown : texts.cost(money(trial.costUsd));
  return `${texts.answered(reveal(trial.model), duration(trial.durationMs))} ${cost}`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
