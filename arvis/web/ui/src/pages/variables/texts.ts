import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Variables",
    about: "Values that agents can read with the tool get_variable.",
    add: "New variable",
    key: "Key",
    keyHint: "Letters, digits and underscores, such as SHOP_URL.",
    value: "Value",
    changed: "Changed",
    sealed: "Encrypted",
    sealedHint: "The value is encrypted and never shown again. Enter a new value to replace it.",
    secret: "Secret",
    secretHint: "Arvis encrypts a secret on disk, never shows it on this page, and removes it from logs.",
    removed: "Deleted.",
    removeWhy: (key: string) => `Agents will no longer be able to read ${key}.`,
    gone: "This variable does not exist",
    empty: "No variables yet",
    emptyWhy: "Store values here that several agents need: an address, a number, the key of another service.",
  },
});
