import type { ReactNode } from "react";
import { Link } from "wouter";
import { useApi } from "../../api/hooks";
import { Section } from "../../parts/page";
import { Code, Facts, Money, Time, UntrustedText } from "../../parts/show";
import { Loaded } from "../../parts/states";
import { GraphName } from "../../parts/workflowGraph";
import { count, money, reveal } from "../../words/format";
import { AgentState } from "./AgentTable";
import styles from "./agents.module.css";
import { bindingInWords, valueInWords } from "./diff";
import { type Agent, CONDUCTOR } from "./draft";
import { Risk } from "./ToolPicker";
import { texts } from "./texts";

/** The details and current work of an agent. */
export function Overview({ agent }: { agent: Agent }) {
  return (
    <>
      {agent.role === CONDUCTOR && <p className={styles.note}>{texts.conductorWhy}</p>}
      <Figures slug={agent.slug} />
      <Section title={texts.nowDoing}>
        <Doing slug={agent.slug} />
      </Section>
      <Section title={texts.about7}>
        <About agent={agent} />
      </Section>
      <Section title={texts.fields.prompt}>
        {agent.prompt === "" ? (
          <p className="muted">{texts.noPrompt}</p>
        ) : (
          <Code value={agent.prompt} label={texts.fields.prompt} />
        )}
      </Section>
    </>
  );
}

function Figures({ slug }: { slug: string }) {
  const stats = useApi("GET /api/agents/{agent}/stats", { path: { agent: slug } });
  return (
    <Loaded of={stats}>
      {({ week, month, lastActive }) => {
        const tokens = (of: typeof week) => `${count(of.inputTokens)} / ${count(of.outputTokens)}`;
        const figures: [string, ReactNode, string | null][] = [
          [texts.calls, count(week.calls), texts.inMonth(count(month.calls))],
          [texts.costs, <Money key="cost" usd={week.costUsd} />, texts.inMonth(money(month.costUsd))],
          [texts.tokensUsed, tokens(week), texts.inMonth(tokens(month))],
          [texts.errors, count(week.errors), texts.inMonth(count(month.errors))],
          [texts.lastActive, <Time key="last" at={lastActive} />, null],
        ];
        return (
          <Section title={texts.figures}>
            <dl className={styles.figures}>
              {figures.map(([name, value, more]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>
                    <strong>{value}</strong>
                    {more && <span className="muted">{more}</span>}
                  </dd>
                </div>
              ))}
            </dl>
          </Section>
        );
      }}
    </Loaded>
  );
}

function Doing({ slug }: { slug: string }) {
  const overview = useApi("GET /api/overview", {});
  return (
    <Loaded of={overview}>
      {({ running }) => {
        const own = running.filter((work) => work.agent === slug);
        if (own.length === 0) return <p className="muted">{texts.nothingNow}</p>;
        return (
          <ul className={styles.rows}>
            {own.map((work) => (
              <li key={work.jobId}>
                <Link href={work.messageId ? `/messages/${work.messageId}` : `/queue/${work.jobId}`}>
                  <UntrustedText text={work.activity} />
                </Link>
                {work.address && (
                  <UntrustedText text={`${work.address.platform} ${work.address.channelId}`} className="muted" />
                )}
                <Time at={work.since} />
              </li>
            ))}
          </ul>
        );
      }}
    </Loaded>
  );
}

function About({ agent }: { agent: Agent }) {
  const { slug, tools, plugins, helpers, skills, credentials, knowledge, fallbacks, allowUsers, bindings } = agent;
  const value = (field: "model" | "effort" | "completion" | "onNewMessage" | "contextTokens" | "timezone") => (
    <UntrustedText text={valueInWords(field, agent[field])} />
  );
  const list = (
    field: "plugins" | "helpers" | "skills" | "credentials" | "knowledge" | "fallbacks",
    entries: string[],
  ) => <UntrustedText text={entries.length === 0 ? texts.unset[field] : entries.join(", ")} />;
  return (
    <>
      <Facts
        of={[
          [texts.slug, <bdi key="slug">{slug}</bdi>],
          [texts.status, <AgentState key="status" status={agent.status} />],
          [texts.fields.role, agent.role],
          [texts.fields.model, value("model")],
          [texts.fields.effort, value("effort")],
          [texts.fields.fallbacks, list("fallbacks", fallbacks)],
          [texts.fields.graph, <GraphName key="graph" graph={agent.graph} words={texts.graphs} />],
          [texts.fields.completion, value("completion")],
          [texts.fields.onNewMessage, value("onNewMessage")],
          [texts.fields.contextTokens, value("contextTokens")],
          [texts.fields.timezone, value("timezone")],
          [texts.fields.tools, <Tools key="tools" names={tools} />],
          [texts.fields.plugins, list("plugins", plugins)],
          [texts.fields.helpers, list("helpers", helpers)],
          [texts.fields.skills, list("skills", skills)],
          [texts.fields.credentials, list("credentials", credentials)],
          [texts.fields.knowledge, list("knowledge", knowledge)],
          [texts.fields.allowUsers, valueInWords("allowUsers", allowUsers)],
          [
            texts.fields.bindings,
            bindings.length === 0 ? (
              texts.unset.bindings
            ) : (
              <ul key="bindings">
                {bindings.map((one) => (
                  <li key={`${one.platform}:${one.channel}`}>
                    <UntrustedText text={bindingInWords(one)} />
                  </li>
                ))}
              </ul>
            ),
          ],
        ]}
      />
      <p className={styles.links}>
        <Link href={`/queue?agent=${encodeURIComponent(slug)}`}>{texts.queueOf}</Link>
        <Link href={`/conversations?agent=${encodeURIComponent(slug)}`}>{texts.conversationsOf}</Link>
      </p>
    </>
  );
}

function Tools({ names }: { names: readonly string[] }) {
  const tools = useApi("GET /api/tools", {});
  if (names.length === 0) return texts.unset.tools;
  return (
    <ul className={styles.tools}>
      {names.map((name) => {
        const tool = tools.data?.items.find((one) => one.name === name);
        return (
          <li key={name} title={tool && reveal(tool.description)}>
            <UntrustedText text={name} />
            {tool && <Risk tool={tool} />}
          </li>
        );
      })}
    </ul>
  );
}
