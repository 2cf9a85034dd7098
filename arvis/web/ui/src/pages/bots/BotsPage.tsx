import { Plus } from "lucide-react";
import { Link, useLocation, useRoute } from "wouter";
import { useApi } from "../../api/hooks";
import { useMay } from "../../api/session";
import { ButtonLink } from "../../parts/button";
import { Page, Sheet } from "../../parts/page";
import { UntrustedText } from "../../parts/show";
import { Failure, Loaded } from "../../parts/states";
import { BotSetup } from "./BotSetup";
import { BotSheet, BotState } from "./BotSheet";
import { addressOf, type Bot, HOME, type Platform } from "./bots";
import styles from "./bots.module.css";
import { texts } from "./texts";

export default function BotsPage() {
  const [, navigate] = useLocation();
  const [, match] = useRoute("/settings/bots/:platform/:name?");
  const bots = useApi("GET /api/bots", {});
  const rows = bots.data?.items ?? [];
  const platforms = useApi("GET /api/platforms", {});
  const platform = match ? decodeURIComponent(match.platform) : null;
  const name = match?.name ? decodeURIComponent(match.name) : null;
  const known = platforms.data?.items.find((one) => one.name === platform);
  const title = name ?? texts.addTo(known?.title ?? "");
  return (
    <Page
      title={texts.title}
      about={texts.about}
      sheet={
        platform !== null && (
          <Sheet key={`${platform}/${name}`} title={title} onClose={() => navigate(HOME)}>
            <Loaded of={platforms}>
              {() =>
                known === undefined ? (
                  <p>{texts.missingPlatform}</p>
                ) : (
                  <Detail platform={known} name={name} bots={rows} loading={bots.isPending} />
                )
              }
            </Loaded>
          </Sheet>
        )
      }
    >
      {bots.error && <Failure error={bots.error} retry={() => void bots.refetch()} />}
      <Loaded of={platforms}>
        {({ items }) => (
          <ul className={styles.cards}>
            {items
              .filter((one) => one.fields.length > 0 || rows.some((bot) => bot.platform === one.name))
              .map((one) => (
                <Card
                  key={one.name}
                  platform={one}
                  bots={rows.filter((bot) => bot.platform === one.name)}
                  open={one.name === platform ? name : null}
                />
              ))}
          </ul>
        )}
      </Loaded>
    </Page>
  );
}

type Props = { platform: Platform; name: string | null; bots: readonly Bot[]; loading: boolean };

function Detail({ platform, name, bots, loading }: Props) {
  const [, navigate] = useLocation();
  const here = bots.filter((bot) => bot.platform === platform.name);
  if (name === null) {
    if (platform.fields.length === 0) return <p>{texts.noGuide}</p>;
    const started = (bot: Bot) => navigate(addressOf(bot.platform, bot.name));
    return <BotSetup platform={platform} taken={here.map((bot) => bot.name)} onStarted={started} />;
  }
  const bot = here.find((one) => one.name === name);
  if (bot === undefined) return <p>{loading ? "" : texts.missing}</p>;
  return <BotSheet bot={bot} platform={platform} />;
}

function Card({ platform, bots, open }: { platform: Platform; bots: readonly Bot[]; open: string | null }) {
  const owns = useMay("owner");
  return (
    <li className={styles.card}>
      <h2>{platform.title}</h2>
      <p className="muted">{platform.description}</p>
      {bots.length === 0 ? (
        <p className="muted">{texts.none}</p>
      ) : (
        <ul className={styles.bots}>
          {bots.map((bot) => (
            <li key={bot.name}>
              <Link
                href={addressOf(bot.platform, bot.name)}
                className={styles.bot}
                aria-current={bot.name === open ? "page" : undefined}
              >
                <UntrustedText text={bot.userName ?? bot.name} />
                <BotState bot={bot} />
              </Link>
            </li>
          ))}
        </ul>
      )}
      {owns && platform.fields.length > 0 && (
        <div>
          <ButtonLink label={texts.add} href={addressOf(platform.name)} icon={Plus} />
        </div>
      )}
    </li>
  );
}
