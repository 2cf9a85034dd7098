/** Names of people, for users who may read them, and the scopes of facts and values. */

import { useMemo } from "react";
import { useApi } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Choice } from "../../parts/field";
import { useFilter } from "../../parts/page";
import { UntrustedText } from "../../parts/show";
import { reveal } from "../../words/format";
import { texts } from "./texts";

/** The number of people loaded at once; others are looked up one by one. */
const MOST = 200;
const PERSON = "principal:";
const NOT_PEOPLE: Record<string, string> = { arvis: texts.arvis, api: texts.api, configuration: texts.configuration };

export type People = { names: ReadonlyMap<string, string>; all: boolean };

export function usePeople(): People {
  const people = useApi("GET /api/people", useMay("viewer") ? { query: { limit: MOST } } : null);
  return useMemo(() => {
    const names = (people.data?.items ?? []).map((one) => [one.id, one.name || one.userId] as const);
    return { names: new Map(names), all: people.data?.nextCursor === null };
  }, [people.data]);
}

/** The name of a person, or of an actor that is not a person; the id if the person is unknown. */
export function Person({ id }: { id: string }) {
  const { names, all } = usePeople();
  const name = NOT_PEOPLE[id] ?? names.get(id);
  const asks = useMay("viewer") && name === undefined && names.size > 0 && !all;
  const one = useApi("GET /api/people/{person}", asks ? { path: { person: id } } : null);
  return <UntrustedText text={name ?? (asks ? one.data?.name : undefined) ?? id} />;
}

/** The person or channel that a fact is about. */
export function Scope({ scope }: { scope: string }) {
  if (scope.startsWith(PERSON)) return <Person id={scope.slice(PERSON.length)} />;
  return <UntrustedText text={placeInWords(scope)} />;
}

/** The same as text, for choice lists. */
export function scopeInWords(scope: string, people: People): string {
  if (!scope.startsWith(PERSON)) return placeInWords(scope);
  const id = scope.slice(PERSON.length);
  return people.names.get(id) ?? id;
}

function placeInWords(scope: string): string {
  const [kind, platform = "", , channel = ""] = scope.split(":");
  if (scope === "agent") return texts.everywhere;
  return kind === "room" ? texts.room(platform, channel) : scope;
}

export const scopeOf = (person: string): string => `${PERSON}${person}`;

/** The scope: everywhere, one person, or a channel given in the address. */
export function ScopeFilter() {
  const [scope, setScope] = useFilter("scope");
  const people = usePeople();
  const scopes = new Set(["agent", ...[...people.names.keys()].map(scopeOf)]);
  if (scope !== "") scopes.add(scope);
  return (
    <Choice
      aria-label={texts.whose}
      value={scope}
      options={[["", texts.everyScope], ...[...scopes].map((one) => [one, reveal(scopeInWords(one, people))] as const)]}
      onChange={setScope}
    />
  );
}
