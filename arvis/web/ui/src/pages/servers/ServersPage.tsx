import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Answer, Item } from "../../api/types";
import { AskButton, DeleteButton, sends } from "../../parts/actions";
import { Button } from "../../parts/button";
import { Check, Field, type Options } from "../../parts/field";
import { ChoiceField, Secret, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { NEW, type Opening, ResourcePage, ResourceSheet } from "../../parts/resource";
import { type ChangedLine, ChangedLines, Status, type Tone, UntrustedText } from "../../parts/show";
import { asPages, type Column } from "../../parts/table";
import { texts as common } from "../../parts/texts";
import { count, reveal } from "../../words/format";
import styles from "./servers.module.css";
import { texts } from "./texts";

type Server = Item<"GET /api/tool-servers">;
type Detail = Answer<"GET /api/tool-servers/{server}">;
type Tool = Detail["items"][number];

const TONES: Record<Tool["state"], Tone> = { accepted: "good", changed: "warn", new: "accent" };

const RISKS: Options = ["read", "egress", "write", "exec", "money"].map((risk) => [risk, risk] as const);
const SAMPLING = Object.entries(texts.samplings);

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

/** The tool servers, and the acceptance of their changed descriptions. */
export default function ServersPage() {
  return (
    <ResourcePage
      home="/settings/servers"
      texts={texts}
      pages={asPages(useApi("GET /api/tool-servers", {}))}
      columns={COLUMNS}
      idOf={(row) => row.name}
      mayAdd={useMay("owner")}
      sheet={(id, opening) => <ServerSheet name={id} {...opening} />}
    />
  );
}

function Connection({ of: { connected, login } }: { of: Pick<Server, "connected" | "login"> }) {
  if (login === "needed") return <Status tone="warn">{texts.needsLogin}</Status>;
  return <Status tone={connected ? "good" : "trouble"}>{connected ? texts.connected : texts.notConnected}</Status>;
}

function ServerSheet({ name, onOpen, onClose }: { name: string } & Opening) {
  return (
    <ResourceSheet
      id={name}
      of={useApi("GET /api/tool-servers/{server}", name === NEW ? null : { path: { server: name } })}
      texts={texts}
      title={(server) => server.name}
      onClose={onClose}
      form={(known, close) => <Edit known={known} onSaved={known === undefined ? onOpen : close} onRemoved={onClose} />}
      actions={(server, edit) => (
        <>
          <AcceptAll server={server} />
          <EditButton server={server} onEdit={edit} />
        </>
      )}
    >
      {(server) => (
        <>
          <Connection of={server} />
          {!server.connected && server.login !== "needed" && (
            <p>{server.problem === null ? texts.starting : reveal(server.problem)}</p>
          )}
          {server.login === "needed" && <p>{texts.needsLoginWhy}</p>}
          <Login server={server} />
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

function EditButton({ server, onEdit }: { server: Detail; onEdit: () => void }) {
  const owns = useMay("owner");
  return owns && server.source === "product" ? <Button label={common.edit} onClick={onEdit} /> : null;
}

type Props = { known: Detail | undefined; onSaved: (name: string) => void; onRemoved: () => void };

/** The form of a server with an address. A program can only be added in the configuration file. */
function Edit({ known, onSaved, onRemoved }: Props) {
  const settings: Record<string, unknown> = known?.settings ?? {};
  const { draft, set, of } = useDraft({
    name: known?.name ?? "",
    url: String(settings.url ?? ""),
    risk: String(settings.risk ?? "write"),
    sendFiles: settings.send_files === true,
    sampling: String(settings.sampling ?? "off"),
    authorization: "",
  });
  const add = useSend("POST /api/tool-servers", { quiet: true, done: common.saved });
  const change = useSend("PATCH /api/tool-servers/{server}", { quiet: true, done: common.saved });
  const remove = useSend("DELETE /api/tool-servers/{server}", { done: texts.removed });
  const headers: Record<string, string> = draft.authorization === "" ? {} : { Authorization: draft.authorization };
  const { url, risk, sampling } = draft;
  const body = { settings: { url, risk, sampling, send_files: draft.sendFiles }, headers };
  const then = { onSuccess: () => onSaved(draft.name) };
  const send = () =>
    known === undefined
      ? add.mutate({ body: { name: draft.name, ...body } }, then)
      : change.mutate({ path: { server: known.name }, body }, then);
  return (
    <Form
      onSend={send}
      by={[add, change]}
      buttons={
        known && (
          <DeleteButton
            words={texts.removeWhy(known.name)}
            {...sends(remove, { path: { server: known.name } }, { onSuccess: onRemoved })}
          />
        )
      }
    >
      {known === undefined && <TextField label={texts.name} hint={texts.nameHint} required {...of("name")} />}
      <TextField label={texts.url} hint={texts.urlHint} required {...of("url")} />
      <Field label={texts.authorization} hint={texts.authorizationHint}>
        <Secret onText={(authorization) => set({ authorization })} />
      </Field>
      <ChoiceField label={texts.risk} hint={texts.riskHint} options={RISKS} {...of("risk")} />
      <ChoiceField label={texts.sampling} hint={texts.samplingHint} options={SAMPLING} {...of("sampling")} />
      <Check
        label={texts.sendFiles}
        hint={texts.sendFilesHint}
        checked={draft.sendFiles}
        onChange={(sendFiles) => set({ sendFiles })}
      />
    </Form>
  );
}

/** The login of a server: the link that begins it, and its end. */
function Login({ server }: { server: Detail }) {
  const owns = useMay("owner");
  const begin = useSend("POST /api/tool-servers/{server}/login");
  const end = useSend("DELETE /api/tool-servers/{server}/login", { done: texts.loggedOut });
  const path = { server: server.name };
  if (!owns || server.login === "none") return null;
  if (server.login === "done") {
    return (
      <div>
        <AskButton label={texts.logOut} words={texts.logOutWhy} {...sends(end, { path })} />
      </div>
    );
  }
  const url = begin.data?.url;
  return (
    <div className={styles.login}>
      {url === undefined ? (
        <Button label={texts.logIn} kind="primary" {...sends(begin, { path })} />
      ) : (
        <>
          <a href={url} target="_blank" rel="noopener noreferrer">
            {texts.continueAt(reveal(new URL(url).host))}
          </a>
          <p className="muted">{texts.continueWhy}</p>
        </>
      )}
    </div>
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
