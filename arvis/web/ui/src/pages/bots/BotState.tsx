import { Status } from "../../parts/show";
import { type Bot, TONES } from "./bots";
import { texts } from "./texts";

/** The state of a bot, in one word. */
export function BotState({ bot }: { bot: Bot }) {
  if (!bot.enabled) return <Status tone="plain">{texts.off}</Status>;
  return <Status tone={TONES[bot.state]}>{texts.states[bot.state]}</Status>;
}
