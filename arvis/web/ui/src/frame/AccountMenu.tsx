import { CircleUser } from "lucide-react";
import { useId } from "react";
import { Link } from "wouter";
import { useSend } from "../api/hooks";
import { useSession } from "../api/session";
import { clearOutboxes } from "../pages/chat/outbox";
import { reveal } from "../words/format";
import styles from "./frame.module.css";
import { texts } from "./texts";

/** The name of the user, a link to their password and logins, and the logout button. */
export function AccountMenu() {
  const { me, refresh } = useSession();
  const logOut = useSend("POST /api/auth/logout");
  const id = useId();
  return (
    <>
      <button type="button" className={styles.me} popoverTarget={id} title={texts.account}>
        <CircleUser aria-hidden />
        <bdi>{reveal(me.name)}</bdi>
      </button>
      <div id={id} popover="auto" className={styles.menu}>
        <p>
          <bdi>{reveal(me.name)}</bdi> <span className="muted">{me.role}</span>
        </p>
        <Link href="/settings/users">{texts.pages.users}</Link>
        <button type="button" onClick={() => logOut.mutate({}, { onSuccess: clearOutboxes, onSettled: refresh })}>
          {texts.logOut}
        </button>
      </div>
    </>
  );
}
