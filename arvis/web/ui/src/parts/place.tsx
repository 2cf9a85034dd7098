/** The place of a post: a platform, one of its bots, a known or typed channel, and a thread. */

import { useId } from "react";
import { useApi } from "../api/hooks";
import { reveal } from "../words/format";
import { Choice, Field } from "./field";
import { texts } from "./place.texts";

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
        <Field label={texts.bot}>
          <Choice
            value={value.connector}
            options={[["", texts.onlyBot], ...named.map((name) => [name, reveal(name)] as const)]}
            onChange={(connector) => onChange({ ...value, connector })}
          />
        </Field>
      )}
      <ChannelField
        platform={value.platform}
        value={value.channelId}
        onChange={(channelId) => onChange({ ...value, channelId })}
      />
      {value.platform !== "web" && (
        <Field label={texts.thread} hint={texts.threadHint}>
          <input
            value={value.thread}
            autoComplete="off"
            onChange={(event) => onChange({ ...value, thread: event.target.value })}
          />
        </Field>
      )}
    </>
  );
}

/** A choice of a platform: one that has bots, or the web. */
export function PlatformField({ value, onChange }: { value: string; onChange: (platform: string) => void }) {
  const bots = useApi("GET /api/bots", {});
  const all = [...new Set(["web", value, ...(bots.data?.items ?? []).map((bot) => bot.platform)])];
  return (
    <Field label={texts.platform}>
      <Choice value={value} options={all.map((name) => [name, reveal(name)] as const)} onChange={onChange} />
    </Field>
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
      <Field label={texts.channel} hint={texts.channelHint}>
        <input
          value={value}
          required
          list={list}
          autoComplete="off"
          onChange={(event) => onChange(event.target.value)}
        />
      </Field>
      <datalist id={list}>
        {channels.map((channel) => (
          <option key={channel} value={channel} />
        ))}
      </datalist>
    </>
  );
}

/** A choice of an agent. The form of a new item starts with the first agent. */
export function AgentField({ value, onChange }: { value: string; onChange: (agent: string) => void }) {
  const agents = useApi("GET /api/agents", {});
  const all = (agents.data?.items ?? []).map((one) => [one.slug, reveal(one.name)] as const);
  const shown = value === "" || all.some(([slug]) => slug === value) ? all : [[value, reveal(value)] as const, ...all];
  return (
    <Field label={texts.agent}>
      <Choice value={value} options={value === "" ? [["", "–"], ...shown] : shown} onChange={onChange} />
    </Field>
  );
}
