import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Settings",
    about: "What is set up once and looked at rarely.",
    finish: "Finish setting up",
    abouts: {
      accounts: "Keys and addresses of model vendors, their health, and a test that costs next to nothing.",
      bots: "Discord, Telegram and Slack: tokens, what each bot may do, whether it is up.",
      people: "Who has written, what they may do, and strangers who ask to be let in.",
      clients: "Whom work is done for, what it costs them, what they paid.",
      webhooks: "Addresses that other programs call to wake an agent.",
      variables: "Values and secrets that agents may ask for.",
      users: "Who logs in here, with which role; your password, your logins; keys of the API.",
      configuration: "Every setting with its value, where it comes from, and what can be changed here.",
      doctor: "Checks of everything, each with its fix.",
      logs: "What the daemon wrote down.",
      audit: "What models wanted to change, and what became of it.",
    },
  },
});
