import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Doctor",
    about: "Checks of everything, from the configuration to the queue. They change nothing.",
    again: "Check again",
    which: "Which checks",
    onlyTrouble: "Needs a hand",
    onlySecurity: "Security",
    statuses: { ok: "Fine", warn: "Look", fail: "Wrong" },
    sum: (all: number, wrong: number, look: number) => `${all} checks, ${wrong} wrong, ${look} to look at.`,
    fine: "Nothing needs a hand.",
    showAll: "Show all checks",
    fix: "What to do:",
  },
});
