import { words } from "../words/words";

export const texts = words({
  en: {
    title: "Log in to Arvis",
    again: "You are logged out",
    againWhy: "Log in to go on where you were. What you were writing in the chat is kept.",
    spending: "Logging in",
    user: "User",
    userHint: "The one who set Arvis up is owner.",
    password: "Password",
    logIn: "Log in",
    later: (wait: string) => `You can try again in ${wait}.`,
    now: "You can try again now.",
    stay: (name: string) => `Go on as ${name}`,
    links: "With a link",
    byLink: "On the machine where Arvis runs, this prints a link that logs you in once:",
    byOwner: "An owner can also make one for you, under Users and keys. A link works once, within ten minutes.",
    noPassword: "A password can be chosen once you are in; until then links are the way.",
  },
});
