import { Plus } from "lucide-react";
import { useLocation, useRoute } from "wouter";
import { useApi } from "../../api/hooks";
import { useMay } from "../../api/session";
import { ButtonLink } from "../../parts/button";
import { Page, Sheet } from "../../parts/page";
import { UntrustedText } from "../../parts/show";
import { Empty, Loaded } from "../../parts/states";
import { Table } from "../../parts/table";
import { count } from "../../words/format";
import { AccountSheet } from "./AccountSheet";
import { AccountState } from "./AccountState";
import type { Account } from "./accounts";
import { NewAccount } from "./NewAccount";
import { texts } from "./texts";

const HOME = "/settings/accounts";
const NEW = "new";

export default function AccountsPage() {
  const [, navigate] = useLocation();
  const [, match] = useRoute(`${HOME}/:name`);
  const owns = useMay("owner");
  const accounts = useApi("GET /api/accounts", {});
  const pages = {
    rows: accounts.data?.items ?? [],
    error: accounts.error,
    loading: accounts.isPending,
    more: null,
    retry: () => void accounts.refetch(),
  };
  const providers = useApi("GET /api/providers", {});
  const open = match ? decodeURIComponent(match.name) : null;
  const close = () => navigate(HOME);
  const titleOf = (name: string) => providers.data?.items.find((one) => one.name === name)?.title ?? name;
  const add = owns && (
    <ButtonLink kind="primary" icon={<Plus aria-hidden />} href={`${HOME}/${NEW}`}>
      {texts.add}
    </ButtonLink>
  );
  const row = pages.rows.find((one) => one.name === open);
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={add}
      sheet={
        open && (
          <Sheet key={open} title={open === NEW ? texts.add : open} onClose={close}>
            <Loaded of={providers}>
              {({ items }) =>
                open === NEW && owns ? (
                  <NewAccount providers={items} accounts={pages.rows} />
                ) : row ? (
                  <AccountSheet account={row} provider={items.find((one) => one.name === row.provider)} />
                ) : (
                  <p>{pages.loading ? "" : texts.missing}</p>
                )
              }
            </Loaded>
          </Sheet>
        )
      }
    >
      <Table
        label={texts.title}
        pages={pages}
        idOf={(one) => one.name}
        openId={open}
        onOpen={(one) => navigate(`${HOME}/${encodeURIComponent(one.name)}`)}
        columns={[
          { name: texts.name, show: (one) => <UntrustedText text={one.name} /> },
          { name: texts.provider, show: (one) => titleOf(one.provider) },
          { name: texts.model, width: "minmax(96px, 1.5fr)", show: (one) => <UntrustedText text={one.model} /> },
          { name: texts.state, width: "124px", show: (one) => <AccountState account={one} /> },
          { name: texts.priority, width: "60px", show: (one) => count(one.priority) },
          // Beside the detail, which shows it as well, there is no space for it.
          ...(open === null
            ? [{ name: texts.source, width: "120px", show: (one: Account) => texts.sources[one.source] }]
            : []),
        ]}
        empty={
          <Empty title={texts.empty} action={add}>
            {texts.emptyWhy}
          </Empty>
        }
      />
    </Page>
  );
}
