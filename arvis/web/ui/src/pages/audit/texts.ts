import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Audit",
    about:
      "Changes that agents requested, with their outcomes. Also failed logins, exports, accepted descriptions of tools, merged facts, linked accounts, and changes of skills, credentials and knowledge bases.",
    at: "When",
    agent: "Agent",
    what: "Change",
    subject: "Subject",
    outcome: "Outcome",
    outcomes: { done: "Done", asked: "Waiting for approval", refused: "Refused", failed: "Failed" },
    reason: "Reason",
    taint: "Sources",
    message: "Message",
    run: "Execution",
    fields: "Details",
    empty: "No entries yet",
    emptyWhy:
      "When an agent asks Arvis to create an agent, a schedule, a customer or a fact, the request is listed here with its outcome. Failed login attempts are listed, too.",
  },
});
