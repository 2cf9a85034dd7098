import { type InputHTMLAttributes, useRef } from "react";

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
