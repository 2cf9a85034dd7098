/**
 * Texts of the page by language. Each folder keeps its own beside its components:
 *
 *     export const texts = words({ en: { title: "Queue", rows: (n: number) => `${n} jobs` } });
 *     <h1>{texts.title}</h1>
 *
 * A translation adds a language with the same keys; missing texts are shown in English. Functions put numbers and names
 * into a sentence, so that each language has its own order and plurals.
 */

type Text = string | ((...values: never[]) => string) | { [key: string]: Text };
type Translation<T> = T extends string
  ? string
  : T extends (...values: infer Values) => string
    ? (...values: Values) => string
    : { [K in keyof T]?: Translation<T[K]> };

/** The languages of the page's texts; numbers and times follow them. */
const LANGUAGES: readonly string[] = ["en"];

/** The language of the page: the user's choice, else the browser's, if the page has texts in it. */
export const language: string =
  [localStorage.getItem("arvis.language"), ...navigator.languages].find(
    (tag): tag is string => tag !== null && LANGUAGES.includes(tag.split("-")[0] ?? ""),
  ) ?? "en";

export function words<T extends { [key: string]: Text }>(all: { en: T; [language: string]: T | Translation<T> }): T {
  const short = language.split("-")[0] ?? "en";
  return merged(all.en, all[language] ?? all[short] ?? {}) as T;
}

function merged(base: { [key: string]: Text }, over: { [key: string]: unknown }): { [key: string]: Text } {
  const entries = Object.entries(base).map(([key, text]) => {
    const other = over[key];
    if (typeof text === "object") return [key, merged(text, (other ?? {}) as { [key: string]: unknown })];
    return [key, typeof other === typeof text ? other : text];
  });
  return Object.fromEntries(entries);
}
