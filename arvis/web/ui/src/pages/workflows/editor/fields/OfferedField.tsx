import { useState } from "react";
import { useApi } from "../../../../api/hooks";
import { ChoiceField, TextField } from "../../../../parts/fields";
import { reveal } from "../../../../words/format";
import { texts } from "../texts";
import type { FieldProps } from "./props";

const OTHER = "*";

/** A choice of existing values, or another one by name. */
export function OfferedField({ field, value, onChange, onRest, error, disabled }: FieldProps) {
  const offers = useOffers(field.offers);
  const [typed, setTyped] = useState(false);
  const text = typeof value === "string" ? value : "";
  const known = text === "" || offers.some(([one]) => one === text);
  return (
    <>
      <ChoiceField
        label={field.label}
        hint={field.help || undefined}
        error={typed ? null : error}
        value={typed ? OTHER : text}
        disabled={disabled}
        options={[
          ["", field.required ? texts.fields.choose : texts.fields.unset],
          ...(known ? [] : [[text, reveal(text)] as const]),
          ...offers,
          [OTHER, texts.fields.other],
        ]}
        onChange={(chosen) => {
          setTyped(chosen === OTHER);
          if (chosen !== OTHER) onChange(chosen === "" ? undefined : chosen);
        }}
      />
      {typed && (
        <TextField
          label={texts.fields.otherName}
          error={error}
          value={text}
          maxLength={field.most ?? undefined}
          onBlur={onRest}
          onChange={(written) => onChange(written === "" ? undefined : written)}
        />
      )}
    </>
  );
}

/** A value and its label. */
type Offer = readonly [value: string, words: string];

/** People who may answer are named by role, or individually. */
const ROLES = ["owner", "operator"];

/** The choices: agents, tools, workflows, models, platforms or people. */
export function useOffers(offers: string): Offer[] {
  const asked = (name: string) => (offers === name ? {} : null);
  const agents = useApi("GET /api/agents", asked("agents"));
  const tools = useApi("GET /api/tools", asked("tools"));
  const workflows = useApi("GET /api/workflows", asked("workflows"));
  const models = useApi("GET /api/models", asked("models"));
  const bots = useApi("GET /api/bots", asked("platforms"));
  switch (offers) {
    case "agents":
      return (agents.data?.items ?? []).map(({ slug, name }) => [slug, reveal(name)]);
    case "tools":
      return (tools.data?.items ?? []).map(({ name }) => [name, reveal(name)]);
    case "workflows":
      return (workflows.data?.items ?? []).map(({ slug, name }) => [slug, reveal(name)]);
    case "models":
      return (models.data?.items ?? [])
        .filter(({ accounts }) => accounts.length > 0)
        .map(({ name }) => [name, reveal(name)]);
    case "platforms":
      return [...new Set(["web", ...(bots.data?.items ?? []).map(({ platform }) => platform)])].map((one) => [
        one,
        one,
      ]);
    case "people":
      return ROLES.map((role) => [role, role]);
    default:
      return [];
  }
}
