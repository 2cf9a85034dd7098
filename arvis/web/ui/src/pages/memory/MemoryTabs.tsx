import { Tabs } from "../../parts/tabs";
import { texts } from "./texts";

export const HOME = "/memory";

/** The kinds of memory: facts and values. */
export function MemoryTabs({ current }: { current: string }) {
  return (
    <Tabs
      label={texts.parts}
      current={current}
      tabs={[
        [HOME, texts.facts],
        [`${HOME}/states`, texts.states],
      ]}
    />
  );
}
