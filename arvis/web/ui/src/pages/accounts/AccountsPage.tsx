import { useApi } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Sheet } from "../../parts/page";
import { NEW, ResourcePage } from "../../parts/resource";
import { Loaded } from "../../parts/states";
import { asPages, type Column } from "../../parts/table";
import { count } from "../../words/format";
import { AccountSheet, AccountState } from "./AccountSheet";
import type { Account } from "./accounts";
import { NewAccount } from "./NewAccount";
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
