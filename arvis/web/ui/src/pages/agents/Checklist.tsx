import { type ReactNode, useId, useState } from "react";
import { UntrustedText } from "../../parts/show";
import { count, reveal } from "../../words/format";
import styles from "./agents.module.css";
import { texts } from "./texts";

export type Entry = { value: string; name?: string; words?: string; mark?: ReactNode };

/** From this number of entries on, the list has a search field. */
const MANY = 8;

type Props = {
  label: string;
  hint?: string;
  find?: string;
  entries: readonly Entry[];
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
};

/**
 * A choice of several entries of a list, each with a description. Chosen entries that are no longer in the list are kept and
 * marked.
 */
export function Checklist({ label, hint, find = texts.findMore, entries, chosen, onChange }: Props) {
  const id = useId();
  const [asked, ask] = useState("");
  const missing = chosen.filter((value) => !entries.some((entry) => entry.value === value));
  const all = [...missing.map((value): Entry => ({ value, words: texts.notHere })), ...entries];
  const parts = asked.toLowerCase().split(/\s+/u).filter(Boolean);
  const shown = all.filter(({ value, name = "", words = "" }) => {
    const text = `${value} ${name} ${words}`.toLowerCase();
    return parts.every((part) => text.includes(part));
  });
  return (
    <fieldset className={styles.checklist} aria-describedby={hint && `${id}-hint`}>
      <legend>{label}</legend>
      {hint && (
        <p id={`${id}-hint`} className={styles.hint}>
          {hint}
        </p>
      )}
      <div className={styles.finder}>
        {all.length > MANY && (
          <input
            type="search"
            value={asked}
            placeholder={find}
            aria-label={find}
            onChange={(event) => ask(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter") event.preventDefault(); // otherwise it would submit the form
            }}
          />
        )}
        <span className="muted" role="status">
          {texts.chosen(count(chosen.length), count(all.length))}
        </span>
      </div>
      <ul>
        {shown.map(({ value, name, words, mark }) => (
          <li key={value}>
            <input
              type="checkbox"
              id={`${id}-${value}`}
              checked={chosen.includes(value)}
              aria-describedby={words ? `${id}-${value}-words` : undefined}
              onChange={(event) =>
                onChange(event.target.checked ? [...chosen, value] : chosen.filter((one) => one !== value))
              }
            />
            <div>
              <p className={styles.entry}>
                <label htmlFor={`${id}-${value}`}>
                  <UntrustedText text={name ?? value} />
                </label>
                {mark}
              </p>
              {words && (
                <p id={`${id}-${value}-words`} className={styles.hint}>
                  {reveal(words)}
                </p>
              )}
            </div>
          </li>
        ))}
        {shown.length === 0 && <li className="muted">{texts.nothingFound}</li>}
      </ul>
    </fieldset>
  );
}
