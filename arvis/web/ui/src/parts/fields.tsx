/** Fields with labels, and the draft that they change. The chat and the login need only `field.tsx`, a separate module. */

import { type ComponentProps, type InputHTMLAttributes, useRef, useState } from "react";
import { Choice, Field, type Options } from "./field";
import styles from "./field.module.css";
import { texts } from "./texts";

type Labelled = { label: string; hint?: string; error?: string | null };
type Written = { value?: string; onChange: (text: string) => void };
type Others<Attributes> = Omit<Attributes, "value" | "onChange">;

type InputProps = Labelled & Written & Others<ComponentProps<"input">>;

/** A text or number with its label. The browser suggests no earlier input unless `autoComplete` says so. */
export function TextField({ label, hint, error, onChange, ...input }: InputProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      <input autoComplete="off" {...input} onChange={(event) => onChange(event.target.value)} />
    </Field>
  );
}

type AreaProps = Labelled & Written & Others<ComponentProps<"textarea">>;

/** A text of several lines with its label. */
export function TextArea({ label, hint, error, onChange, ...area }: AreaProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      <textarea {...area} onChange={(event) => onChange(event.target.value)} />
    </Field>
  );
}

type ChoiceProps<T extends string> = Labelled & {
  value: T;
  options: Options<T>;
  onChange: (value: T) => void;
  disabled?: boolean;
};

/** A choice of one value with its label. */
export function ChoiceField<T extends string>({ label, hint, error, ...choice }: ChoiceProps<T>) {
  return (
    <Field label={label} hint={hint} error={error}>
      <Choice {...choice} />
    </Field>
  );
}

type SwitchProps = { name: string; on: boolean; busy: boolean; onChange: (on: boolean) => void };

/** A checkbox in a row of a list, named by its effect: `Turn NAME on`. Until the list is reloaded, it shows the user's choice. */
export function Switch({ name, on, busy, onChange }: SwitchProps) {
  return (
    <input
      type="checkbox"
      className={styles.switch}
      aria-label={on ? texts.turnOff(name) : texts.turnOn(name)}
      checked={busy ? !on : on}
      disabled={busy}
      onChange={() => onChange(!on)}
    />
  );
}

/** The part of the result of `useDraft` that the parts of a form need. */
export type DraftOf<D> = {
  draft: D;
  of: <K extends keyof D>(name: K) => { value: D[K]; onChange: (value: D[K]) => void };
};

/** The values of a form. `set` changes some values of the draft, and `of` returns the properties of the field for one value. */
export function useDraft<D extends object>(start: D | (() => D)): DraftOf<D> & { set: (part: Partial<D>) => void } {
  const [draft, setDraft] = useState(start);
  const set = (part: Partial<D>) => setDraft((before) => ({ ...before, ...part }));
  const of = <K extends keyof D>(name: K) => ({
    value: draft[name],
    onChange: (value: D[K]) => setDraft((before) => ({ ...before, [name]: value })),
  });
  return { draft, set, of };
}

/** If one change adds at least this number of letters, they were pasted, not typed. */
const PASTED = 8;

type Props = Omit<InputHTMLAttributes<HTMLInputElement>, "value" | "defaultValue" | "onChange" | "type"> & {
  onText: (text: string) => void;
  /** A whole key was pasted. */
  onPasted?: (text: string) => void;
};

/** A field for a key or token. It sets no `value`, so the text never appears in the DOM as an attribute. */
export function Secret({ onText, onPasted, ...rest }: Props) {
  const before = useRef(0);
  return (
    <input
      type="password"
      autoComplete="off"
      spellCheck={false}
      onChange={(event) => {
        const text = event.target.value.trim();
        const pasted = text.length - before.current >= PASTED;
        before.current = text.length;
        onText(text);
        if (pasted) onPasted?.(text);
      }}
      {...rest}
    />
  );
}
