import { useSend } from "../../api/hooks";
import type { Body } from "../../api/types";
import { ChoiceField, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { texts } from "./texts";

type Type = Body<"POST /api/clients/{client}/charges">["type"];

const TYPES: [Type, string][] = [
  ["payment", texts.types.payment],
  ["subscription", texts.types.subscription],
  ["adjustment", texts.types.adjustment],
];

/** Enter a payment or a charge. */
export function EnterLine({ client }: { client: string }) {
  const { draft, set, of } = useDraft({ type: "payment" as Type, amount: "", description: "" });
  const enter = useSend("POST /api/clients/{client}/charges", { quiet: true, done: texts.entered });
  const send = () => {
    const { type, amount, description } = draft;
    const body = { type, amountUsd: Number(amount), description };
    enter.mutate({ path: { client }, body }, { onSuccess: () => set({ amount: "", description: "" }) });
  };
  return (
    <details>
      <summary>{texts.enter}</summary>
      <Form onSend={send} by={[enter]} save={texts.enter} label={texts.enter}>
        <ChoiceField label={texts.type} hint={texts.typeHint[draft.type]} options={TYPES} {...of("type")} />
        <TextField label={texts.amountField} type="number" step="any" required {...of("amount")} />
        <TextField label={texts.description} {...of("description")} />
      </Form>
    </details>
  );
}
