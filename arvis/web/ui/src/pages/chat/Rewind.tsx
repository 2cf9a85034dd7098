/** Buttons that rewind a conversation: answer again, edit a message, and switch versions. */

import { ChevronLeft, ChevronRight, GitBranch, Pencil, RotateCcw } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { ApiError, call } from "../../api/client";
import { useSend } from "../../api/hooks";
import type { Answer } from "../../api/types";
import { Button, IconButton } from "../../parts/button";
import { Dialog, useAsk } from "../../parts/dialog";
import { Field } from "../../parts/field";
import { useToast } from "../../parts/toast";
import { reveal } from "../../words/format";
import type { Chat } from "./chat";
import { addressOfBranch } from "./chats";
import type { Versions as All } from "./entries";
import styles from "./log.module.css";
import { texts } from "./texts";

type Effects = Answer<"GET /api/messages/{message}/effects">;

/** Ask before a rewind to a message if it concerns several turns, or has effects that are not undone. */
function useRewindQuestion(): (message: string, yes: string) => Promise<boolean> {
  const ask = useAsk();
  const { fail } = useToast();
  return async (message, yes) => {
    try {
      const effects = await call("GET /api/messages/{message}/effects", { path: { message } });
      const small = effects.turns <= 1 && effects.effects.length === 0 && effects.sent === 0;
      return small || (await ask({ title: yes, words: wordsOf(effects), yes }));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      fail(error);
      return false;
    }
  };
}

function wordsOf({ turns, sent, effects }: Effects): string {
  const names = [...new Set(effects.map((each) => `${each.name} ${each.detail}`))];
  const lines = [texts.keeps(turns)];
  if (names.length > 0) lines.push(texts.notUndone(reveal(names.join("; "))));
  if (sent > 0) lines.push(texts.staySent(sent));
  return lines.join("\n");
}

/** A button that asks the agent for another answer. */
export function AnswerAgain({ id, chat }: { id: string; chat: Chat }) {
  const confirmed = useRewindQuestion();
  const send = useSend("POST /api/messages/{message}/regenerate");
  const press = async () => {
    if (!(await confirmed(id, texts.answerAgain))) return;
    send.mutate({ path: { message: id } }, { onSuccess: () => void chat.reload() });
  };
  return <IconButton label={texts.answerAgain} icon={RotateCcw} busy={send.isPending} onClick={() => void press()} />;
}

/** A button that continues from an answer in another conversation. */
export function Branch({ id }: { id: string }) {
  const [, navigate] = useLocation();
  const send = useSend("POST /api/messages/{message}/branch");
  const press = () =>
    send.mutate(
      { path: { message: id }, body: {} },
      { onSuccess: ({ agent, channelId }) => navigate(addressOfBranch(agent, channelId)) },
    );
  return <IconButton label={texts.branch} icon={GitBranch} busy={send.isPending} onClick={press} />;
}

/** A button that opens a form with the text of a message. The changed text is answered again. */
export function Edit({ id, text, chat }: { id: string; text: string; chat: Chat }) {
  const confirmed = useRewindQuestion();
  const send = useSend("POST /api/messages/{message}/edit");
  const [content, setContent] = useState<string | null>(null);
  const save = async () => {
    if (!(await confirmed(id, texts.answerAgain))) return;
    const onSuccess = () => {
      setContent(null);
      void chat.reload();
    };
    send.mutate({ path: { message: id }, body: { content: content ?? "" } }, { onSuccess });
  };
  return (
    <>
      <IconButton label={texts.editMessage} icon={Pencil} onClick={() => setContent(text)} />
      {content !== null && (
        <Dialog title={texts.editTitle} onClose={() => setContent(null)}>
          <form
            className={styles.edit}
            onSubmit={(event) => {
              event.preventDefault();
              void save();
            }}
          >
            <Field label={texts.newText}>
              <textarea rows={5} value={content} onChange={(event) => setContent(event.target.value)} />
            </Field>
            <Button
              label={texts.answerAgain}
              kind="primary"
              type="submit"
              busy={send.isPending}
              disabled={content.trim() === ""}
            />
          </form>
        </Dialog>
      )}
    </>
  );
}

/** Arrows between the versions that continue from this message. */
export function Versions({ id, versions, chat }: { id: string; versions: All; chat: Chat }) {
  const confirmed = useRewindQuestion();
  const send = useSend("POST /api/conversations/{conversation}/versions/{version}/activate");
  if (versions.length < 2) return null;
  const at = versions.findIndex((version) => version.active);
  const show = async (place: number) => {
    const chosen = versions[place];
    if (chosen === undefined || !(await confirmed(id, texts.switchVersion))) return;
    const path = { conversation: chosen.conversation, version: chosen.id };
    send.mutate({ path }, { onSuccess: () => void chat.reload() });
  };
  return (
    <span className={styles.versions} role="group" aria-label={texts.versions}>
      <IconButton
        label={texts.earlierVersion}
        icon={ChevronLeft}
        disabled={at === 0 || send.isPending}
        onClick={() => void show(at - 1)}
      />
      {texts.version(at + 1, versions.length)}
      <IconButton
        label={texts.laterVersion}
        icon={ChevronRight}
        disabled={at === versions.length - 1 || send.isPending}
        onClick={() => void show(at + 1)}
      />
    </span>
  );
}
