import { Fragment } from "react";
import type { Answer } from "../../api/types";
import { type Fact, Facts, linkTo, Money, Time, UntrustedText } from "../../parts/show";
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
  const others = message.answers.filter((one) => one !== message.messageId);
  const facts: Fact[] = [
    [texts.status, <MessageState key="status" status={message.status} />],
    [texts.person, from?.actor && <UntrustedText text={from.actor} />],
    [
      texts.channel,
      <UntrustedText key="channel" text={[from?.platform, message.channelId].filter(Boolean).join(" · ")} />,
    ],
    [texts.agent, linkTo("/agents", agent)],
    [texts.conversation, linkTo("/conversations", job && conversationOf(job))],
    [texts.run, linkTo("/executions", job?.executionId)],
    [texts.inQueue, linkTo("/queue", job?.id)],
    [texts.received, <Time key="received" at={message.createdAt} />],
    [
      texts.tokens,
      message.inputTokens + message.outputTokens > 0 &&
        texts.tokensOf(count(message.inputTokens), count(message.outputTokens)),
    ],
    [texts.cost, message.costUsd > 0 && <Money usd={message.costUsd} />],
    [
      texts.alsoAnswers,
      others.length > 0 && others.map((one) => <Fragment key={one}>{linkTo("/messages", one)}</Fragment>),
    ],
  ];
  return <Facts of={facts} />;
}
