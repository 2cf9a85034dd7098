import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Configuration",
    about: "All settings with their values and sources. You can change some of them here. Secrets are never shown.",
    search: "Search settings",
    show: "Filter settings",
    onlySet: "Changed from the default",
    onlyHere: "Editable here",
    save: (count: number) => (count === 0 ? "Save" : `Save ${count === 1 ? "1 change" : `${count} changes`}`),
    saved: "Saved.",
    undo: "Undo the last change",
    undone: "The change was undone.",
    sources: { default: "Default", file: "File", environment: "Environment", product: "Set here" },
    needsRestart: (keys: string) => `Takes effect after a restart: ${keys}.`,
    pending: (value: string) => `After a restart: ${value}`,
    atStart: "Takes effect after a restart",
    file: (path: string | null) =>
      path === null ? "No configuration file. Arvis uses the built-in defaults." : `Configuration file: ${path}`,
    reset: "Reset to the file's value",
    none: "none",
    emptyIsNone: "Empty means none",
    least: (value: number) => `At least ${value}`,
    most: (value: number) => `At most ${value}`,
    general: "general",
    nothing: "No setting matches",
  },
});
