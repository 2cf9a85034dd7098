import type { Pages } from "../../api/hooks";
import { useSession } from "../../api/session";
import type { Item } from "../../api/types";
import { Status, Time, UntrustedText } from "../../parts/show";
import { Empty } from "../../parts/states";
import { Table } from "../../parts/table";
import { texts } from "./texts";

export type User = Item<"GET /api/users">;

type Props = { pages: Pages<User>; openId: string | null; onOpen: (id: string) => void };

/** All users of the dashboard. */
export function Users({ pages, openId, onOpen }: Props) {
  const { me } = useSession();
  return (
    <Table
      label={texts.users}
      pages={pages}
      idOf={(user) => user.id}
      openId={openId}
      onOpen={(user) => onOpen(user.id)}
      columns={[
        {
          name: texts.name,
          width: "minmax(100px, 2fr)",
          show: (user) => (
            <>
              <UntrustedText text={user.name} /> {user.id === me.userId && <span className="muted">({texts.you})</span>}
            </>
          ),
        },
        { name: texts.id, show: (user) => <bdi>{user.id}</bdi> },
        { name: texts.role, width: "96px", show: (user) => texts.roles[user.role] },
        {
          name: texts.password,
          width: "96px",
          show: (user) => (
            <Status tone={user.hasPassword ? "good" : "plain"}>
              {user.hasPassword ? texts.hasOne : texts.hasNone}
            </Status>
          ),
        },
        { name: texts.since, width: "132px", show: (user) => <Time at={user.createdAt} /> },
      ]}
      empty={<Empty title={texts.users} />}
    />
  );
}
