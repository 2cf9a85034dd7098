import { useState } from "react";
import { useLocation } from "wouter";
import { useSend } from "../../api/hooks";
import { Button } from "../../parts/button";
import { ChoiceField, TextField } from "../../parts/fields";
import { Form } from "../../parts/form";
import { Failure } from "../../parts/states";
import { texts as common } from "../../parts/texts";
import { unusedName } from "../../words/format";
import { AccountFields, TrialResult } from "./AccountFields";
import { type Account, bodyOf, type Draft, EMPTY, isComplete, type Provider } from "./accounts";
import { texts } from "./texts";

/** The vendors that an account can be created for. */
const offered = (providers: readonly Provider[]) => providers.filter((one) => one.name !== "demo");

export function NewAccount({ providers, accounts }: { providers: readonly Provider[]; accounts: readonly Account[] }) {
  const [, navigate] = useLocation();
  const vendors = offered(providers);
  const [vendor, setVendor] = useState(vendors[0]?.name ?? "");
  const [named, setNamed] = useState<string | null>(null);
  const [draft, setDraft] = useState<Draft>(EMPTY);
  const provider = vendors.find((one) => one.name === vendor);
  const attempt = useSend("POST /api/accounts/test", { quiet: true });
  const add = useSend("POST /api/accounts", { quiet: true, done: common.saved });
  if (provider === undefined) return null;
  const suggested = unusedName(
    vendor,
    accounts.map((one) => one.name),
  );
  const name = named ?? suggested;
  const test = (apiKey = draft.apiKey) => {
    const body = { ...draft, apiKey };
    if (isComplete(provider, body)) attempt.mutate({ body: bodyOf(vendor, body) });
  };
  const send = () =>
    add.mutate(
      { body: { name, ...bodyOf(vendor, draft) } },
      { onSuccess: () => navigate(`/settings/accounts/${encodeURIComponent(name)}`) },
    );
  return (
    <Form
      onSend={send}
      by={[add]}
      label={texts.add}
      buttons={
        <Button
          label={texts.test}
          busy={attempt.isPending}
          disabled={!isComplete(provider, draft)}
          onClick={() => test()}
        />
      }
    >
      {add.error === null && attempt.error && <Failure error={attempt.error} />}
      <ChoiceField
        label={texts.provider}
        hint={provider.description}
        value={vendor}
        options={vendors.map((one) => [one.name, one.title] as const)}
        onChange={(chosen) => {
          setVendor(chosen);
          setDraft({ ...EMPTY, apiKey: draft.apiKey });
          attempt.reset();
        }}
      />
      <AccountFields key={vendor} provider={provider} draft={draft} onChange={setDraft} onPasted={test} />
      <TextField label={texts.name} hint={texts.nameHint} required value={name} onChange={setNamed} />
      {attempt.data && !attempt.isPending && <TrialResult trial={attempt.data} free={provider.key === "none"} />}
    </Form>
  );
}
