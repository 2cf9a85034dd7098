import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Logs",
    about: "What the daemon wrote down, the newest first. Secrets are taken out before it is written.",
    newest: "Read again",
    level: "Level",
    levels: { debug: "All lines", info: "Info and worse", warning: "Warnings and worse", error: "Errors" },
    words: { debug: "Debug", info: "Info", warning: "Warning", error: "Error", critical: "Critical" },
    search: "Search in lines",
    logger: "Part",
    at: "When",
    event: "What",
    fields: "Fields",
    exception: "Where it happened",
    files: "Files",
    empty: "No such lines",
    emptyWhy: "Choose a lower level, or search for less.",
  },
});
