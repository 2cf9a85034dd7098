import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Configuration",
    about: "Every setting, where its value comes from, and what can be changed here. Secrets are never shown.",
    search: "Search settings",
    show: "Which settings",
    onlySet: "Not the default",
    onlyHere: "Can be changed here",
    save: (count: number) => (count === 0 ? "Save" : `Save ${count === 1 ? "one change" : `${count} changes`}`),
    saved: "Saved.",
    undo: "Undo the last change",
    undone: "As it was before.",
    sources: { default: "Default", file: "File", environment: "Environment", product: "Set here" },
    needsRestart: (keys: string) => `Takes effect at the next start: ${keys}.`,
    pending: (value: string) => `At the next start: ${value}`,
    atStart: "Takes effect at the next start",
    file: (path: string | null) =>
      path === null ? "No configuration file: built-in defaults." : `Configuration file: ${path}`,
    reset: "Back to the file's value",
    none: "none",
    emptyIsNone: "Empty means none",
    least: (value: number) => `At least ${value}`,
    most: (value: number) => `At most ${value}`,
    general: "general",
    nothing: "No such setting",
  },
});
