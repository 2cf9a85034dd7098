import { useList, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Item } from "../../api/types";
import { AskButton, sends } from "../../parts/actions";
import { Section } from "../../parts/page";
import { Status, Time } from "../../parts/show";
import { Failure } from "../../parts/states";
import { count } from "../../words/format";
import styles from "./people.module.css";
import { texts } from "./texts";

type Erasure = Item<"GET /api/erasures">;

/** A button that erases all content of a person after a confirmation. */
export function EraseButton({ person, name, onErased }: { person: string; name: string; onErased: () => void }) {
  const erase = useSend("POST /api/erasures", { done: texts.eraseBegun });
  return (
    <AskButton
      label={texts.erase}
      title={texts.eraseTitle(name)}
      words={texts.eraseWhy}
      busy={erase.isPending}
      onClick={() => erase.mutate({ body: { people: [person] } }, { onSuccess: onErased })}
    />
  );
}

/** A button that deletes what agents remember about a person, after a confirmation. */
export function ForgetButton({ person, name }: { person: string; name: string }) {
  const forget = useSend("DELETE /api/people/{person}/memory", { done: texts.forgotten });
  return (
    <AskButton
      label={texts.forget}
      title={texts.forgetTitle(name)}
      words={texts.forgetWhy}
      {...sends(forget, { path: { person } })}
    />
  );
}

/** Erasures with their progress, for owners; nothing if there are none. */
export function Erasures() {
  return useMay("owner") ? <List /> : null;
}

const SHOWN = 5;

function List() {
  const pages = useList("GET /api/erasures", {});
  if (pages.error !== null) return <Failure error={pages.error} retry={pages.retry} />;
  if (pages.rows.length === 0) return null;
  return (
    <Section title={texts.erasures}>
      <p className="muted">{texts.erasuresWhy}</p>
      <ul className={styles.requests} aria-label={texts.erasures}>
        {pages.rows.slice(0, SHOWN).map((erasure) => (
          <li key={erasure.id}>
            <span>{texts.erasureOf[erasure.kind]}</span>
            <span className="muted">{describe(erasure)}</span>
            <State erasure={erasure} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function State({ erasure }: { erasure: Erasure }) {
  if (erasure.endedAt === null) return <Status tone="accent">{texts.erasing}</Status>;
  return (
    <span className="muted">
      {texts.erased} <Time at={erasure.endedAt} />
    </span>
  );
}

const describe = (erasure: Erasure): string =>
  [
    texts.erasedMessages(count(erasure.counts.messages ?? 0)),
    erasure.mentions.length > 0 && texts.mentioned(count(erasure.mentions.length)),
  ]
    .filter(Boolean)
    .join(", ");
