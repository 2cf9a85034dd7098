import type { Answer, Item } from "../../api/types";
import { Status, type Tone } from "../../parts/show";
import { reveal } from "../../words/format";
import { language } from "../../words/words";
import { texts } from "./texts";

export type Schedule = Item<"GET /api/schedules">;
export type ScheduleDetail = Answer<"GET /api/schedules/{schedule}">;
export type Occurrence = Item<"GET /api/schedules/{schedule}/runs">;
export type Kind = keyof typeof texts.kinds;

const TONES: Record<Occurrence["status"], Tone> = {
  running: "accent",
  done: "good",
  silent: "good",
  idle: "plain",
  blocked: "warn",
  failed: "trouble",
  cancelled: "warn",
  skipped: "plain",
};

export function OutcomeState({ status }: { status: Occurrence["status"] }) {
  return <Status tone={TONES[status]}>{texts.outcomes[status]}</Status>;
}

export const kindOf = (one: Pick<Schedule, "kind" | "script">): Kind => (one.script === null ? one.kind : "script");

export const nameOf = (one: Pick<Schedule, "name">): string => reveal(one.name) || texts.unnamed;

/** The last outcome, as far as the schedule itself stores it. */
export function LastOutcome({ of: one }: { of: Schedule }) {
  if (one.failures > 0) return <Status tone="trouble">{texts.failedTimes(one.failures)}</Status>;
  if (one.lastRun === null) return <span className="muted">{texts.never}</span>;
  return <Status tone="good">{texts.well}</Status>;
}

/** Common expressions as text; others unchanged. */
export function whenInWords(written: string): string {
  const text = written.trim();
  return interval(text) ?? macro(text) ?? cron(text) ?? moment(text) ?? reveal(text);
}

function interval(text: string): string | null {
  const found = /^every\s+(?:(\d+)\s*)?([a-z]+)$/iu.exec(text);
  const unit = found?.[2]?.[0]?.toLowerCase() as keyof typeof texts.in.units | undefined;
  if (unit === undefined || !(unit in texts.in.units)) return null;
  const number = found?.[1];
  return number === undefined || number === "1"
    ? texts.in.one(texts.in.unit[unit])
    : texts.in.every(number, texts.in.units[unit]);
}

const macro = (text: string): string | null => (texts.in.macros as Record<string, string>)[text.toLowerCase()] ?? null;

function moment(text: string): string | null {
  const found = /^at\s+(\S.*)$/iu.exec(text)?.[1];
  return found === undefined ? null : texts.in.once(reveal(found));
}

function cron(text: string): string | null {
  const [minute = "", hour = "", day = "", month = "", weekday = "", ...rest] = text.split(/\s+/u);
  if (weekday === "" || rest.length > 0 || month !== "*") return null;
  const step = /^\*\/(\d+)$/u.exec(minute)?.[1];
  if (step !== undefined && hour === "*" && day === "*" && weekday === "*") return texts.in.minutes(step);
  if (!/^\d{1,2}$/u.test(minute) || !/^\d{1,2}$/u.test(hour)) return null;
  const time = `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  if (day === "*" && weekday === "*") return texts.in.daily(time);
  if (day !== "*") return weekday === "*" && /^\d{1,2}$/u.test(day) ? texts.in.monthly(day, time) : null;
  const days = weekdays(weekday);
  return days === null ? null : texts.in.weekly(days, time);
}

function weekdays(field: string): string | null {
  if (!/^[0-7](?:-[0-7])?(?:,[0-7](?:-[0-7])?)*$/u.test(field)) return null;
  const names = field.split(",").map((part) => {
    const [from = "", to] = part.split("-").map(weekdayName);
    return to === undefined ? from : texts.in.range(from, to);
  });
  return new Intl.ListFormat(language).format(names);
}

/** 0 and 7 are Sunday. 1 January 2023 was a Sunday. */
const weekdayName = (number: string): string =>
  new Date(2023, 0, 1 + Number(number)).toLocaleDateString(language, { weekday: "long" });
