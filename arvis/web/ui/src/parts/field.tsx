import { cloneElement, type InputHTMLAttributes, type ReactElement, type TextareaHTMLAttributes, useId } from "react";
import styles from "./field.module.css";

type Control = ReactElement<{
  id?: string;
  "aria-describedby"?: string;
  "aria-invalid"?: boolean;
}>;

/** A control with its label above, and a hint and error below. `children` is one input, select or textarea. */
export function Field({
  label,
  hint,
  error,
  children,
}: {
  label: string;
  hint?: string;
  error?: string | null;
  children: Control;
}) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      {cloneElement(children, { id, "aria-describedby": described || undefined, "aria-invalid": Boolean(error) })}
      {hint && (
        <p id={`${id}-hint`} className={styles.hint}>
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className={styles.error}>
          {error}
        </p>
      )}
    </div>
  );
}

/** A checkbox with its label. */
export function Check({
  label,
  hint,
  checked,
  onChange,
  disabled,
}: {
  label: string;
  hint?: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
}) {
  const id = useId();
  return (
    <div className={styles.check}>
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={disabled}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChange(event.target.checked)}
      />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint && (
          <p id={`${id}-hint`} className={styles.hint}>
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}

export type Options<T extends string = string> = readonly (readonly [T, string])[];

/** A choice of one value: `[["cron", "At times"], …]`. */
export function Choice<T extends string>({
  value,
  options,
  onChange,
  ...rest
}: {
  value: T;
  options: Options<T>;
  onChange: (value: T) => void;
  id?: string;
  disabled?: boolean;
  "aria-label"?: string;
  "aria-describedby"?: string;
  "aria-invalid"?: boolean;
}) {
  return (
    <select value={value} onChange={(event) => onChange(event.target.value as T)} {...rest}>
      {options.map(([one, words]) => (
        <option key={one} value={one}>
          {words}
        </option>
      ))}
    </select>
  );
}

type Labelled = { label: string; hint?: string; error?: string | null };
type Written = { value: string; onChange: (text: string) => void };
type Others<Attributes> = Omit<Attributes, "value" | "onChange">;

/** A text or number with its label. The browser suggests no earlier input unless `autoComplete` says so. */
export function TextField({
  label,
  hint,
  error,
  onChange,
  ...input
}: Labelled & Written & Others<InputHTMLAttributes<HTMLInputElement>>) {
  return (
    <Field label={label} hint={hint} error={error}>
      <input autoComplete="off" {...input} onChange={(event) => onChange(event.target.value)} />
    </Field>
  );
}

/** A text of several lines with its label. */
export function TextArea({
  label,
  hint,
  error,
  onChange,
  ...area
}: Labelled & Written & Others<TextareaHTMLAttributes<HTMLTextAreaElement>>) {
  return (
    <Field label={label} hint={hint} error={error}>
      <textarea {...area} onChange={(event) => onChange(event.target.value)} />
    </Field>
  );
}

/** A choice of one value with its label. */
export function ChoiceField<T extends string>({
  label,
  hint,
  ...choice
}: Omit<Labelled, "error"> & { value: T; options: Options<T>; onChange: (value: T) => void; disabled?: boolean }) {
  return (
    <Field label={label} hint={hint}>
      <Choice {...choice} />
    </Field>
  );
}

/** A checkbox in a row of a list, named by its effect: `Turn NAME on`. Until the list is reloaded, it shows the user's choice. */
export function Switch({
  on,
  busy,
  label,
  onChange,
}: {
  on: boolean;
  busy: boolean;
  label: string;
  onChange: (on: boolean) => void;
}) {
  return (
    <input
      type="checkbox"
      className={styles.switch}
      aria-label={label}
      checked={busy ? !on : on}
      disabled={busy}
      onChange={() => onChange(!on)}
    />
  );
}
