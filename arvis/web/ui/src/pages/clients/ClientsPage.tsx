import { useList } from "../../api/hooks";
import { useMay } from "../../api/session";
import { ResourcePage } from "../../parts/resource";
import { Money, Time } from "../../parts/show";
import type { Column } from "../../parts/table";
import { type Client, ClientSheet, ClientState } from "./ClientSheet";
import { texts } from "./texts";

const COLUMNS: Column<Client>[] = [
  { name: texts.name, width: "minmax(120px, 2fr)", show: (client) => client.name },
  { name: texts.status, width: "100px", show: (client) => <ClientState status={client.status} /> },
  { name: texts.plan, width: "100px", wide: true, show: (client) => texts.plans[client.plan] },
  { name: texts.balance, width: "110px", show: (client) => <Money usd={client.balanceUsd} /> },
  {
    name: texts.limit,
    width: "130px",
    wide: true,
    show: (client) =>
      client.monthlyLimitUsd === null ? (
        <span className="muted">{texts.asConfigured}</span>
      ) : (
        <Money usd={client.monthlyLimitUsd} />
      ),
  },
  { name: texts.changed, width: "116px", wide: true, show: (client) => <Time at={client.updatedAt} /> },
];

/** Clients and their balances. */
export default function ClientsPage() {
  return (
    <ResourcePage
      home="/settings/clients"
      texts={texts}
      pages={useList("GET /api/clients", {})}
      columns={COLUMNS}
      idOf={(client) => client.id}
      mayAdd={useMay("owner")}
      sheet={(id, opening) => <ClientSheet id={id} {...opening} />}
    />
  );
}
