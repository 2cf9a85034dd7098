import { words } from "../words/words";

export const texts = words({
  en: {
    title: "Log in to Arvis",
    again: "You are logged out",
    againWhy: "Log in to continue where you were. This browser keeps your unsent chat message.",
    spending: "Logging in",
    user: "User",
    userHint: "If you set up Arvis, your login name is owner.",
    password: "Password",
    logIn: "Log in",
    later: (wait: string) => `You can try again in ${wait}.`,
    now: "You can try again now.",
    stay: (name: string) => `Continue as ${name}`,
    links: "Log in with a link",
    byLink: "Run this command on the machine where Arvis runs. It prints a link that logs you in once:",
    byOwner:
      "An owner can also create a link for you under Users and keys. A link works once and expires after 10 minutes.",
    noPassword: "No password is set yet. Log in with a link, then choose a password.",
  },
});
