import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Audit",
    about: "What models wanted to change and what became of it, and failed attempts to log in.",
    at: "When",
    agent: "Agent",
    what: "Change",
    subject: "Of what",
    outcome: "Outcome",
    outcomes: { done: "Done", asked: "Asked", refused: "Refused", failed: "Failed" },
    reason: "Why",
    taint: "Written from",
    message: "Message",
    run: "Run",
    fields: "Details",
    empty: "Nothing yet",
    emptyWhy:
      "When an agent wants to make an agent, a schedule, a client or a memory, it stands here, done or not. Failed attempts to log in stand here, too.",
  },
});
