import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Doctor",
    about: "Checks of the whole system, from the configuration to the queue. The checks change nothing.",
    again: "Check again",
    which: "Filter checks",
    onlyTrouble: "Problems only",
    onlySecurity: "Security",
    statuses: { ok: "OK", warn: "Warning", fail: "Failed" },
    sum: (all: number, wrong: number, look: number) => `${all} checks: ${wrong} failed, ${look} with warnings.`,
    fine: "No problems found.",
    showAll: "Show all checks",
    fix: "How to fix it:",
  },
});
