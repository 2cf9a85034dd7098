import type { LucideIcon } from "lucide-react";
import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Link } from "wouter";
import styles from "./button.module.css";

type Kind = "primary" | "plain" | "quiet" | "danger";
export type ButtonProps = Omit<ButtonHTMLAttributes<HTMLButtonElement>, "children"> & {
  label: ReactNode;
  kind?: Kind;
  busy?: boolean;
  icon?: LucideIcon;
};

/** A button with text; `icon` precedes it. While `busy` it cannot be pressed again. */
export function Button({
  label,
  kind = "plain",
  busy = false,
  icon: Icon,
  disabled,
  className = "",
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      className={`${styles.button} ${styles[kind]} ${className}`}
      aria-busy={busy || undefined}
      disabled={disabled || busy}
      {...rest}
    >
      {Icon && <Icon aria-hidden />}
      {label}
    </button>
  );
}

/** A button with an icon only: its label is for screen readers and the tooltip. */
export function IconButton({ label, ...rest }: ButtonProps & { label: string; icon: LucideIcon }) {
  return <Button label="" kind="quiet" aria-label={label} title={label} className={styles.icon} {...rest} />;
}

type LinkProps = { label: ReactNode; href: string; kind?: Kind; icon?: LucideIcon };

/** A link that looks like a button. */
export function ButtonLink({ label, href, kind = "plain", icon: Icon }: LinkProps) {
  return (
    <Link href={href} className={`${styles.button} ${styles[kind]}`}>
      {Icon && <Icon aria-hidden />}
      {label}
    </Link>
  );
}
