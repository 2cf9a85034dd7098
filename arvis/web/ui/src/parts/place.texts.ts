import { words } from "../words/words";

export const texts = words({
  en: {
    platform: "Platform",
    bot: "Bot",
    onlyBot: "The only bot of this platform",
    channel: "Channel",
    channelHint:
      "The id of the channel on the platform, such as -1001234567890. For the platform web, enter the name of the channel, such as hall.",
    thread: "Thread",
    threadHint: "Empty: the channel itself.",
    agent: "Agent",
  },
});
