import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Notifications",
    about:
      "Problems that need an owner, and results of updates and restores. When a problem is solved, Arvis ends its notification.",
    state: "State",
    open: "Open",
    ended: { resolved: "Resolved", dismissed: "Dismissed" },
    list: "Notifications",
    severities: { error: "Problem", warning: "Warning", info: "Result" },
    first: "Since",
    times: (count: number) => (count === 1 ? "reported once" : `reported ${count} times, last`),
    endedAt: "Ended",
    endedBy: (name: string) => `dismissed by ${name}`,
    show: "Open the page",
    remedies: {
      retry_job: "Retry the job",
      restart_bot: "Reconnect the bot",
      make_backup: "Make a backup",
    },
    done: {
      retry_job: "The job will run again.",
      restart_bot: "The bot is reconnecting.",
      make_backup: "The backup was made and verified.",
    },
    dismiss: "Dismiss",
    dismissed: "The notification is dismissed.",
    empty: "No open notifications",
    emptyWhy: "When something needs your attention, such as a bot that is down or a failed backup, it appears here.",
    emptyEnded: "Nothing here yet",
    emptyEndedWhy: "Ended notifications appear here.",
  },
});
