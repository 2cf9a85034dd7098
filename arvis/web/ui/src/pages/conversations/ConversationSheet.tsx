import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Answer } from "../../api/types";
import { Button, ButtonLink } from "../../parts/button";
import { useAsk } from "../../parts/dialog";
import { Sheet } from "../../parts/page";
import { Facts, Status, Time, UntrustedText } from "../../parts/show";
import { Empty, Loaded } from "../../parts/states";
import { count, reveal } from "../../words/format";
import styles from "./conversations.module.css";
import { Log } from "./Log";
import { texts } from "./texts";
import { useWatched } from "./watched";

type Detail = Answer<"GET /api/conversations/{conversation}">;

const NOT_FOUND = 404;

/** One conversation: its channel, messages and summaries. It is updated while the user reads. */
export function ConversationSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const found = useApi("GET /api/conversations/{conversation}", { path: { conversation: id } });
  useWatched(id);
  if (found.error?.status === NOT_FOUND) {
    return (
      <Sheet title={texts.gone} onClose={onClose}>
        <Empty title={texts.gone}>{texts.goneWhy}</Empty>
      </Sheet>
    );
  }
  return (
    <Sheet
      title={found.data === undefined ? "" : reveal(found.data.title) || texts.untitled}
      onClose={onClose}
      actions={found.data && <Actions talk={found.data} />}
    >
      <Loaded of={found}>
        {(talk) => (
          <>
            <TalkFacts talk={talk} />
            <Log talk={talk.id} agent={talk.agent} />
          </>
        )}
      </Loaded>
    </Sheet>
  );
}

/** The channel in one line; the numbers follow, because readers come for the messages. */
function TalkFacts({ talk }: { talk: Detail }) {
  return (
    <details className={styles.about}>
      <summary>
        <UntrustedText text={[talk.agent, talk.platform, talk.channelId, talk.thread].filter(Boolean).join(" · ")} />{" "}
        <Status tone={talk.open ? "accent" : "plain"}>{talk.open ? texts.open : texts.closed}</Status>
      </summary>
      <Facts
        of={[
          [texts.started, <Time key="began" at={talk.createdAt} />],
          [texts.last, <Time key="last" at={talk.lastMessageAt} />],
          [texts.turns, count(talk.turns)],
          [texts.people, count(talk.participants)],
          [texts.context, texts.inContext(count(talk.messagesInContext), count(talk.tokensInContext))],
          [texts.summaries, talk.summaries === 0 ? null : count(talk.summaries)],
        ]}
      />
    </details>
  );
}

function Actions({ talk }: { talk: Detail }) {
  const ask = useAsk();
  const operates = useMay("operator");
  const close = useSend("POST /api/conversations/{conversation}/close", { done: texts.closedNow });
  const end = async () => {
    if (await ask({ title: texts.closeTitle, words: texts.closeWhy, yes: texts.close })) {
      close.mutate({ path: { conversation: talk.id } });
    }
  };
  const file = `/api/conversations/${encodeURIComponent(talk.id)}/export?format=`;
  return (
    <>
      {talk.platform === "web" && talk.channelId.startsWith("dashboard-agent-") && (
        <ButtonLink href={`/chat/${talk.agent}`}>{texts.chat}</ButtonLink>
      )}
      {operates && talk.open && (
        <Button busy={close.isPending} onClick={() => void end()}>
          {texts.close}
        </Button>
      )}
      <a className={styles.save} href={`${file}markdown`} download>
        {texts.markdown}
      </a>
      <a className={styles.save} href={`${file}json`} download>
        {texts.json}
      </a>
    </>
  );
}
