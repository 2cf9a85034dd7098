import { Check, Field } from "../../parts/field";
import { ChoiceField, Secret, TextField } from "../../parts/fields";
import { AgentField } from "../../parts/place";
import type { BotField, Draft, Platform } from "./bots";
import styles from "./bots.module.css";
import { texts } from "./texts";

type Props = {
  platform: Platform;
  draft: Draft;
  onChange: (draft: Draft) => void;
  /** A whole token was pasted. */
  onPasted?: (draft: Draft) => void;
  /** Settings that are already set. */
  settings?: Record<string, unknown>;
  secrets?: readonly string[];
  /** True: the settings are shown immediately, not only after a click on “More settings”. */
  open?: boolean;
};

/** Tokens first, then the other settings that the platform's guide names. */
export function BotFields({ platform, draft, onChange, onPasted, settings = {}, secrets = [], open = false }: Props) {
  const kept = (name: string) => (name in draft.settings ? draft.settings[name] : settings[name]);
  const set = (name: string, value: unknown) => onChange({ ...draft, settings: { ...draft.settings, [name]: value } });
  const rest = platform.fields
    .filter((one) => !one.secret)
    .map((one) => <Setting key={one.name} field={one} value={kept(one.name)} onChange={(to) => set(one.name, to)} />);
  return (
    <div className={styles.fields}>
      {platform.fields
        .filter((one) => one.secret)
        .map((one) => {
          const known = secrets.includes(one.name);
          const typed = (text: string): Draft => {
            const { [one.name]: _, ...others } = draft.secrets;
            return { ...draft, secrets: text === "" ? others : { ...others, [one.name]: text } };
          };
          return (
            <Field
              key={one.name}
              label={one.label}
              hint={`${one.help} ${known ? `${texts.secretSet} ` : ""}${texts.sealed}`}
            >
              <Secret
                required={one.required && !known}
                onText={(text) => onChange(typed(text))}
                onPasted={(text) => onPasted?.(typed(text))}
              />
            </Field>
          );
        })}
      {open ? (
        rest
      ) : (
        <details>
          <summary>{texts.more}</summary>
          <div className={styles.more}>{rest}</div>
        </details>
      )}
    </div>
  );
}

function Setting({ field, value, onChange }: { field: BotField; value: unknown; onChange: (value: unknown) => void }) {
  const shown = asText(value);
  const usual = asText(field.default);
  if (field.name === "agent") {
    return (
      <AgentField
        label={field.label}
        hint={field.help}
        none={texts.anyAgent}
        value={shown}
        onChange={(to) => onChange(to || null)}
      />
    );
  }
  if (field.kind === "boolean") {
    return (
      <Check label={field.label} hint={field.help} checked={Boolean(value ?? field.default)} onChange={onChange} />
    );
  }
  if (field.kind === "choice") {
    const nothing = usual === "" ? texts.asDaemon : texts.defaultChoice(usual);
    const options = [["", nothing] as const, ...field.choices.map((one) => [one, one] as const)];
    return (
      <ChoiceField
        label={field.label}
        hint={field.help}
        value={shown}
        options={options}
        onChange={(to) => onChange(to || null)}
      />
    );
  }
  const hints = { list: texts.listHint, duration: texts.durationHint } as Record<string, string>;
  const parsed = (text: string) => {
    if (text.trim() === "") return null;
    if (field.kind === "list") return text.split(",").map((one) => one.trim());
    return field.kind === "integer" ? Number(text) : text.trim();
  };
  return (
    <TextField
      label={field.label}
      hint={`${field.help} ${hints[field.kind] ?? ""}`.trim()}
      type={field.kind === "integer" ? "number" : "text"}
      defaultValue={shown}
      placeholder={usual}
      required={field.required}
      onChange={(text) => onChange(parsed(text))}
    />
  );
}

function asText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return Array.isArray(value) ? value.join(", ") : String(value);
}
