import { words } from "../words/words";

export const plotTexts = words({ en: { csv: "CSV", time: "Time" } });
