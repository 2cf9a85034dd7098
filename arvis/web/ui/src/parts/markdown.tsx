/**
 * Texts of people and models as Markdown. Never raw HTML: tags are shown as text. Nothing is loaded: images of other sites
 * become links. Invisible characters are shown.
 */

import { memo, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { reveal } from "../words/format";
import styles from "./markdown.module.css";
import { CopyButton } from "./show";
import { texts } from "./texts";

const PLUGINS = [remarkGfm];

const COMPONENTS: Components = {
  a: ({ href, children }) => <Outside href={href}>{children}</Outside>,
  img: ({ src, alt }) => <Outside href={typeof src === "string" ? src : undefined}>{alt || src}</Outside>,
  pre: ({ children, node }) => (
    <div className={styles.code}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>{children}</pre>
      <CopyButton text={textOf(node)} />
    </div>
  ),
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div className={styles.table} tabIndex={0}>
      <table>{children}</table>
    </div>
  ),
  input: ({ type, checked }) =>
    type === "checkbox" ? (
      <input type="checkbox" checked={checked === true} disabled aria-label={checked ? texts.taskDone : texts.task} />
    ) : null,
  h1: ({ children }) => <h3>{children}</h3>,
  h2: ({ children }) => <h3>{children}</h3>,
  h3: ({ children }) => <h4>{children}</h4>,
  h5: ({ children }) => <h4>{children}</h4>,
  h6: ({ children }) => <h4>{children}</h4>,
};

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className={styles.markdown}>
      <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS}>
        {reveal(text)}
      </ReactMarkdown>
    </div>
  );
});

/** A link out of the dashboard; a link without a safe address is shown as text. */
function Outside({ href, children }: { href: string | undefined; children: ReactNode }) {
  if (!opens(href)) return <>{children}</>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}>
      {children}
    </a>
  );
}

const SCHEMES = new Set(["http:", "https:", "mailto:"]);

/** True if this is a complete address that is safe to open; one without a scheme would lead into the dashboard. */
function opens(href: string | undefined): href is string {
  return href !== undefined && URL.canParse(href) && SCHEMES.has(new URL(href).protocol);
}

type Node = { type: string; value?: string; children?: Node[] } | undefined;

function textOf(node: unknown): string {
  const { value = "", children = [] } = (node ?? {}) as NonNullable<Node>;
  return value + children.map(textOf).join("");
}
