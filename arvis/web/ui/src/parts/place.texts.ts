import { words } from "../words/words";

export const texts = words({
  en: {
    platform: "Platform",
    web: "web",
    bot: "Bot",
    onlyBot: "The only one there is",
    channel: "Channel",
    channelHint: "Its id on the platform, such as -1001234567890; on the web its name, such as hall.",
    thread: "Thread",
    threadHint: "Left out: the channel itself.",
    agent: "Agent",
  },
});
