/** Functions for JSON from any source, with the same results as in Python, because the rules are ported from Python. */

import type { Json, JsonObject } from "./types";

export type Maybe = Json | undefined;

export const isObject = (value: Maybe): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isText = (value: Maybe): value is string => typeof value === "string";

export const has = (values: JsonObject, name: string): boolean => Object.hasOwn(values, name);

/** The value of a name in an object; inherited properties are ignored. */
export const at = (values: JsonObject, name: string): Maybe => (Object.hasOwn(values, name) ? values[name] : undefined);

/** The number of characters: those outside the Basic Multilingual Plane, with two units each, count once. */
export function lengthOf(text: string): number {
  let length = text.length;
  for (let unit = 0; unit + 1 < text.length; unit++) {
    if (isPair(text, unit)) {
      length--;
      unit++;
    }
  }
  return length;
}

/** The first `count` characters. */
export function firstOf(text: string, characters: number): string {
  let unit = 0;
  for (let left = characters; left > 0 && unit < text.length; left--) unit += isPair(text, unit) ? 2 : 1;
  return text.slice(0, unit);
}

/** True if two units from here on are one character; a lone surrogate counts as a character. */
function isPair(text: string, unit: number): boolean {
  const [high, low] = [text.charCodeAt(unit), text.charCodeAt(unit + 1)];
  return high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000;
}

/** The order of texts by characters, not by units. */
export function byCharacters(one: string, other: string): number {
  const [ones, others] = [Array.from(one), Array.from(other)];
  for (const [place, character] of ones.entries()) {
    const against = others[place];
    if (against === undefined) return 1;
    if (character !== against) return (character.codePointAt(0) ?? 0) - (against.codePointAt(0) ?? 0);
  }
  return ones.length - others.length;
}
