import { words } from "../words/words";

export const texts = words({
  en: {
    title: "Log in to Arvis",
    user: "User",
    password: "Password",
    logIn: "Log in",
    byLink: "A link that logs you in is printed, on the machine where Arvis runs, by",
  },
});
