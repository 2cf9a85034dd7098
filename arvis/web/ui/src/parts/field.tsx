import { cloneElement, type ReactElement, type ReactNode, useCallback, useId, useState } from "react";
import styles from "./field.module.css";
import { RefusedContext, useUnsaved } from "./unsaved";

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

/** A choice of one value: `[["cron", "At times"], …]`. */
export function Choice<T extends string>({
  value,
  options,
  onChange,
  ...rest
}: {
  value: T;
  options: readonly (readonly [T, string])[];
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

/**
 * A form: fields and buttons; Enter in a field submits it. It guards unsubmitted input, from the first input on or as long as
 * `dirty`. A failure that the form shows means that nothing was saved, so the input stays guarded.
 */
export function Form({
  onSend,
  children,
  label,
  dirty,
  kept = false,
}: {
  onSend: () => void;
  children: ReactNode;
  label?: string;
  dirty?: boolean;
  /** The page stores the draft and offers it again. */
  kept?: boolean;
}) {
  const [touched, setTouched] = useState(false);
  const [sent, setSent] = useState(false);
  const lift = useUnsaved((dirty ?? touched) && !sent, kept ? "kept" : "lost");
  const refused = useCallback(() => setSent(false), []);
  return (
    <RefusedContext value={refused}>
      <form
        className={styles.form}
        aria-label={label}
        onInput={() => {
          setTouched(true);
          setSent(false);
        }}
        onSubmit={(event) => {
          event.preventDefault();
          lift();
          setSent(true);
          onSend();
        }}
      >
        {children}
      </form>
    </RefusedContext>
  );
}

/** The buttons at the end of a form. */
export function FormButtons({ children }: { children: ReactNode }) {
  return <div className={styles.buttons}>{children}</div>;
}
