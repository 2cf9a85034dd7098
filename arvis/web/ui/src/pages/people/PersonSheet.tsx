import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Answer, Body, Item } from "../../api/types";
import { Button } from "../../parts/button";
import { useAsk } from "../../parts/dialog";
import { ChoiceField, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { ResourceSheet } from "../../parts/resource";
import { Facts, Status, Time, type Tone } from "../../parts/show";
import { texts as common } from "../../parts/texts";
import { useToast } from "../../parts/toast";
import { EraseButton, ForgetButton } from "./Erasures";
import { Identities, nameOf } from "./Identities";
import styles from "./people.module.css";
import { texts } from "./texts";

export type Person = Item<"GET /api/people">;
export type Role = Person["role"];

const TONES: Record<Role, Tone> = { owner: "accent", operator: "accent", member: "plain", blocked: "trouble" };

export function RoleState({ role }: { role: Role }) {
  return <Status tone={TONES[role]}>{texts.roles[role]}</Status>;
}

export const pairingOf = (person: { role: Role; paired: boolean }): string =>
  person.paired ? texts.isPaired : person.role === "owner" ? texts.unneeded : texts.notPaired;

type Detail = Answer<"GET /api/people/{person}">;
type Change = NonNullable<Body<"PATCH /api/people/{person}">>;
type Given = NonNullable<Change["role"]>;

const GIVEN: [Given, string][] = [
  ["member", texts.roles.member],
  ["operator", texts.roles.operator],
  ["blocked", texts.roles.blocked],
];

/** One person: their rights, and the history of changes. */
export function PersonSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const owns = useMay("owner");
  return (
    <ResourceSheet
      of={useApi("GET /api/people/{person}", { path: { person: id } })}
      texts={texts}
      title={nameOf}
      onClose={onClose}
    >
      {(person) => (
        <>
          <Facts
            of={[
              [texts.platform, person.platform],
              [texts.user, person.userId],
              [texts.role, <RoleState key="role" role={person.role} />],
              [texts.pairing, pairingOf(person)],
              [texts.pairedAt, person.pairedAt === null ? null : <Time key="paired" at={person.pairedAt} />],
              [texts.since, <Time key="since" at={person.createdAt} />],
              [texts.timezone, person.timezone],
              [texts.language, person.language],
            ]}
          />
          {owns && person.role !== "owner" && <Rights person={person} />}
          <Identities key={person.id} person={person} owns={owns} />
          {owns && <Preferences key={`${person.timezone} ${person.language}`} person={person} />}
          {owns && (
            <div className={styles.data}>
              <a className={styles.save} href={`/api/export?person=${encodeURIComponent(person.id)}`} download>
                {texts.exportData}
              </a>
              <ForgetButton person={person.id} name={nameOf(person)} />
              <EraseButton person={person.id} name={nameOf(person)} onErased={onClose} />
            </div>
          )}
          <h3>{texts.changes}</h3>
          <Changes of={person.changes} />
        </>
      )}
    </ResourceSheet>
  );
}

/** The rights that an owner may change; each change can be undone. */
function Rights({ person }: { person: Detail }) {
  const ask = useAsk();
  const { tell } = useToast();
  const change = useSend("PATCH /api/people/{person}");
  const path = { person: person.id };
  const role = person.role === "owner" ? "member" : person.role;
  const back = () => {
    const before: Change = role === "blocked" ? { role } : { role, paired: person.paired };
    change.mutate({ path, body: before }, { onSuccess: () => tell(common.undone) });
  };
  const make = (body: Change) =>
    change.mutate({ path, body }, { onSuccess: () => tell(common.saved, { words: common.undo, act: back }) });
  const give = async (wanted: Given) => {
    if (wanted === "blocked") {
      const words = texts.blockWhy(nameOf(person));
      if (!(await ask({ title: texts.blockTitle, words, yes: texts.block, danger: true }))) return;
    }
    make({ role: wanted });
  };
  return (
    <>
      <ChoiceField
        label={texts.role}
        hint={texts.roleHint[role]}
        value={role}
        options={GIVEN}
        disabled={change.isPending}
        onChange={(wanted) => void give(wanted)}
      />
      {person.role === "member" && (
        <div>
          <Button
            label={person.paired ? texts.unpair : texts.pair}
            busy={change.isPending}
            onClick={() => make({ paired: !person.paired })}
          />
        </div>
      )}
    </>
  );
}

function Preferences({ person }: { person: Detail }) {
  const { draft, of } = useDraft({ timezone: person.timezone ?? "", language: person.language ?? "" });
  const save = useSend("PATCH /api/people/{person}", { quiet: true, done: common.saved });
  const send = () => save.mutate({ path: { person: person.id }, body: draft });
  return (
    <Form label={texts.preferences} onSend={send} by={[save]}>
      <TextField label={texts.timezone} hint={texts.timezoneHint} {...of("timezone")} />
      <TextField label={texts.language} hint={texts.languageHint} {...of("language")} />
    </Form>
  );
}

function Changes({ of: changes }: { of: Detail["changes"] }) {
  if (changes.length === 0) return <p className="muted">{texts.noChanges}</p>;
  return (
    <ul className={styles.changes} aria-label={texts.changes}>
      {changes.map((one) => (
        <li key={`${one.at} ${one.role} ${one.paired}`}>
          <span>{texts.change(texts.roles[one.role], pairingOf(one))}</span>
          <span className="muted">
            <Time at={one.at} />
          </span>
        </li>
      ))}
    </ul>
  );
}
