import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Settings",
    about: "Accounts, bots, people, users and other things that you set up once.",
    finish: "Finish setting up",
    abouts: {
      accounts:
        "Keys and addresses for model vendors, the health of each account, and a test that costs almost nothing.",
      bots: "Discord, Telegram and Slack: tokens, settings and state of each bot.",
      people: "People whose messages Arvis has accepted, their rights, and open pairing requests.",
      clients: "The customers that you work for, with charges and payments.",
      webhooks: "Addresses that other programs call to start an agent or a workflow.",
      variables: "Values and secrets that agents can read.",
      credentials: "Secrets that Arvis inserts into requests of agents, by host.",
      servers: "Servers of the Model Context Protocol: their tools, and changed descriptions to accept.",
      users: "Users of this dashboard and their roles, your password and logins, and API keys.",
      configuration: "All settings with their values and sources. Some can be changed here.",
      backups: "Copies of all data: make, download, upload and restore them.",
      doctor: "Checks of the whole system, and a fix for each problem.",
      logs: "Log lines of the daemon.",
      audit:
        "Changes that agents requested, failed logins, exports, merged facts, and changes of skills and knowledge bases.",
    },
  },
});
