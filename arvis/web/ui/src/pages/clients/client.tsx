import type { Answer, Item } from "../../api/types";
import { Status, type Tone } from "../../parts/show";
import { texts } from "./texts";

export type Client = Item<"GET /api/clients">;
export type ClientDetail = Answer<"GET /api/clients/{client}">;

const TONES: Record<Client["status"], Tone> = { active: "good", paused: "warn", archived: "plain" };

export function ClientState({ status }: { status: Client["status"] }) {
  return <Status tone={TONES[status]}>{texts.statuses[status]}</Status>;
}
