import { Upload } from "lucide-react";
import { useRef } from "react";
import { Button, type ButtonProps } from "./button";

type Props = Pick<ButtonProps, "kind" | "busy" | "disabled"> & {
  label: string;
  /** The endings of file names that the browser offers, separated by commas. */
  accept: string;
  /** Several files may be chosen; `onChoose` is called for each. */
  multiple?: boolean;
  onChoose: (file: File) => void;
};

/** A button that opens the file chooser of the browser. */
export function FileButton({ label, accept, multiple = false, onChoose, ...button }: Props) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        accept={accept}
        multiple={multiple}
        aria-label={label}
        onChange={({ target }) => {
          for (const file of target.files ?? []) onChoose(file);
          target.value = ""; // so that the same file can be chosen again
        }}
      />
      <Button {...button} label={label} icon={Upload} onClick={() => input.current?.click()} />
    </>
  );
}
