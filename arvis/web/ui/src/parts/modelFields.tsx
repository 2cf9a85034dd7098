/** The fields for the model of some work, and for its reasoning effort. */

import { useState } from "react";
import { useApi } from "../api/hooks";
import type { Answer, Item } from "../api/types";
import { money, reveal } from "../words/format";
import { ChoiceField, TextField } from "./fields";
import { texts as all } from "./texts";

const texts = all.models;

type Model = Item<"GET /api/models">;

const OTHER = "*";

type Props<Value> = {
  label: string;
  hint?: string;
  /** The words for an unset value. */
  unset: string;
  value: Value;
  onChange: (value: Value) => void;
};

/** A model from the list, another one by name, or none. */
export function ModelField({ label, hint, unset, value, onChange }: Props<string>) {
  const models = useApi("GET /api/models", {});
  const [typed, setTyped] = useState(false);
  const items = [...(models.data?.items ?? [])].sort(byAccount);
  const known = value === "" || items.some((model) => model.name === value);
  const options: [string, string][] = [
    ["", unset],
    ...(known ? [] : [[value, reveal(value)] as [string, string]]),
    ...items.map((model): [string, string] => [model.name, inWords(model)]),
    [OTHER, texts.otherModel],
  ];
  return (
    <>
      <ChoiceField
        label={label}
        hint={hint}
        value={typed ? OTHER : value}
        options={options}
        onChange={(chosen) => {
          setTyped(chosen === OTHER);
          if (chosen !== OTHER) onChange(chosen);
        }}
      />
      {typed && (
        <TextField label={texts.otherModelName} hint={texts.otherModelHint} value={value} onChange={onChange} />
      )}
    </>
  );
}

/** Models that an account can serve come first. */
const byAccount = (one: Model, other: Model) =>
  Number(other.accounts.length > 0) - Number(one.accounts.length > 0) || one.name.localeCompare(other.name);

function inWords(model: Model): string {
  const { inputUsd, outputUsd } = model;
  const price = inputUsd === null || outputUsd === null ? "" : texts.price(money(inputUsd), money(outputUsd));
  return [reveal(model.name), price, model.accounts.length === 0 ? texts.noAccount : ""].filter(Boolean).join(" · ");
}

export type Effort = NonNullable<Answer<"GET /api/agents/{agent}">["effort"]> | "";

const EFFORTS = Object.entries(all.efforts) as [Effort, string][];

/** A reasoning effort, or none. */
export function EffortField({ label, hint, unset, value, onChange }: Props<Effort>) {
  return (
    <ChoiceField label={label} hint={hint} value={value} options={[["", unset], ...EFFORTS]} onChange={onChange} />
  );
}
