import { useState } from "react";
import { useApi } from "../../api/hooks";
import type { Item } from "../../api/types";
import { ChoiceField, TextField } from "../../parts/fields";
import { money, reveal } from "../../words/format";
import { texts } from "./texts";

type Model = Item<"GET /api/models">;

const OTHER = "*";

/** A model from the list, the account's default, or another one by name. */
export function ModelField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const models = useApi("GET /api/models", {});
  const [typed, setTyped] = useState(false);
  const items = [...(models.data?.items ?? [])].sort(byAccount);
  const known = value === "" || items.some((model) => model.name === value);
  const options: [string, string][] = [
    ["", texts.unset.model],
    ...(known ? [] : [[value, reveal(value)] as [string, string]]),
    ...items.map((model): [string, string] => [model.name, inWords(model)]),
    [OTHER, texts.otherModel],
  ];
  return (
    <>
      <ChoiceField
        label={texts.fields.model}
        hint={texts.modelHint}
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
