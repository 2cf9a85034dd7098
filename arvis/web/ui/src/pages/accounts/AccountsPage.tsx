import { useState } from "react";
import { useLocation } from "wouter";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Button } from "../../parts/button";
import { ChoiceField, TextField } from "../../parts/fields";
import { Form } from "../../parts/form";
import { Sheet } from "../../parts/page";
import { NEW, ResourcePage } from "../../parts/resource";
import { Failure, Loaded } from "../../parts/states";
import { asPages, type Column } from "../../parts/table";
import { texts as common } from "../../parts/texts";
import { count, unusedName } from "../../words/format";
import { AccountFields, TrialResult } from "./AccountFields";
import { AccountSheet, AccountState } from "./AccountSheet";
import { type Account, bodyOf, type Draft, EMPTY, isComplete, type Provider } from "./accounts";
import { texts } from "./texts";

/** Keys and addresses of model vendors. */
export default function AccountsPage() {
  const owns = useMay("owner");
  const pages = asPages(useApi("GET /api/accounts", {}));
  const providers = useApi("GET /api/providers", {});
  const titleOf = (name: string) => providers.data?.items.find((one) => one.name === name)?.title ?? name;
  const columns: Column<Account>[] = [
    { name: texts.name, show: (one) => one.name },
    { name: texts.provider, show: (one) => titleOf(one.provider) },
    { name: texts.model, width: "minmax(96px, 1.5fr)", show: (one) => one.model },
    { name: texts.state, width: "124px", show: (one) => <AccountState account={one} /> },
    { name: texts.priority, width: "60px", show: (one) => count(one.priority) },
    { name: texts.source, width: "120px", wide: true, show: (one) => texts.sources[one.source] },
  ];
  const content = (name: string) => {
    const account = pages.rows.find((one) => one.name === name);
    return (
      <Loaded of={providers}>
        {({ items }) =>
          name === NEW && owns ? (
            <NewAccount providers={items} accounts={pages.rows} />
          ) : account ? (
            <AccountSheet account={account} provider={items.find((one) => one.name === account.provider)} />
          ) : (
            <p>{pages.loading ? "" : texts.missing}</p>
          )
        }
      </Loaded>
    );
  };
  return (
    <ResourcePage
      home="/settings/accounts"
      texts={texts}
      pages={pages}
      columns={columns}
      idOf={(one) => one.name}
      mayAdd={owns}
      sheet={(name, { onClose }) => (
        <Sheet title={name === NEW ? texts.add : name} onClose={onClose}>
          {content(name)}
        </Sheet>
      )}
    />
  );
}

/** The vendors that an account can be created for. */
const offered = (providers: readonly Provider[]) => providers.filter((one) => one.name !== "demo");

function NewAccount({ providers, accounts }: { providers: readonly Provider[]; accounts: readonly Account[] }) {
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
