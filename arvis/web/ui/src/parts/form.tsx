import { type ReactNode, useCallback, useState } from "react";
import type { ApiError } from "../api/client";
import { Button } from "./button";
import styles from "./field.module.css";
import { Failure } from "./states";
import { texts } from "./texts";
import { RefusedContext, useUnsaved } from "./unsaved";

/** The part of the result of `useSend` that a form shows. */
type Sending = { isPending: boolean; error?: ApiError | null };

type Props = {
  onSend: () => void;
  by?: readonly Sending[];
  /** The words of the button that submits. */
  save?: string;
  /** The form cannot be submitted now, for example because nothing was changed. */
  disabled?: boolean;
  onCancel?: () => void;
  buttons?: ReactNode;
  children: ReactNode;
  label?: string;
  dirty?: boolean;
  /** The page stores the draft and offers it again. */
  kept?: boolean;
};

/**
 * A form; Enter in a field submits it. Above the fields, the form shows a refusal of its writes (`by`). Below the fields, it
 * shows a submit button, a cancel button and further `buttons`. Without `by` it shows only its children.
 *
 * The user is asked before input that was not submitted is lost: after the first input, or while `dirty` is true. After a
 * failure the form still asks, because nothing was saved.
 */
export function Form({
  onSend,
  by,
  save = texts.save,
  disabled = false,
  onCancel,
  buttons,
  children,
  label,
  dirty,
  kept = false,
}: Props) {
  const [touched, setTouched] = useState(false);
  const [sent, setSent] = useState(false);
  const lift = useUnsaved((dirty ?? touched) && !sent, kept ? "kept" : "lost");
  const refused = useCallback(() => setSent(false), []);
  const error = by?.find((one) => one.error)?.error;
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
        {error && <Failure error={error} />}
        {children}
        {by && (
          <FormButtons>
            <Button
              label={save}
              type="submit"
              kind="primary"
              busy={by.some((one) => one.isPending)}
              disabled={disabled}
            />
            {onCancel && <Button label={texts.cancel} onClick={onCancel} />}
            {buttons}
          </FormButtons>
        )}
      </form>
    </RefusedContext>
  );
}

/** The buttons at the end of a form. */
export function FormButtons({ children }: { children: ReactNode }) {
  return <div className={styles.buttons}>{children}</div>;
}
