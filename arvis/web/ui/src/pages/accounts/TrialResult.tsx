import { Status } from "../../parts/show";
import { duration, money, reveal, sentences } from "../../words/format";
import type { Trial } from "./accounts";
import styles from "./accounts.module.css";
import { texts } from "./texts";

/** The result of a test call: its duration and cost, or the problem and its fix. */
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

/** One line of a successful test. `free`: this vendor charges nothing. */
export function trialWords(trial: Trial, free: boolean): string {
  const cost = free ? texts.free : trial.costUsd === null ? texts.costUnknown : texts.cost(money(trial.costUsd));
  return `${texts.answered(reveal(trial.model), duration(trial.durationMs))} ${cost}`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
