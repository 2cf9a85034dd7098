import { useApi } from "../../api/hooks";
import type { Item } from "../../api/types";
import { Status, type Tone } from "../../parts/show";
import { Loaded } from "../../parts/states";
import { Checklist, type Entry } from "./Checklist";
import { texts } from "./texts";

export type Tool = Item<"GET /api/tools">;

const TONES: Record<Tool["risk"], Tone> = {
  read: "good",
  egress: "warn",
  write: "warn",
  exec: "trouble",
  money: "trouble",
};

/** The highest risk of a tool, and whether it needs an approval. */
export function Risk({ tool }: { tool: Tool }) {
  const permit = texts.permits[tool.permit];
  return (
    <>
      <Status tone={TONES[tool.risk]}>{texts.risks[tool.risk]}</Status>
      {permit && <span className="muted">{permit}</span>}
    </>
  );
}

export function ToolPicker({ chosen, onChange }: { chosen: readonly string[]; onChange: (chosen: string[]) => void }) {
  const tools = useApi("GET /api/tools", {});
  return (
    <Loaded of={tools}>
      {({ items }) => (
        <Checklist
          label={texts.fields.tools}
          hint={texts.trustedOnly("tools", items)}
          find={texts.findTools}
          entries={[...serversOf(items), ...items.map(entryOf)]}
          chosen={chosen}
          onChange={onChange}
        />
      )}
    </Loaded>
  );
}

function entryOf(tool: Tool): Entry {
  return { value: tool.name, words: tool.description, mark: <Risk tool={tool} /> };
}

/** All tools of a server can be allowed at once. */
function serversOf(tools: readonly Tool[]): Entry[] {
  const servers = new Set(
    tools.filter((tool) => tool.origin === "mcp" && tool.package !== null).map((tool) => tool.package),
  );
  return [...servers].map((server) => ({ value: `${server}.*`, words: texts.allOf(String(server)) }));
}
