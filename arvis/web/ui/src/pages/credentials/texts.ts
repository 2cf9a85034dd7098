import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Credentials",
    about: "Secrets that Arvis inserts into requests of agents. Neither agents nor their scripts see them.",
    add: "New credential",
    name: "Name",
    nameHint: "Lower-case letters, digits, - and _, such as github. Agents see this name.",
    variable: "Secret variable",
    variableHint:
      "The key of a secret variable from the page Variables. Agents can no longer read a variable that a credential uses.",
    hosts: "Hosts",
    hostsHint:
      "One per line, such as api.example.com, api.example.com:8443 or *.example.com. Only requests over https carry the secret.",
    header: "Header",
    template: "Value of the header",
    templateHint:
      "Arvis replaces {value} with the secret, and {base64} with the secret in Base64. Example: Basic {base64}",
    agents: "Agents",
    none: "none",
    usedBy: (agents: string) =>
      agents === "" ? "No agent uses this credential. Choose it in the settings of an agent." : `Agents: ${agents}.`,
    changed: "Changed",
    removed: "Deleted.",
    removeWhy: (name: string) =>
      `Arvis no longer inserts the secret of ${name} into requests of agents. The variable is kept.`,
    gone: "This credential does not exist",
    empty: "No credentials yet",
    emptyWhy:
      "Store a secret as a variable, then create a credential that names the hosts to which Arvis may send the secret.",
  },
});
