/** Native dialogs: the browser keeps the focus inside, closes on escape and dims the rest. */

import { X } from "lucide-react";
import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from "react";
import { Button, IconButton } from "./button";
import styles from "./dialog.module.css";
import { texts } from "./texts";

type Props = { title: string; onClose: () => void; children: ReactNode; wide?: boolean };

export function Dialog({ title, onClose, children, wide = false }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return (
    <dialog ref={dialog} className={wide ? styles.wide : styles.dialog} aria-label={title} onClose={onClose}>
      <header className={styles.header}>
        <h2>{title}</h2>
        <IconButton icon={X} label={texts.close} onClick={onClose} />
      </header>
      {children}
    </dialog>
  );
}

/** A question before an action: the consequence as text, and the label of the confirm button. */
export type Question = { title: string; words: string; yes: string; danger?: boolean };

type Ask = (question: Question) => Promise<boolean>;

const AskContext = createContext<Ask | null>(null);

/** Ask before an action that cannot be undone: `if (await ask({ … })) send.mutate(…)`. */
export function useAsk(): Ask {
  const ask = useContext(AskContext);
  if (ask === null) throw new Error("useAsk outside of AskProvider");
  return ask;
}

export function AskProvider({ children }: { children: ReactNode }) {
  const [open, setOpen] = useState<{ question: Question; answer: (yes: boolean) => void } | null>(null);
  const ask = useCallback<Ask>((question) => new Promise((answer) => setOpen({ question, answer })), []);
  const answered = (yes: boolean) => {
    open?.answer(yes);
    setOpen(null);
  };
  return (
    <AskContext value={ask}>
      {children}
      {open && (
        <Dialog title={open.question.title} onClose={() => answered(false)}>
          <p className={styles.words}>{open.question.words}</p>
          <div className={styles.buttons}>
            <Button label={texts.cancel} onClick={() => answered(false)} />
            <Button
              label={open.question.yes}
              kind={open.question.danger ? "danger" : "primary"}
              onClick={() => answered(true)}
            />
          </div>
        </Dialog>
      )}
    </AskContext>
  );
}
