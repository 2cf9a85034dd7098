import { Button, type ButtonProps } from "./button";
import { useAsk } from "./dialog";

type Props = ButtonProps & {
  label: string;
  words: string;
  title?: string;
  yes?: string;
  danger?: boolean;
  onYes: () => void;
};

/** A button that asks before it acts. Its label is also the title of the question and the label of the confirm button. */
export function AskButton({ label, words, title = label, yes = label, danger = true, onYes, ...button }: Props) {
  const ask = useAsk();
  const press = async () => {
    if (await ask({ title, words, yes, danger })) onYes();
  };
  return <Button {...button} label={label} onClick={() => void press()} />;
}
