import { Bell } from "lucide-react";
import { Link } from "wouter";
import { useApi } from "../api/hooks";
import { useMay } from "../api/session";
import styles from "./frame.module.css";
import { texts } from "./texts";

/** The largest number of notifications that the bell counts. */
const MOST_COUNTED = 99;

/** A link to the notifications, with the number of open ones. Screen readers announce a change of the number. */
export function BellLink() {
  const reads = useMay("viewer");
  const query = { state: "open", limit: MOST_COUNTED + 1 } as const;
  const { data } = useApi("GET /api/notifications", reads ? { query } : null);
  if (!reads || data === undefined) return null;
  const count = data.items.length;
  const shown = count > MOST_COUNTED ? `${MOST_COUNTED}+` : String(count);
  const urgent = data.items.some((one) => one.severity === "error");
  const label = texts.notifications(shown);
  return (
    <Link
      href="/notifications"
      className={styles.bell}
      title={label}
      data-state={count === 0 ? "none" : urgent ? "failed" : "waiting"}
    >
      <Bell aria-hidden />
      <span role="status" className="hidden">
        {label}
      </span>
      {count > 0 && <span aria-hidden>{shown}</span>}
    </Link>
  );
}
