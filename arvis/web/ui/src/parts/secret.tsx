import { type InputHTMLAttributes, useRef } from "react";

/** More letters than this at once were pasted, not typed. */
const PASTED = 8;

type Props = Omit<InputHTMLAttributes<HTMLInputElement>, "value" | "defaultValue" | "onChange" | "type"> & {
  onText: (text: string) => void;
  /** A whole key was pasted. */
  onPasted?: (text: string) => void;
};

/** A field for a key or token. It holds its own text, which therefore never appears in the DOM. */
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
