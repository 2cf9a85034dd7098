import { useState } from "react";
import { useLocation } from "wouter";
import { useSend } from "../../api/hooks";
import { Button } from "../../parts/button";
import { Choice, Field } from "../../parts/field";
import { Form, FormButtons } from "../../parts/form";
import { Failure } from "../../parts/states";
import { AccountFields } from "./AccountFields";
import { type Account, bodyOf, type Draft, EMPTY, freeName, isComplete, type Provider } from "./accounts";
import { TrialResult } from "./TrialResult";
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
  const add = useSend("POST /api/accounts", { quiet: true, done: texts.saved });
  if (provider === undefined) return null;
  const suggested = freeName(
    vendor,
    accounts.map((one) => one.name),
  );
  const name = named ?? suggested;
  const trouble = add.error ?? attempt.error;
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
    <Form onSend={send} label={texts.add}>
      {trouble && <Failure error={trouble} />}
      <Field label={texts.provider} hint={provider.description}>
        <Choice
          value={vendor}
          options={vendors.map((one) => [one.name, one.title] as const)}
          onChange={(chosen) => {
            setVendor(chosen);
            setDraft({ ...EMPTY, apiKey: draft.apiKey });
            attempt.reset();
          }}
        />
      </Field>
      <AccountFields key={vendor} provider={provider} draft={draft} onChange={setDraft} onPasted={test} />
      <Field label={texts.name} hint={texts.nameHint}>
        <input value={name} required autoComplete="off" onChange={(event) => setNamed(event.target.value)} />
      </Field>
      {attempt.data && !attempt.isPending && <TrialResult trial={attempt.data} free={provider.key === "none"} />}
      <FormButtons>
        <Button type="submit" kind="primary" busy={add.isPending}>
          {texts.save}
        </Button>
        <Button busy={attempt.isPending} disabled={!isComplete(provider, draft)} onClick={() => test()}>
          {texts.test}
        </Button>
      </FormButtons>
    </Form>
  );
}
