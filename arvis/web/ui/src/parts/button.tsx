import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Link } from "wouter";
import styles from "./button.module.css";

type Kind = "primary" | "plain" | "quiet" | "danger";
export type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & { kind?: Kind; busy?: boolean; icon?: ReactNode };

/** A button with text; `icon` precedes it. While `busy` it cannot be pressed again. */
export function Button({
  kind = "plain",
  busy = false,
  icon,
  children,
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
      {icon}
      {children}
    </button>
  );
}

/** A button with an icon only: its name is for screen readers and the tooltip. */
export function IconButton({
  label,
  children,
  ...rest
}: Omit<ButtonProps, "icon"> & { label: string; children: ReactNode }) {
  return (
    <Button kind="quiet" aria-label={label} title={label} className={styles.icon} {...rest}>
      {children}
    </Button>
  );
}

type Props = { href: string; kind?: Kind; icon?: ReactNode; children: ReactNode };

/** A link that looks like a button. */
export function ButtonLink({ href, kind = "plain", icon, children }: Props) {
  return (
    <Link href={href} className={`${styles.button} ${styles[kind]}`}>
      {icon}
      {children}
    </Link>
  );
}
