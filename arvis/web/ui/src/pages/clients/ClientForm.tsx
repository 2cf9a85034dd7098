import { useState } from "react";
import { useSend } from "../../api/hooks";
import { Button } from "../../parts/button";
import { Choice, Field, Form, FormButtons } from "../../parts/field";
import { Failure } from "../../parts/states";
import type { Client, ClientDetail } from "./client";
import { texts } from "./texts";

const PLANS = Object.entries(texts.plans) as [Client["plan"], string][];
const STATUSES = Object.entries(texts.statuses) as [Client["status"], string][];

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

type Draft = ReturnType<typeof draftOf>;

/** Create a client, or change a `known` one. */
export function ClientForm({
  known,
  onSaved,
  onCancel,
}: {
  known?: ClientDetail;
  onSaved: (id: string) => void;
  onCancel: () => void;
}) {
  const [draft, setDraft] = useState<Draft>(() => draftOf(known));
  const set = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const make = useSend("POST /api/clients", { quiet: true, done: texts.made });
  const change = useSend("PATCH /api/clients/{client}", { quiet: true, done: texts.saved });
  const error = make.error ?? change.error;
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
  const amount = (name: "price" | "fee" | "factor" | "limit", required: boolean) => (
    <input
      type="number"
      min={0}
      step="any"
      required={required}
      value={draft[name]}
      onChange={(event) => set({ [name]: event.target.value })}
    />
  );
  return (
    <Form onSend={send} label={known === undefined ? texts.add : texts.edit}>
      {error && <Failure error={error} />}
      <Field label={texts.name}>
        <input value={draft.name} required autoComplete="off" onChange={(event) => set({ name: event.target.value })} />
      </Field>
      <Field label={texts.plan}>
        <Choice value={draft.plan} options={PLANS} onChange={(plan) => set({ plan })} />
      </Field>
      <Field label={texts.status}>
        <Choice value={draft.status} options={STATUSES} onChange={(status) => set({ status })} />
      </Field>
      <Field label={texts.price}>{amount("price", true)}</Field>
      <Field label={texts.fee}>{amount("fee", true)}</Field>
      <Field label={texts.factor} hint={texts.factorHint}>
        {amount("factor", true)}
      </Field>
      <Field label={texts.limitField} hint={texts.limitHint}>
        {amount("limit", false)}
      </Field>
      <Field label={texts.notes}>
        <textarea value={draft.notes} onChange={(event) => set({ notes: event.target.value })} />
      </Field>
      <FormButtons>
        <Button type="submit" kind="primary" busy={make.isPending || change.isPending}>
          {texts.save}
        </Button>
        <Button onClick={onCancel}>{texts.cancel}</Button>
      </FormButtons>
    </Form>
  );
}
