/**
 * Cards keep their places: an answered question leaves its place empty for some time, so that the next card does not move
 * under the pointer and receive a click meant for another.
 */

import { useEffect, useState } from "react";
import type { Wait } from "./wait";

const HELD_MS = 4_000;

export type Place = { wait: Wait; answered: boolean };

/**
 * The open questions in their places. Answered ones keep their places as long as the pointer is over the list, and at least
 * some seconds.
 */
export function useHeldPlaces(open: readonly Wait[]): { places: Place[]; hover: (over: boolean) => void } {
  const [places, setPlaces] = useState<Place[]>(() => open.map((wait) => ({ wait, answered: false })));
  const [seen, setSeen] = useState(() => idsOf(open));
  const [over, setOver] = useState(false);
  const shown = merged(places, open);
  if (seen !== idsOf(open)) {
    setSeen(idsOf(open));
    setPlaces(shown);
  }
  const held = shown.some((place) => place.answered);
  useEffect(() => {
    if (!held || over) return;
    const timer = window.setTimeout(() => setPlaces((all) => all.filter((place) => !place.answered)), HELD_MS);
    return () => window.clearTimeout(timer);
  }, [held, over]);
  return { places: shown, hover: setOver };
}

const idsOf = (waits: readonly Wait[]): string => waits.map((wait) => wait.id).join(" ");

function merged(places: readonly Place[], open: readonly Wait[]): Place[] {
  const fresh = new Map(open.map((wait) => [wait.id, wait]));
  const kept = places.map(({ wait }) => ({ wait: fresh.get(wait.id) ?? wait, answered: !fresh.has(wait.id) }));
  const known = new Set(places.map(({ wait }) => wait.id));
  return [...kept, ...open.filter((wait) => !known.has(wait.id)).map((wait) => ({ wait, answered: false }))];
}
