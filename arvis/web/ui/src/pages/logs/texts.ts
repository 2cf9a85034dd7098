import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Logs",
    about: "Log lines of the daemon, newest first. Arvis removes secrets before it writes a line.",
    newest: "Refresh",
    level: "Level",
    levels: { debug: "All lines", info: "Info and above", warning: "Warnings and above", error: "Errors" },
    words: { debug: "Debug", info: "Info", warning: "Warning", error: "Error", critical: "Critical" },
    search: "Search in lines",
    logger: "Logger",
    at: "When",
    event: "Event",
    fields: "Fields",
    exception: "Traceback",
    files: "Files",
    empty: "No lines match",
    emptyWhy: "Choose a lower level or a shorter search text.",
  },
});
