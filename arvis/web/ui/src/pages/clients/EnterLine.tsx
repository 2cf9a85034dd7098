import { useState } from "react";
import { useSend } from "../../api/hooks";
import type { Body } from "../../api/types";
import { Button } from "../../parts/button";
import { Choice, Field, Form, FormButtons } from "../../parts/field";
import { Failure } from "../../parts/states";
import { texts } from "./texts";

type Type = Body<"POST /api/clients/{client}/charges">["type"];

const TYPES: [Type, string][] = [
  ["payment", texts.types.payment],
  ["subscription", texts.types.subscription],
  ["adjustment", texts.types.adjustment],
];

/** Enter a payment or a charge. */
export function EnterLine({ client }: { client: string }) {
  const [type, setType] = useState<Type>("payment");
  const [amount, setAmount] = useState("");
  const [description, setDescription] = useState("");
  const enter = useSend("POST /api/clients/{client}/charges", { quiet: true, done: texts.entered });
  const send = () =>
    enter.mutate(
      { path: { client }, body: { type, amountUsd: Number(amount), description } },
      {
        onSuccess: () => {
          setAmount("");
          setDescription("");
        },
      },
    );
  return (
    <details>
      <summary>{texts.enter}</summary>
      <Form onSend={send} label={texts.enter}>
        {enter.error && <Failure error={enter.error} />}
        <Field label={texts.type} hint={texts.typeHint[type]}>
          <Choice value={type} options={TYPES} onChange={setType} />
        </Field>
        <Field label={texts.amountField}>
          <input type="number" step="any" required value={amount} onChange={(event) => setAmount(event.target.value)} />
        </Field>
        <Field label={texts.description}>
          <input value={description} onChange={(event) => setDescription(event.target.value)} />
        </Field>
        <FormButtons>
          <Button type="submit" kind="primary" busy={enter.isPending}>
            {texts.enter}
          </Button>
        </FormButtons>
      </Form>
    </details>
  );
}
