import { type InputHTMLAttributes, useRef } from "react";

/** More letters than this at once were not typed. */
const PASTED = 8;

type Props = Omit<InputHTMLAttributes<HTMLInputElement>, "value" | "defaultValue" | "onChange" | "type"> & {
  onText: (text: string) => void;
  /** A whole key came at once. */
  onPasted?: (text: string) => void;
};

/** A field for a key or token. It keeps its own text, which therefore never stands in the document. */
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
