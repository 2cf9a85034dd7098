import { useSend } from "../../api/hooks";
import { ChoiceField, TextArea, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { texts as common } from "../../parts/texts";
import type { Client, ClientDetail } from "./client";
import { texts } from "./texts";

const PLANS = Object.entries(texts.plans) as [Client["plan"], string][];
const STATUSES = Object.entries(texts.statuses) as [Client["status"], string][];
const AMOUNT = { type: "number", min: 0, step: "any" } as const;

/** Amounts as typed. */
function draftOf(client: ClientDetail | undefined) {
  return {
    name: client?.name ?? "",
    plan: client?.plan ?? ("per_task" as const),
    status: client?.status ?? ("active" as const),
    price: String(client?.pricePerTaskUsd ?? 0),
    fee: String(client?.monthlyFeeUsd ?? 0),
    factor: String(client?.tokenFactor ?? 0),
    limit: client?.monthlyLimitUsd === null || client === undefined ? "" : String(client.monthlyLimitUsd),
    notes: client?.notes ?? "",
  };
}

type Props = { known?: ClientDetail; onSaved: (id: string) => void; onCancel: () => void };

/** Create a client, or change a `known` one. */
export function ClientForm({ known, onSaved, onCancel }: Props) {
  const { draft, of } = useDraft(() => draftOf(known));
  const make = useSend("POST /api/clients", { quiet: true, done: texts.made });
  const change = useSend("PATCH /api/clients/{client}", { quiet: true, done: common.saved });
  const send = () => {
    const { name, plan, status, notes } = draft;
    const body = {
      ...{ name, plan, status, notes },
      pricePerTaskUsd: Number(draft.price),
      monthlyFeeUsd: Number(draft.fee),
      tokenFactor: Number(draft.factor),
      monthlyLimitUsd: draft.limit === "" ? null : Number(draft.limit),
    };
    if (known === undefined) make.mutate({ body }, { onSuccess: (made) => onSaved(made.id) });
    else change.mutate({ path: { client: known.id }, body }, { onSuccess: () => onSaved(known.id) });
  };
  return (
    <Form onSend={send} by={[make, change]} onCancel={onCancel} label={known === undefined ? texts.add : common.edit}>
      <TextField label={texts.name} required {...of("name")} />
      <ChoiceField label={texts.plan} options={PLANS} {...of("plan")} />
      <ChoiceField label={texts.status} options={STATUSES} {...of("status")} />
      <TextField label={texts.price} required {...AMOUNT} {...of("price")} />
      <TextField label={texts.fee} required {...AMOUNT} {...of("fee")} />
      <TextField label={texts.factor} hint={texts.factorHint} required {...AMOUNT} {...of("factor")} />
      <TextField label={texts.limitField} hint={texts.limitHint} {...AMOUNT} {...of("limit")} />
      <TextArea label={texts.notes} {...of("notes")} />
    </Form>
  );
}
