import { Check } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { Button } from "../../parts/button";
import { texts } from "./texts";
import styles from "./welcome.module.css";

/** `onDone` gets the text that the step shows from then on. */
export type StepProps = { onDone: (note?: string) => void; onSkip: () => void };

type Props = {
  number: number;
  title: string;
  about: string;
  state: "done" | "current" | "skipped" | "ahead";
  /** The result. */
  note: string;
  onResume: () => void;
  /** True if the focus moves to the step when it opens. */
  arrives: boolean;
  children?: ReactNode;
};

/** A step of the setup: its number or a tick, its purpose, and its content while it is open. */
export function Step({ number, title, about, state, note, onResume, arrives, children }: Props) {
  const place = useRef<HTMLLIElement>(null);
  const before = useRef(state);
  useEffect(() => {
    const began = state === "current" && before.current !== "current";
    before.current = state;
    const step = place.current;
    // A field inside it that took the focus keeps it.
    if (!began || !arrives || step === null || step.contains(document.activeElement)) return;
    step.focus({ preventScroll: true });
    step.scrollIntoView({ block: "nearest" });
  }, [state, arrives]);
  const looks = { done: styles.isDone, current: styles.current, skipped: "", ahead: "" }[state];
  return (
    <li
      ref={place}
      tabIndex={-1}
      className={`${styles.step} ${looks}`}
      aria-current={state === "current" ? "step" : undefined}
    >
      <span className={styles.sign}>
        {state === "done" ? <Check aria-hidden /> : <span aria-hidden>{number}</span>}
        <span className="hidden">{state === "done" ? texts.done : texts.step(number)}</span>
      </span>
      <div className={styles.head}>
        <h2>{title}</h2>
        {state === "done" && <p className="muted">{note}</p>}
        {state === "skipped" && (
          <>
            <p className="muted">{texts.skipped}</p>
            <Button label={texts.doNow} kind="quiet" aria-label={`${texts.doNow}: ${title}`} onClick={onResume} />
          </>
        )}
      </div>
      {children && (
        <div className={styles.body}>
          {state === "current" && <p className="muted">{about}</p>}
          {children}
        </div>
      )}
    </li>
  );
}

/** The button that skips a step. */
export function Skip({ onSkip, words = texts.skip }: { onSkip: () => void; words?: string }) {
  return <Button label={words} kind="quiet" onClick={onSkip} />;
}

type ChoicesProps<T extends string> = {
  label: string;
  options: readonly (readonly [T, string, string])[];
  chosen: T | null;
  onChoose: (one: T) => void;
};

/** Large buttons, one of which is chosen: `[["openai", "OpenAI", "The GPT models."], …]`. */
export function Choices<T extends string>({ label, options, chosen, onChoose }: ChoicesProps<T>) {
  return (
    <div className={styles.choices} role="group" aria-label={label}>
      {options.map(([one, title, about]) => (
        <button key={one} type="button" aria-pressed={one === chosen} onClick={() => onChoose(one)}>
          <strong>{title}</strong>
          <span>{about}</span>
        </button>
      ))}
    </div>
  );
}
