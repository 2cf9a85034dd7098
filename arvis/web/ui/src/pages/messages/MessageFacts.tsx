import type { ReactNode } from "react";
import { Link } from "wouter";
import type { Answer } from "../../api/types";
import { Facts, Money, Time, UntrustedText } from "../../parts/show";
import { count } from "../../words/format";
import { conversationOf } from "../queue/job";
import { MessageState } from "./message";
import { texts } from "./texts";

type Detail = Answer<"GET /api/messages/{message}">;

export function MessageFacts({ message }: { message: Detail }) {
  const { job, agent } = message;
  const from = message.steps.find((step) => step.step === "received") as
    | { actor?: string; platform?: string }
    | undefined;
  const conversation = job === null ? null : conversationOf(job);
  const others = message.answers.filter((one) => one !== message.messageId);
  const facts: [string, ReactNode][] = [
    [texts.status, <MessageState key="status" status={message.status} />],
    [texts.person, from?.actor && <UntrustedText text={from.actor} />],
    [
      texts.channel,
      <UntrustedText key="channel" text={[from?.platform, message.channelId].filter(Boolean).join(" · ")} />,
    ],
    [texts.agent, agent && <To href={`/agents/${agent}`} words={agent} />],
    [texts.conversation, conversation && <To href={`/conversations/${conversation}`} words={conversation} />],
    [texts.run, job?.executionId && <To href={`/executions/${job.executionId}`} words={job.executionId} />],
    [texts.inQueue, job && <To href={`/queue/${job.id}`} words={job.id} />],
    [texts.received, <Time key="received" at={message.createdAt} />],
    [
      texts.tokens,
      message.inputTokens + message.outputTokens > 0 &&
        texts.tokensOf(count(message.inputTokens), count(message.outputTokens)),
    ],
    [texts.cost, message.costUsd > 0 && <Money usd={message.costUsd} />],
    [
      texts.alsoAnswers,
      others.length > 0 && others.map((one) => <To key={one} href={`/messages/${one}`} words={one} />),
    ],
  ];
  return <Facts of={facts.map(([name, value]) => [name, value === false ? null : value])} />;
}

function To({ href, words }: { href: string; words: string }) {
  return (
    <Link href={href}>
      <UntrustedText text={words} />
    </Link>
  );
}
