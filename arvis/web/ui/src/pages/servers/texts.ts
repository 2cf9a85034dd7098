import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Tool servers",
    about: "Servers of the Model Context Protocol (MCP), their tools, and changed descriptions to accept.",
    add: "New server",
    name: "Server",
    nameHint: "Lower-case letters, digits, - and _. Its tools are called NAME.tool.",
    url: "Address",
    urlHint:
      "Such as https://tools.example/mcp. A server that runs as a local program can only be added in config.yaml.",
    authorization: "Header Authorization",
    authorizationHint:
      "Only for servers with a fixed key, such as Bearer KEY. Arvis encrypts this value and never shows it again.",
    risk: "Risk of its tools",
    riskHint: "The risk decides if a call needs an approval.",
    sampling: "Use of the agent's model",
    samplingHint:
      "During a tool call, the server may send requests to the agent's model, at the expense of the person who uses the agent. The model gets only the texts of the server.",
    samplings: { off: "Never", ask: "The person decides each time", allow: "Always" },
    sendFiles: "Send all files",
    sendFilesHint:
      "The reply contains all files from tool results, not only the files that the server marks for the person.",
    removed: "Deleted.",
    removeWhy: (name: string) => `Agents will no longer be able to use the tools of ${name}. Arvis deletes its login.`,
    state: "State",
    connected: "Connected",
    notConnected: "Not connected",
    starting: "Arvis is connecting to this server.",
    needsLogin: "Needs a login",
    needsLoginWhy: "A person must log in to this server before agents can use its tools.",
    logIn: "Log in",
    continueAt: (host: string) => `Continue at ${host}`,
    continueWhy: "The link is valid for 10 minutes. This page shows the result.",
    logOut: "Log out",
    logOutWhy: "Agents can then no longer use the tools of this server.",
    loggedOut: "Logged out.",
    tools: "Tools",
    toAccept: "Not accepted yet",
    nothingToAccept: "–",
    states: { accepted: "Accepted", changed: "Changed", new: "New" },
    changedWhy:
      "Models still get the accepted description, and each call of the tool needs an approval. Read the change before you accept it.",
    newWhy: "The server added this tool later. Models already get its description. Read it, then accept the tool.",
    change: (name: string) => `Change of ${name}`,
    acceptTool: (name: string) => `Accept ${name}`,
    acceptAll: (number: string) => `Accept all (${number})`,
    acceptAllWhy: "Models will get the present descriptions of all changed and new tools of this server.",
    accepted: "Accepted.",
    noTools: "The server offers no tools at the moment.",
    gone: "This server does not exist",
    goneWhy: "It may have been deleted. Choose a server from the list.",
    empty: "No tool servers yet",
    emptyWhy:
      "Add a server with an address here, or a program to mcp.servers in config.yaml. Agents can then use its tools.",
  },
});
