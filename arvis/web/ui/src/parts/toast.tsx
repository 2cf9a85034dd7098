/** Short messages about completed or refused actions, at the edge of the screen and announced by screen readers. */

import { X } from "lucide-react";
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import type { ApiError } from "../api/client";
import { sentences } from "../words/format";
import { IconButton } from "./button";
import { texts } from "./texts";
import styles from "./toast.module.css";

type Toast = { id: number; words: string; trouble: boolean; action?: { words: string; act: () => void } };

type Toasts = {
  /** Report a completed action, optionally with an undo button (`{ words: "Undo", act }`). */
  tell: (words: string, action?: Toast["action"]) => void;
  /** Show a refusal with its fix. */
  fail: (error: ApiError) => void;
};

const ToastContext = createContext<Toasts | null>(null);
const LIFE_MS = 6_000;
const TROUBLE_LIFE_MS = 15_000;

export function useToast(): Toasts {
  const toasts = useContext(ToastContext);
  if (toasts === null) throw new Error("useToast outside of ToastProvider");
  return toasts;
}

let nextId = 0;

export function ToastProvider({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<Toast[]>([]);
  const drop = useCallback((id: number) => setShown((all) => all.filter((one) => one.id !== id)), []);
  const add = useCallback(
    (toast: Omit<Toast, "id">) => {
      nextId += 1;
      const id = nextId;
      setShown((all) => [...all.slice(-3), { ...toast, id }]);
      window.setTimeout(() => drop(id), toast.trouble ? TROUBLE_LIFE_MS : LIFE_MS);
    },
    [drop],
  );
  const toasts = useMemo<Toasts>(
    () => ({
      tell: (words, action) => add({ words, trouble: false, action }),
      fail: (error) => add({ words: sentences(error.message, error.fix), trouble: true }),
    }),
    [add],
  );
  return (
    <ToastContext value={toasts}>
      {children}
      <div className={styles.shelf} role="status" aria-live="polite">
        {shown.map((toast) => (
          <div key={toast.id} className={toast.trouble ? styles.trouble : styles.toast}>
            <span>{toast.words}</span>
            {toast.action && (
              <button type="button" className={styles.action} onClick={toast.action.act}>
                {toast.action.words}
              </button>
            )}
            <IconButton icon={X} label={texts.close} onClick={() => drop(toast.id)} />
          </div>
        ))}
      </div>
    </ToastContext>
  );
}
