import { Plus } from "lucide-react";
import { useList } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Button } from "../../parts/button";
import { NEW, useDetail } from "../../parts/detail";
import { Page } from "../../parts/page";
import { Money, Time, UntrustedText } from "../../parts/show";
import { Empty } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { ClientSheet } from "./ClientSheet";
import { type Client, ClientState } from "./client";
import { texts } from "./texts";

const NAME: Column<Client> = {
  name: texts.name,
  width: "minmax(120px, 2fr)",
  show: (client) => <UntrustedText text={client.name} />,
};
const BALANCE: Column<Client> = {
  name: texts.balance,
  width: "110px",
  show: (client) => <Money usd={client.balanceUsd} />,
};
const STATUS: Column<Client> = {
  name: texts.status,
  width: "100px",
  show: (client) => <ClientState status={client.status} />,
};
const COLUMNS: Column<Client>[] = [
  NAME,
  STATUS,
  { name: texts.plan, width: "100px", show: (client) => texts.plans[client.plan] },
  BALANCE,
  {
    name: texts.limit,
    width: "130px",
    show: (client) =>
      client.monthlyLimitUsd === null ? (
        <span className="muted">{texts.asConfigured}</span>
      ) : (
        <Money usd={client.monthlyLimitUsd} />
      ),
  },
  { name: texts.changed, width: "116px", show: (client) => <Time at={client.updatedAt} /> },
];
/** The columns if a detail is shown beside the list. */
const FEWER: Column<Client>[] = [NAME, STATUS, BALANCE];

/** Clients and their balances. */
export default function ClientsPage() {
  const owns = useMay("owner");
  const pages = useList("GET /api/clients", {});
  const { id, open, close } = useDetail("/settings/clients");
  const add = owns && (
    <Button kind="primary" icon={<Plus aria-hidden />} onClick={() => open(NEW)}>
      {texts.add}
    </Button>
  );
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={add}
      sheet={id && <ClientSheet key={id} id={id} onOpen={open} onClose={close} />}
    >
      <Table
        label={texts.title}
        columns={id === null ? COLUMNS : FEWER}
        pages={pages}
        idOf={(client) => client.id}
        onOpen={(client) => open(client.id)}
        openId={id}
        empty={
          <Empty title={texts.empty} action={add}>
            {texts.emptyWhy}
          </Empty>
        }
      />
    </Page>
  );
}
