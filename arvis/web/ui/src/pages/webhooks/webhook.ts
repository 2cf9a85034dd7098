import type { Item } from "../../api/types";

export type Webhook = Item<"GET /api/webhooks">;

/** A command that calls the webhook as its sender would. */
export function exampleOf(hook: Pick<Webhook, "preset" | "secret" | "url">, origin: string): string {
  const hash = (signed: string) => `$(printf %s "${signed}" | openssl dgst -sha256 -hmac "$secret" | sed 's/.*= //')`;
  const headers = {
    plain: [`-H "X-Webhook-Id: try-$(date +%s)"`, `-H "X-Webhook-Signature: sha256=${hash("$body")}"`],
    github: [`-H "X-GitHub-Delivery: try-$(date +%s)"`, `-H "X-Hub-Signature-256: sha256=${hash("$body")}"`],
    stripe: [`-H "Stripe-Signature: t=$time,v1=${hash("$time.$body")}"`],
  };
  return [
    `secret=${quoted(hook.secret)}`,
    `body='{"id": "try", "build": "broken"}'`,
    ...(hook.preset === "stripe" ? ["time=$(date +%s)"] : []),
    `curl -X POST ${quoted(`${origin}${hook.url}`)} \\`,
    ...headers[hook.preset].map((header) => `  ${header} \\`),
    `  --data-raw "$body"`,
  ].join("\n");
}

/** Quote text as one shell argument. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
