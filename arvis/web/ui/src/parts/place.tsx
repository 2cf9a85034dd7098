/** The place of a post: a platform, one of its bots, a known or typed channel, and a thread. */

import { useId } from "react";
import { useApi } from "../api/hooks";
import { reveal } from "../words/format";
import { words } from "../words/words";
import { ChoiceField, TextField } from "./fields";
import { useAgentOptions } from "./page";

const texts = words({
  en: {
    platform: "Platform",
    bot: "Bot",
    onlyBot: "The only bot of this platform",
    channel: "Channel",
    channelHint:
      "The id of the channel on the platform, such as -1001234567890. For the platform web, enter the name of the channel, such as hall.",
    thread: "Thread",
    threadHint: "If empty: the channel itself.",
    agent: "Agent",
  },
});

export type Place = { platform: string; connector: string; channelId: string; thread: string };

export const NOWHERE: Place = { platform: "web", connector: "", channelId: "", thread: "" };

export function PlaceFields({ value, onChange }: { value: Place; onChange: (place: Place) => void }) {
  const bots = useApi("GET /api/bots", {});
  const known = (bots.data?.items ?? []).filter((bot) => bot.platform === value.platform).map((bot) => bot.name);
  const named = value.connector !== "" && !known.includes(value.connector) ? [value.connector, ...known] : known;
  return (
    <>
      <PlatformField value={value.platform} onChange={(platform) => onChange({ ...NOWHERE, platform })} />
      {(named.length > 1 || value.connector !== "") && (
        <ChoiceField
          label={texts.bot}
          value={value.connector}
          options={[["", texts.onlyBot], ...named.map((name) => [name, reveal(name)] as const)]}
          onChange={(connector) => onChange({ ...value, connector })}
        />
      )}
      <ChannelField
        platform={value.platform}
        value={value.channelId}
        onChange={(channelId) => onChange({ ...value, channelId })}
      />
      {value.platform !== "web" && (
        <TextField
          label={texts.thread}
          hint={texts.threadHint}
          value={value.thread}
          onChange={(thread) => onChange({ ...value, thread })}
        />
      )}
    </>
  );
}

/** A choice of a platform: one that has bots, or the web. */
export function PlatformField({ value, onChange }: { value: string; onChange: (platform: string) => void }) {
  const bots = useApi("GET /api/bots", {});
  const all = [...new Set(["web", value, ...(bots.data?.items ?? []).map((bot) => bot.platform)])];
  return (
    <ChoiceField
      label={texts.platform}
      value={value}
      options={all.map((name) => [name, reveal(name)] as const)}
      onChange={onChange}
    />
  );
}

type Props = { platform: string; value: string; onChange: (channel: string) => void };

/** A field for the id of a channel. It suggests channels in which agents have answered. */
export function ChannelField({ platform, value, onChange }: Props) {
  const list = useId();
  const talks = useApi("GET /api/conversations", { query: { platform, limit: 50 } });
  const channels = [...new Set((talks.data?.items ?? []).map((talk) => talk.channelId))];
  return (
    <>
      <TextField
        label={texts.channel}
        hint={texts.channelHint}
        required
        list={list}
        value={value}
        onChange={onChange}
      />
      <datalist id={list}>
        {channels.map((channel) => (
          <option key={channel} value={channel} />
        ))}
      </datalist>
    </>
  );
}

type AgentProps = { label?: string; hint?: string; none?: string; value: string; onChange: (agent: string) => void };

/** A choice of an agent. `none`: the words for no agent; without it, the form of a new item starts with the first agent. */
export function AgentField({ label = texts.agent, hint, none, value, onChange }: AgentProps) {
  const all = useAgentOptions(value);
  const options = none === undefined && value !== "" ? all : [["", none ?? "–"] as const, ...all];
  return <ChoiceField label={label} hint={hint} value={value} options={options} onChange={onChange} />;
}
