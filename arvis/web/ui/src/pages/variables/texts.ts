import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Variables",
    about: "Values that agents may ask for with the tool get_variable.",
    add: "New variable",
    key: "Key",
    keyHint: "Letters, digits and underscores, such as SHOP_URL.",
    value: "Value",
    changed: "Changed",
    sealed: "Sealed",
    sealedHint: "The value is sealed and never shown again. What you write here takes its place.",
    secret: "Secret",
    secretHint: "Sealed on the disk, never shown on this page, and taken out of logs.",
    save: "Save",
    saved: "Saved.",
    remove: "Remove",
    removed: "Removed.",
    removeWhy: (key: string) => `Agents that ask for ${key} will be told that there is none.`,
    empty: "No variables yet",
    emptyWhy: "Keep here what several agents need: an address, a number, a key of another service.",
  },
});
