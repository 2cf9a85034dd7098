import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Answer, Item } from "../../api/types";
import { AskButton, sends } from "../../parts/actions";
import { Button } from "../../parts/button";
import { ResourcePage, ResourceSheet } from "../../parts/resource";
import { type ChangedLine, ChangedLines, Status, type Tone, UntrustedText } from "../../parts/show";
import { asPages, type Column } from "../../parts/table";
import { count, reveal } from "../../words/format";
import styles from "./servers.module.css";
import { texts } from "./texts";

type Server = Item<"GET /api/tool-servers">;
type Detail = Answer<"GET /api/tool-servers/{server}">;
type Tool = Detail["items"][number];

const TONES: Record<Tool["state"], Tone> = { accepted: "good", changed: "warn", new: "accent" };

const COLUMNS: Column<Server>[] = [
  { name: texts.name, show: (row) => row.name },
  { name: texts.state, width: "150px", show: (row) => <Connection of={row} /> },
  { name: texts.tools, width: "90px", show: (row) => count(row.tools) },
  {
    name: texts.toAccept,
    width: "110px",
    show: ({ changed, new: added }) =>
      changed + added > 0 ? (
        <Status tone={changed > 0 ? "warn" : "accent"}>{count(changed + added)}</Status>
      ) : (
        texts.nothingToAccept
      ),
  },
];

/** The servers of tools, and the acceptance of their changed descriptions. */
export default function ServersPage() {
  return (
    <ResourcePage
      home="/settings/servers"
      texts={texts}
      pages={asPages(useApi("GET /api/tool-servers", {}))}
      columns={COLUMNS}
      idOf={(row) => row.name}
      sheet={(id, { onClose }) => <ServerSheet name={id} onClose={onClose} />}
    />
  );
}

function Connection({ of: { connected } }: { of: Pick<Server, "connected"> }) {
  return <Status tone={connected ? "good" : "trouble"}>{connected ? texts.connected : texts.notConnected}</Status>;
}

function ServerSheet({ name, onClose }: { name: string; onClose: () => void }) {
  return (
    <ResourceSheet
      of={useApi("GET /api/tool-servers/{server}", { path: { server: name } })}
      texts={texts}
      title={(server) => server.name}
      onClose={onClose}
      actions={(server) => <AcceptAll server={server} />}
    >
      {(server) => (
        <>
          <Connection of={server} />
          {!server.connected && <p>{server.problem === null ? texts.starting : reveal(server.problem)}</p>}
          {server.connected && server.items.length === 0 && <p className="muted">{texts.noTools}</p>}
          <ul className={styles.tools}>
            {server.items.map((tool) => (
              <OneTool key={tool.name} server={server.name} tool={tool} />
            ))}
          </ul>
        </>
      )}
    </ResourceSheet>
  );
}

/** The request that accepts the descriptions that the page shows. */
function acceptance(server: string, tools: readonly Tool[]) {
  return { path: { server }, body: { tools: tools.map(({ name, digest }) => ({ name, digest })) } };
}

function AcceptAll({ server }: { server: Detail }) {
  const owns = useMay("owner");
  const accept = useSend("POST /api/tool-servers/{server}/accept", { done: texts.accepted });
  const open = server.items.filter((tool) => tool.state !== "accepted");
  if (!owns || open.length < 2) return null;
  return (
    <AskButton
      label={texts.acceptAll(count(open.length))}
      words={texts.acceptAllWhy}
      danger={false}
      {...sends(accept, acceptance(server.name, open))}
    />
  );
}

function OneTool({ server, tool }: { server: string; tool: Tool }) {
  const owns = useMay("owner");
  const accept = useSend("POST /api/tool-servers/{server}/accept", { done: texts.accepted });
  return (
    <li>
      <header>
        <h3>
          <UntrustedText text={tool.name} />
        </h3>
        <Status tone={TONES[tool.state]}>{texts.states[tool.state]}</Status>
      </header>
      <UntrustedText text={tool.description} className="muted" />
      {tool.state === "changed" && <p>{texts.changedWhy}</p>}
      {tool.state === "new" && <p>{texts.newWhy}</p>}
      {tool.change !== null && <ChangedLines lines={linesOf(tool.change)} label={texts.change(reveal(tool.name))} />}
      {owns && tool.state !== "accepted" && (
        <div>
          <Button
            label={texts.acceptTool(reveal(tool.name))}
            kind={tool.state === "changed" ? "primary" : undefined}
            {...sends(accept, acceptance(server, [tool]))}
          />
        </div>
      )}
    </li>
  );
}

/** The lines of the whole change. Each of them begins with a plus or a minus. */
const linesOf = (change: string): ChangedLine[] =>
  change.split("\n").map((line) => ({ sign: line.startsWith("-") ? "-" : "+", text: line.slice(1) }));
