/** Search for a page, an agent, a conversation or a command, and go there. */

import { Command } from "cmdk";
import { useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useApi } from "../api/hooks";
import { useMay } from "../api/session";
import type { Item } from "../api/types";
import { reveal } from "../words/format";
import { usePages } from "./pages";
import styles from "./palette.module.css";
import { texts } from "./texts";
import { useTheme } from "./theme";

const ID = /^[0-9A-HJKMNP-TV-Z]{26}$/i;

/** The minimum number of letters for a search of conversations, and the delay (ms) after the last letter. */
const LEAST_LETTERS = 3;
const PAUSE_MS = 250;

export default function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const [, navigate] = useLocation();
  const [text, setText] = useState("");
  const pages = usePages().filter((page) => page.place !== "hidden");
  const reads = useMay("viewer");
  const runs = useMay("operator");
  const owns = useMay("owner");
  const { next } = useTheme();
  const agents = useApi("GET /api/agents", reads ? {} : null);
  const workflows = useApi("GET /api/workflows", reads ? { query: { limit: 100 } } : null);
  const talks = useConversations(text);
  useEffect(() => {
    dialog.current?.showModal();
    input.current?.focus(); // otherwise the browser would focus the list around it
  }, []);
  const go = (path: string) => {
    onClose();
    navigate(path);
  };
  const run = (act: () => void) => () => {
    onClose();
    act();
  };
  return (
    <dialog ref={dialog} className={styles.palette} aria-label={texts.search} onClose={onClose}>
      <Command label={texts.search}>
        <Command.Input ref={input} value={text} onValueChange={setText} placeholder={texts.search} />
        <Command.List>
          {talks.length === 0 && <Command.Empty>{texts.nothing}</Command.Empty>}
          {ID.test(text.trim()) && (
            <Command.Group heading={texts.groups.look}>
              <Command.Item value={text} onSelect={() => go(`/messages/${text.trim().toUpperCase()}`)}>
                {texts.lookUp(text.trim())}
              </Command.Item>
            </Command.Group>
          )}
          <Command.Group heading={texts.groups.pages}>
            {pages.map((page) => (
              <Command.Item key={page.path} value={texts.pages[page.name]} onSelect={() => go(page.path)}>
                {texts.pages[page.name]}
                {page.key && <kbd>g {page.key}</kbd>}
              </Command.Item>
            ))}
          </Command.Group>
          <Command.Group heading={texts.groups.agents}>
            {(agents.data?.items ?? []).map((agent) => (
              <Command.Item
                key={agent.id}
                value={`${agent.name} ${agent.slug}`}
                onSelect={() => go(`/chat/${agent.slug}`)}
              >
                <bdi>{reveal(agent.name)}</bdi>
                <span className="muted">{agent.slug}</span>
              </Command.Item>
            ))}
          </Command.Group>
          <Command.Group heading={texts.groups.workflows}>
            {(workflows.data?.items ?? []).map((one) => (
              <Command.Item
                key={one.id}
                value={`${one.name} ${one.slug} ${one.id}`}
                onSelect={() => go(`/workflows/${one.id}`)}
              >
                <bdi>{reveal(one.name)}</bdi>
                <span className="muted">{one.slug}</span>
              </Command.Item>
            ))}
          </Command.Group>
          <Conversations talks={talks} go={go} />
          <Command.Group heading={texts.groups.commands}>
            {runs &&
              (workflows.data?.items ?? []).map((one) => (
                <Command.Item
                  key={one.id}
                  value={`${texts.runWorkflow(one.name)} ${one.id}`}
                  onSelect={() => go(`/workflows/${one.id}?run=yes`)}
                >
                  {texts.runWorkflow(reveal(one.name))}
                </Command.Item>
              ))}
            {reads && <Command.Item onSelect={() => go("/queue?status=failed")}>{texts.failedWork}</Command.Item>}
            {runs && <Command.Item onSelect={() => go("/settings/doctor")}>{texts.checkAll}</Command.Item>}
            {owns && <Command.Item onSelect={() => go("/agents/new")}>{texts.newAgent}</Command.Item>}
            {runs && <Command.Item onSelect={() => go("/schedules/new")}>{texts.newSchedule}</Command.Item>}
            {runs && <Command.Item onSelect={() => go("/workflows/examples")}>{texts.newWorkflow}</Command.Item>}
            <Command.Item onSelect={run(next)}>{texts.toggleTheme}</Command.Item>
            <Command.Item onSelect={run(onHelp)}>{texts.help}</Command.Item>
          </Command.Group>
        </Command.List>
      </Command>
    </dialog>
  );
}

type Talk = Item<"GET /api/conversations">;

/** Conversations that contain the words; searched when the user pauses typing. */
function useConversations(text: string): Talk[] {
  const reads = useMay("viewer");
  const [words, setWords] = useState("");
  useEffect(() => {
    const timer = window.setTimeout(() => setWords(text.trim()), PAUSE_MS);
    return () => window.clearTimeout(timer);
  }, [text]);
  const asked = reads && words.length >= LEAST_LETTERS;
  const found = useApi("GET /api/conversations", asked ? { query: { q: words, limit: 6 } } : null);
  return asked ? (found.data?.items ?? []) : [];
}

function Conversations({ talks, go }: { talks: readonly Talk[]; go: (path: string) => void }) {
  if (talks.length === 0) return null;
  return (
    <Command.Group heading={texts.groups.conversations} forceMount>
      {talks.map((talk) => (
        <Command.Item key={talk.id} value={talk.id} forceMount onSelect={() => go(`/conversations/${talk.id}`)}>
          <bdi>{reveal(talk.title)}</bdi>
          <span className="muted">{`${talk.agent} · ${talk.platform}`}</span>
        </Command.Item>
      ))}
    </Command.Group>
  );
}
