import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Credentials",
    about: "Secrets that Arvis inserts into requests of agents. Neither agents nor their scripts see them.",
    add: "New credential",
    name: "Name",
    nameHint: "Lower-case letters, digits, - and _, such as github. Agents see this name.",
    variable: "Secret variable",
    variableHint: "The key of a secret from the page Variables. After that, agents cannot read this variable.",
    hosts: "Hosts",
    hostsHint:
      "One per line, such as api.example.com, api.example.com:8443 or *.example.com. Only requests over https carry the secret.",
    header: "Header",
    template: "Value of the header",
    templateHint: "Write {value} in place of the secret, or {base64} for its base64, as in Basic {base64}.",
    agents: "Agents",
    none: "none",
    usedBy: (agents: string) =>
      agents === "" ? "No agent uses this credential. Choose it in the settings of an agent." : `Agents: ${agents}.`,
    changed: "Changed",
    removed: "Removed.",
    removeWhy: (name: string) => `Requests of agents will no longer carry ${name}. The variable stays.`,
    gone: "This credential does not exist",
    empty: "No credentials yet",
    emptyWhy: "Store a secret as a variable, then create a credential that names the hosts to which it belongs.",
  },
});
