import { useState } from "react";
import { useList, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Item } from "../../api/types";
import { AskButton } from "../../parts/askButton";
import { Button } from "../../parts/button";
import { Section } from "../../parts/page";
import { Time, UntrustedText } from "../../parts/show";
import { Failure } from "../../parts/states";
import { useToast } from "../../parts/toast";
import { reveal } from "../../words/format";
import styles from "./people.module.css";
import { texts } from "./texts";

type PairingRequest = Item<"GET /api/pairings">;

/** Open pairing requests; nothing if there are none. */
export function PairingRequests() {
  const operates = useMay("operator");
  const pages = useList("GET /api/pairings", { pending: true });
  if (pages.error !== null) return <Failure error={pages.error} retry={pages.retry} />;
  if (pages.rows.length === 0) return null;
  return (
    <Section title={texts.pairingRequests}>
      <p className="muted">{texts.pairingRequestsWhy}</p>
      <ul className={styles.requests} aria-label={texts.pairingRequests}>
        {pages.rows.map((request) => (
          <li key={request.id}>
            <span>
              <strong>
                <UntrustedText text={nameOf(request)} />
              </strong>{" "}
              <UntrustedText text={`${request.platform} ${request.userId}`} className="muted" />
            </span>
            <span className="muted">
              {texts.until} <Time at={request.expiresAt} />
            </span>
            {operates && <RejectRequest request={request} />}
          </li>
        ))}
      </ul>
      {operates && <Approve />}
    </Section>
  );
}

const nameOf = (request: PairingRequest): string => reveal(request.userName) || texts.unnamed;

/** The code identifies the person. */
function Approve() {
  const [code, setCode] = useState("");
  const { tell } = useToast();
  const approve = useSend("POST /api/pairings/approve", { quiet: true });
  // The notice may arrive before the response and unmount this form: the follow-up must not depend on it.
  const send = () =>
    approve.mutateAsync({ body: { code: code.trim() } }).then(
      (person) => {
        setCode("");
        tell(texts.letIn(reveal(person.name) || texts.unnamed));
      },
      () => {},
    );
  return (
    <form
      className={styles.approve}
      aria-label={texts.approve}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <input
        aria-label={texts.code}
        placeholder={texts.code}
        value={code}
        required
        autoComplete="off"
        autoCapitalize="characters"
        spellCheck={false}
        onChange={(event) => setCode(event.target.value)}
      />
      <Button label={texts.approve} type="submit" kind="primary" busy={approve.isPending} />
      {approve.error && <Failure error={approve.error} />}
    </form>
  );
}

function RejectRequest({ request }: { request: PairingRequest }) {
  const name = nameOf(request);
  const reject = useSend("POST /api/pairings/reject", { done: texts.rejected(name) });
  return (
    <AskButton
      busy={reject.isPending}
      label={texts.reject}
      title={texts.rejectTitle}
      words={texts.rejectWhy(name)}
      onYes={() => reject.mutate({ body: { id: request.id } })}
    />
  );
}
