import type { ReactNode } from "react";
import { UntrustedText } from "../../parts/show";
import { reveal } from "../../words/format";
import type { Quotation } from "./entries";
import styles from "./quoted.module.css";
import { texts } from "./texts";

type Props = { quotation: Quotation; own?: boolean; children?: ReactNode };

/**
 * A message that a message answers, quotes or forwards. The text of a forwarded message is the message itself. `own`: the
 * reader wrote the message with the quotation.
 */
export function Quoted({ quotation, own = false, children }: Props) {
  const mine = own && quotation.writer === "sender";
  const author = mine ? texts.yourMessage : texts.writers[quotation.writer](reveal(quotation.author));
  return (
    <blockquote className={styles.quotation}>
      <p className="muted">{texts.quotations[quotation.kind](author)}</p>
      {quotation.text !== "" && (
        <p>
          <UntrustedText text={quotation.partial ? `${quotation.text} …` : quotation.text} />
        </p>
      )}
      {children}
    </blockquote>
  );
}

/** The number of characters of a message that its reply shows until the stored quotation is loaded. */
const MOST = 200;

/** The quotation of a message that the user answers. */
export function replyTo(messageId: string, writer: "agent" | "sender", text: string): Quotation {
  const letters = [...text];
  const partial = letters.length > MOST;
  return { kind: "reply", writer, author: "", messageId, text: letters.slice(0, MOST).join(""), partial };
}
