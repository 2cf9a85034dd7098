import type { Item } from "../../api/types";
import { Status, type Tone } from "../../parts/show";
import { reveal } from "../../words/format";
import { texts } from "./texts";

export type Person = Item<"GET /api/people">;
export type Role = Person["role"];

const TONES: Record<Role, Tone> = { owner: "accent", operator: "accent", member: "plain", blocked: "trouble" };

export function RoleState({ role }: { role: Role }) {
  return <Status tone={TONES[role]}>{texts.roles[role]}</Status>;
}

export const pairingOf = (person: { role: Role; paired: boolean }): string =>
  person.paired ? texts.isPaired : person.role === "owner" ? texts.unneeded : texts.notPaired;

export const nameOf = (person: { name: string }): string => reveal(person.name) || texts.unnamed;
