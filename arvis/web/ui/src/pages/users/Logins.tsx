import { type Pages, useSend } from "../../api/hooks";
import type { Item } from "../../api/types";
import { Button } from "../../parts/button";
import { Status, Time, UntrustedText } from "../../parts/show";
import { Empty } from "../../parts/states";
import { Table } from "../../parts/table";
import { reveal } from "../../words/format";
import { texts } from "./texts";

type Login = Item<"GET /api/auth/sessions">;

/** The logins of a user, with a button that ends each. The current login is ended by logging out. */
export function Logins({ pages }: { pages: Pages<Login> }) {
  const end = useSend("DELETE /api/auth/sessions/{session}", { done: texts.ended });
  return (
    <Table
      label={texts.logins}
      pages={pages}
      idOf={(login) => login.id}
      columns={[
        { name: texts.device, width: "minmax(120px, 2fr)", show: (login) => <UntrustedText text={login.device} /> },
        { name: texts.begun, show: (login) => <Time at={login.createdAt} /> },
        { name: texts.lastUsed, show: (login) => <Time at={login.lastSeenAt} /> },
        {
          name: "",
          width: "96px",
          show: (login) =>
            login.current ? (
              <Status tone="good">{texts.thisOne}</Status>
            ) : (
              <Button
                label={texts.end}
                aria-label={texts.endOf(reveal(login.device))}
                onClick={() => end.mutate({ path: { session: login.id } })}
              />
            ),
        },
      ]}
      empty={<Empty title={texts.noLogins} />}
    />
  );
}
