import { type DraftOf, TextField } from "../../parts/fields";
import { texts } from "./texts";

/** The days of a form, as `2027-03-15`; "": unknown. The last two are the last day. */
export type Days = { from: string; until: string; expires: string };
export type Times = { validFrom: number | null; validUntil: number | null; expiresAt: number | null };

/** Return the days of these times, in the time zone of the browser. */
export function daysOf({ validFrom, validUntil, expiresAt }: Times): Days {
  return { from: dayOf(validFrom), until: dayOf(validUntil, 1), expires: dayOf(expiresAt, 1) };
}

/** Return the times of these days. A day that is still the same keeps its exact time. */
export function timesOf(days: Days, before: Times): Times {
  const old = daysOf(before);
  return {
    validFrom: days.from === old.from ? before.validFrom : startOf(days.from),
    validUntil: days.until === old.until ? before.validUntil : startOf(days.until, 1),
    expiresAt: days.expires === old.expires ? before.expiresAt : startOf(days.expires, 1),
  };
}

export function sameDays(one: Days, other: Days): boolean {
  return one.from === other.from && one.until === other.until && one.expires === other.expires;
}

export const NO_DAYS: Days = { from: "", until: "", expires: "" };

/** Return the times of the days that are not empty. */
export function statedTimes({ from, until, expires }: Days): Partial<Record<keyof Times, number>> {
  const times = [
    ["validFrom", startOf(from)],
    ["validUntil", startOf(until, 1)],
    ["expiresAt", startOf(expires, 1)],
  ] as const;
  return Object.fromEntries(times.filter(([, at]) => at !== null));
}

function dayOf(at: number | null, before = 0): string {
  if (at === null) return "";
  const day = new Date(at - before);
  const digits = (number: number, length: number) => String(number).padStart(length, "0");
  return `${digits(day.getFullYear(), 4)}-${digits(day.getMonth() + 1, 2)}-${digits(day.getDate(), 2)}`;
}

function startOf(day: string, later = 0): number | null {
  const [year, month, date] = day.split("-").map(Number);
  if (!year || !month || !date) return null;
  const start = new Date(0);
  start.setFullYear(year, month - 1, date + later);
  start.setHours(0, 0, 0, 0);
  return start.getTime();
}

const DAY = { type: "date", min: "1600-01-01", max: "9998-12-30" } as const;

/** Three fields: when a fact is true, and how long agents use it. */
export function TimeFields({ of }: { of: DraftOf<Days>["of"] }) {
  const today = dayOf(Date.now());
  return (
    <>
      <TextField {...DAY} label={texts.from} hint={texts.fromHint} {...of("from")} />
      <TextField {...DAY} label={texts.until} hint={texts.untilHint} {...of("until")} />
      <TextField {...DAY} min={today} label={texts.usedUntil} hint={texts.usedUntilHint} {...of("expires")} />
    </>
  );
}
