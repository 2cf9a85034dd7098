import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import type { Answer } from "../../api/types";
import { AskButton } from "../../parts/actions";
import { Button } from "../../parts/button";
import { Failure } from "../../parts/states";
import { reveal } from "../../words/format";
import styles from "./people.module.css";
import { texts } from "./texts";

type Detail = Answer<"GET /api/people/{person}">;
type Account = { name: string; platform: string; userId: string };

export const nameOf = (person: { name: string }): string => reveal(person.name) || texts.unnamed;

const accountOf = (one: Account): string => texts.identity(nameOf(one), reveal(one.platform), reveal(one.userId));

/** The accounts of the person on all platforms; an owner can link others, and end the link of each one except the first. */
export function Identities({ person, owns }: { person: Detail; owns: boolean }) {
  const links = owns && person.role !== "blocked";
  const unlink = useSend("DELETE /api/people/{person}/link", { done: texts.unlinked });
  if (person.identities.length < 2 && !links) return null;
  return (
    <>
      <h3>{texts.identities}</h3>
      <ul className={styles.changes} aria-label={texts.identities}>
        {person.identities.map((one) => (
          <li key={one.id}>
            <span>{accountOf(one)}</span>
            {owns && one.id !== person.person && (
              <AskButton
                label={texts.unlink}
                title={texts.unlinkTitle}
                words={texts.unlinkWhy}
                busy={unlink.isPending}
                onClick={() => unlink.mutate({ path: { person: one.id } })}
              />
            )}
          </li>
        ))}
      </ul>
      {links && <LinkAccount person={person} />}
    </>
  );
}

/** The most accounts that a search shows. */
const MOST_FOUND = 8;

/** A search for an account that belongs to the same person, and a button that links it after a confirmation. */
function LinkAccount({ person }: { person: Detail }) {
  const [text, setText] = useState("");
  const [sought, setSought] = useState("");
  const found = useApi("GET /api/people", sought === "" ? null : { query: { q: sought, limit: MOST_FOUND } });
  const link = useSend("POST /api/people/{person}/link", { done: texts.linked });
  const others = found.data?.items.filter((one) => one.person !== person.person) ?? [];
  const send = (identity: string) =>
    link.mutate({ path: { person: person.person }, body: { identity } }, { onSuccess: () => setSought("") });
  return (
    <>
      <form
        className={styles.approve}
        aria-label={texts.link}
        onSubmit={(event) => {
          event.preventDefault();
          setSought(text.trim());
        }}
      >
        <input
          type="search"
          aria-label={texts.otherAccount}
          placeholder={texts.otherAccount}
          value={text}
          required
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => setText(event.target.value)}
        />
        <Button label={texts.findAccount} type="submit" />
      </form>
      {sought !== "" && found.error && <Failure error={found.error} />}
      {sought !== "" && found.data && others.length === 0 && <p className="muted">{texts.noOtherAccount}</p>}
      {sought !== "" && (
        <ul className={styles.changes} aria-label={texts.foundAccounts}>
          {others.map((one) => (
            <li key={one.id}>
              <span>{accountOf(one)}</span>
              <AskButton
                label={texts.link}
                title={texts.linkTitle(accountOf(one))}
                words={texts.linkWhy(nameOf(person))}
                danger={false}
                busy={link.isPending}
                onClick={() => send(one.id)}
              />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
