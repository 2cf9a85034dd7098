/** Buttons that send a request, and buttons that ask before they act. */

import { Button, type ButtonProps } from "./button";
import { useAsk } from "./dialog";
import { texts as common } from "./texts";

type Sending<Request extends unknown[]> = { isPending: boolean; mutate: (...request: Request) => void };

/** The properties of a button that sends a request: `<Button label={texts.stop} {...sends(stop, { path })} />`. */
export function sends<Request extends unknown[]>(by: Sending<Request>, ...request: Request) {
  return { busy: by.isPending, onClick: () => by.mutate(...request) };
}

type Props = Omit<ButtonProps, "onClick"> & {
  label: string;
  words: string;
  title?: string;
  yes?: string;
  danger?: boolean;
  onClick: () => void;
};

/** A button that asks before it acts. Its label is also the title of the question and the label of the confirm button. */
export function AskButton({ label, words, title = label, yes = label, danger = true, onClick, ...button }: Props) {
  const ask = useAsk();
  const press = async () => {
    if (await ask({ title, words, yes, danger })) onClick();
  };
  return <Button {...button} label={label} onClick={() => void press()} />;
}

/** The button of a form that deletes what the form shows, after a question with the consequences. */
export function DeleteButton(props: Omit<Props, "label" | "kind">) {
  return <AskButton {...props} kind="danger" label={common.delete} />;
}
