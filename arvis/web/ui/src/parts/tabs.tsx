import { Link } from "wouter";
import styles from "./tabs.module.css";

type Props = { label: string; tabs: readonly (readonly [string, string])[]; current: string };

/** The tabs of a page, each with an address: `[["/agents/helper", "Overview"], …]`; `current` is the open address. */
export function Tabs({ label, tabs, current }: Props) {
  return (
    <nav aria-label={label} className={styles.tabs}>
      {tabs.map(([href, words]) => (
        <Link key={href} href={href} aria-current={href === current ? "page" : undefined}>
          {words}
        </Link>
      ))}
    </nav>
  );
}
