import { Status, type Tone } from "../../parts/show";
import type { Account } from "./accounts";
import { texts } from "./texts";

const TONES: Record<keyof typeof texts.states, Tone> = {
  active: "good",
  disabled: "plain",
  cooldown: "warn",
  refused: "warn",
  problem: "trouble",
};

/** The state of an account, in one word. */
export function AccountState({ account }: { account: Account }) {
  const cooling = account.health.some((one) => one.cooldownUntil !== null);
  const state =
    account.status === "disabled"
      ? "disabled"
      : account.problem !== null
        ? "problem"
        : cooling
          ? "cooldown"
          : account.health.length > 0
            ? "refused"
            : "active";
  return <Status tone={TONES[state]}>{texts.states[state]}</Status>;
}
