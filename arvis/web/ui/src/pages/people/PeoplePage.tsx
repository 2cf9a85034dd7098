import { useState } from "react";
import { useList, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Item } from "../../api/types";
import { AskButton, sends } from "../../parts/actions";
import { Button } from "../../parts/button";
import { Chips, FilterChoice, SearchField, Section, useFilters } from "../../parts/page";
import { ResourcePage } from "../../parts/resource";
import { Status, Time, UntrustedText } from "../../parts/show";
import { Failure } from "../../parts/states";
import type { Column } from "../../parts/table";
import { useToast } from "../../parts/toast";
import { reveal } from "../../words/format";
import { Erasures } from "./Erasures";
import { nameOf } from "./Identities";
import { Import } from "./Import";
import { type Person, PersonSheet, pairingOf, type Role, RoleState } from "./PersonSheet";
import styles from "./people.module.css";
import { texts } from "./texts";

const PLATFORMS = ["web", "discord", "telegram", "slack"].map((name) => [name, name] as const);
const ROLES = Object.entries(texts.roles) as [Role, string][];

const COLUMNS: Column<Person>[] = [
  { name: texts.name, width: "minmax(110px, 2fr)", show: (person) => nameOf(person) },
  { name: texts.platform, width: "90px", show: (person) => person.platform },
  { name: texts.user, width: "minmax(100px, 2fr)", wide: true, show: (person) => person.userId },
  { name: texts.role, width: "104px", show: (person) => <RoleState role={person.role} /> },
  {
    name: texts.pairing,
    width: "108px",
    wide: true,
    show: (person) =>
      person.paired ? (
        <Status tone="good">{pairingOf(person)}</Status>
      ) : (
        <span className="muted">{pairingOf(person)}</span>
      ),
  },
  { name: texts.since, width: "116px", wide: true, show: (person) => <Time at={person.createdAt} /> },
];

/** The people whose messages Arvis has accepted, and pairing requests. */
export default function PeoplePage() {
  const { platform, role, paired, q } = useFilters("platform", "role", "paired", "q");
  const pages = useList("GET /api/people", {
    ...{ platform, role: role as Role, q },
    paired: paired === "" ? undefined : paired === "true",
  });
  return (
    <ResourcePage
      home="/settings/people"
      texts={texts}
      pages={pages}
      columns={COLUMNS}
      idOf={(person) => person.id}
      filters={
        <>
          <SearchField label={texts.search} />
          <Chips label={texts.role} name="role" options={ROLES} />
          <FilterChoice label={texts.platform} name="platform" all={texts.everyPlatform} options={PLATFORMS} />
          <FilterChoice
            label={texts.pairing}
            name="paired"
            all={texts.everyPairing}
            options={[
              ["true", texts.isPaired],
              ["false", texts.notPaired],
            ]}
          />
        </>
      }
      filtered={Boolean(platform || role || paired || q)}
      sheet={(id, { onClose }) => <PersonSheet id={id} onClose={onClose} />}
    >
      <PairingRequests />
      <Erasures />
      <Import />
    </ResourcePage>
  );
}

type PairingRequest = Item<"GET /api/pairings">;

/** Open pairing requests; nothing if there are none. */
function PairingRequests() {
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
                <UntrustedText text={askerOf(request)} />
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

const askerOf = (request: PairingRequest): string => reveal(request.userName) || texts.unnamed;

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
  const name = askerOf(request);
  const reject = useSend("POST /api/pairings/reject", { done: texts.rejected(name) });
  return (
    <AskButton
      label={texts.reject}
      title={texts.rejectTitle}
      words={texts.rejectWhy(name)}
      {...sends(reject, { body: { id: request.id } })}
    />
  );
}
