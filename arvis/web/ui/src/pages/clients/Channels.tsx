import { X } from "lucide-react";
import { useState } from "react";
import { useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { IconButton } from "../../parts/button";
import { Form } from "../../parts/form";
import { Section } from "../../parts/page";
import { ChannelField, PlatformField } from "../../parts/place";
import { UntrustedText } from "../../parts/show";
import { useToast } from "../../parts/toast";
import { reveal } from "../../words/format";
import type { ClientDetail } from "./client";
import styles from "./clients.module.css";
import { texts } from "./texts";

type Channel = ClientDetail["channels"][number];

/** The channels of the client. */
export function Channels({ client }: { client: ClientDetail }) {
  const owns = useMay("owner");
  return (
    <Section title={texts.channels}>
      {client.channels.length === 0 ? (
        <p className="muted">{texts.noChannels}</p>
      ) : (
        <ul className={styles.list} aria-label={texts.channels}>
          {client.channels.map((one) => (
            <li key={`${one.platform} ${one.channel}`}>
              <UntrustedText text={`${one.platform} ${one.channel}`} />
              {owns && <Unbind client={client.id} channel={one} />}
            </li>
          ))}
        </ul>
      )}
      {owns && <Bind client={client.id} />}
    </Section>
  );
}

function Unbind({ client, channel }: { client: string; channel: Channel }) {
  const { tell } = useToast();
  const unbind = useSend("DELETE /api/clients/{client}/channels");
  const bind = useSend("POST /api/clients/{client}/channels", { done: texts.bound });
  const back = { words: texts.back, act: () => bind.mutate({ path: { client }, body: channel }) };
  // The removal notice may arrive first and unmount this button: the follow-up must not depend on it.
  const drop = () =>
    unbind.mutateAsync({ path: { client }, query: channel }).then(
      () => tell(texts.unbound, back),
      () => {},
    );
  return (
    <IconButton
      icon={X}
      label={texts.unbind(reveal(channel.channel))}
      busy={unbind.isPending}
      onClick={() => void drop()}
    />
  );
}

function Bind({ client }: { client: string }) {
  const [platform, setPlatform] = useState("web");
  const [channel, setChannel] = useState("");
  const bind = useSend("POST /api/clients/{client}/channels", { quiet: true, done: texts.bound });
  const send = () =>
    bind.mutate({ path: { client }, body: { platform, channel } }, { onSuccess: () => setChannel("") });
  return (
    <details>
      <summary>{texts.addChannel}</summary>
      <Form onSend={send} by={[bind]} save={texts.addChannel} label={texts.addChannel}>
        <PlatformField value={platform} onChange={setPlatform} />
        <ChannelField platform={platform} value={channel} onChange={setChannel} />
      </Form>
    </details>
  );
}
