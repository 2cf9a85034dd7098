import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Tool servers",
    about: "The servers of the Model Context Protocol in config.yaml, with their tools and changed descriptions.",
    name: "Server",
    state: "State",
    connected: "Connected",
    notConnected: "Not connected",
    starting: "Arvis is connecting to it.",
    tools: "Tools",
    toAccept: "To accept",
    nothingToAccept: "–",
    states: { accepted: "Accepted", changed: "Changed", new: "New" },
    changedWhy:
      "Models still get the accepted description, and each call of the tool needs an approval. Read the change before you accept it.",
    newWhy: "The server added this tool after its first list. Models get its description.",
    change: (name: string) => `Change of ${name}`,
    acceptTool: (name: string) => `Accept ${name}`,
    acceptAll: (number: string) => `Accept all (${number})`,
    acceptAllWhy: "Models will get the present descriptions of all changed and new tools of this server.",
    accepted: "Accepted.",
    noTools: "The server offers no tools now.",
    gone: "This server does not exist",
    goneWhy: "It is not in mcp.servers of config.yaml.",
    empty: "No tool servers yet",
    emptyWhy: "Add servers to mcp.servers in config.yaml. Their tools are then available to agents.",
  },
});
