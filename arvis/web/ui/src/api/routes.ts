// Made from the table of routes by `python -m tests.fixtures.api_types`; not edited by hand.

/** All routes: what stands in their path, their query and their body, and what they answer. */
export interface Routes {
  /** Accounts, those of the configuration first. */
  "GET /api/accounts": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { items: { id: string | null; name: string; provider: string; model: string; models: string[]; baseUrl: string | null; priority: number; status: "active" | "disabled"; source: "configuration" | "product"; hasKey: boolean; problem: string | null; health: { model: string; cooldownUntil: number | null; kind: string; refusals: number }[] }[]; nextCursor: string | null };
  };
  /** Add an account. */
  "POST /api/accounts": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { name: string; provider: string; model?: string; models?: string[]; apiKey?: string; baseUrl?: string; priority?: number; status?: "active" | "disabled" };
    answer: { id: string | null; name: string; provider: string; model: string; models: string[]; baseUrl: string | null; priority: number; status: "active" | "disabled"; source: "configuration" | "product"; hasKey: boolean; problem: string | null; health: { model: string; cooldownUntil: number | null; kind: string; refusals: number }[] };
  };
  /** Ask an account that is not kept for one word. */
  "POST /api/accounts/test": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { name?: string; provider: string; model?: string; models?: string[]; apiKey?: string; baseUrl?: string; priority?: number; status?: "active" | "disabled" };
    answer: { ok: boolean; provider: string | null; model: string; durationMs: number; error: string | null; fix: string | null; kind: ("auth" | "bad_request" | "empty" | "other" | "overloaded" | "quota" | "rate_limit" | "refused" | "timeout" | "too_long") | null; costUsd: number | null };
  };
  /** Remove an account of the product. */
  "DELETE /api/accounts/{account}": {
    path: { account: string };
    query: Record<string, never>;
    body: undefined;
    answer: { ok: boolean };
  };
  /** Change an account of the product. */
  "PATCH /api/accounts/{account}": {
    path: { account: string };
    query: Record<string, never>;
    body: { provider?: string; model?: string; models?: string[]; apiKey?: string; baseUrl?: string; priority?: number; status?: "active" | "disabled" };
    answer: { id: string | null; name: string; provider: string; model: string; models: string[]; baseUrl: string | null; priority: number; status: "active" | "disabled"; source: "configuration" | "product"; hasKey: boolean; problem: string | null; health: { model: string; cooldownUntil: number | null; kind: string; refusals: number }[] };
  };
  /** Ask it for one word; costs next to nothing. */
  "POST /api/accounts/{account}/test": {
    path: { account: string };
    query: Record<string, never>;
    body: undefined;
    answer: { ok: boolean; provider: string | null; model: string; durationMs: number; error: string | null; fix: string | null; kind: ("auth" | "bad_request" | "empty" | "other" | "overloaded" | "quota" | "rate_limit" | "refused" | "timeout" | "too_long") | null; costUsd: number | null };
  };
  /** What runs, then who runs nothing. */
  "GET /api/activity": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { items: { agentId: string; agent: string; name: string; role: string; description: string; status: "idle" | "offline" | "running"; type: ("agent" | "heartbeat" | "schedule" | "webhook") | null; graph: string | null; executionId: string | null; platform: string | null; channelId: string | null; startedAt: number | null; lastActiveAt: number | null; statusNote: string | null; process: string | null }[] };
  };
  /** Agents in order of creation. */
  "GET /api/agents": {
    path: Record<string, never>;
    query: { status?: "active" | "archived" | "paused"; role?: string };
    body: undefined;
    answer: { items: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused" }[]; nextCursor: string | null };
  };
  /** Make an agent. */
  "POST /api/agents": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { slug: string; name?: string; role?: string; description?: string; model?: string | null; graph?: string; prompt?: string; fallbacks?: string[]; tools?: string[]; completion?: "explicit" | "implicit"; contextTokens?: number | null; timezone?: string | null; allowUsers?: string[] | null; onNewMessage?: ("queue" | "restart" | "steer") | null; plugins?: string[]; helpers?: string[]; bindings?: { platform: string; channel: string; permission?: "full" | "notify_only" | "read_only"; respond?: ("all" | "mention" | "never") | null; observe?: number | null }[] };
    answer: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] };
  };
  /** Delete an agent; undo brings it back. */
  "DELETE /api/agents/{agent}": {
    path: { agent: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] };
  };
  /** One agent, by id or slug. */
  "GET /api/agents/{agent}": {
    path: { agent: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] };
  };
  /** Change what the body names. */
  "PATCH /api/agents/{agent}": {
    path: { agent: string };
    query: Record<string, never>;
    body: { name?: string; role?: string; description?: string; model?: string | null; graph?: string; prompt?: string; fallbacks?: string[]; tools?: string[]; completion?: "explicit" | "implicit"; contextTokens?: number | null; timezone?: string | null; allowUsers?: string[] | null; onNewMessage?: ("queue" | "restart" | "steer") | null; plugins?: string[]; helpers?: string[] };
    answer: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] };
  };
  /** There no more. */
  "DELETE /api/agents/{agent}/bindings": {
    path: { agent: string };
    query: { platform?: string; channel?: string };
    body: undefined;
    answer: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] };
  };
  /** Channels where it lives. */
  "GET /api/agents/{agent}/bindings": {
    path: { agent: string };
    query: Record<string, never>;
    body: undefined;
    answer: { items: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[]; nextCursor: string | null };
  };
  /** Let it live in a channel. */
  "POST /api/agents/{agent}/bindings": {
    path: { agent: string };
    query: Record<string, never>;
    body: { platform: string; channel: string; permission?: "full" | "notify_only" | "read_only"; respond?: ("all" | "mention" | "never") | null; observe?: number | null };
    answer: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] };
  };
  /** Let it answer nobody for now. */
  "POST /api/agents/{agent}/pause": {
    path: { agent: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] };
  };
  /** Let it go on. */
  "POST /api/agents/{agent}/resume": {
    path: { agent: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] };
  };
  /** What it did in 7 and in 30 days. */
  "GET /api/agents/{agent}/stats": {
    path: { agent: string };
    query: Record<string, never>;
    body: undefined;
    answer: { week: { calls: number; inputTokens: number; outputTokens: number; costUsd: number; errors: number }; month: { calls: number; inputTokens: number; outputTokens: number; costUsd: number; errors: number }; lastActive: number | null };
  };
  /** Back to the version before. */
  "POST /api/agents/{agent}/undo": {
    path: { agent: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] };
  };
  /** How it was, the newest first. */
  "GET /api/agents/{agent}/versions": {
    path: { agent: string };
    query: { limit?: number };
    body: undefined;
    answer: { items: { version: number; at: number; by: string; agent: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] } }[]; nextCursor: string | null };
  };
  /** What models wanted to change, and failed attempts to get in, newest first. */
  "GET /api/audit": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string; agent?: string; kind?: "create_agent" | "create_client" | "create_cron" | "create_heartbeat" | "delegate" | "delete_agent" | "delete_cron" | "delete_heartbeat" | "list_agents" | "list_clients" | "list_crons" | "list_heartbeats" | "login_failed" | "pause_agent" | "remember" | "state" | "update_agent" | "update_cron" | "update_heartbeat" | "wrong_key"; outcome?: "asked" | "done" | "failed" | "refused" };
    body: undefined;
    answer: { items: { id: string; at: number; kind: "create_agent" | "create_client" | "create_cron" | "create_heartbeat" | "delegate" | "delete_agent" | "delete_cron" | "delete_heartbeat" | "list_agents" | "list_clients" | "list_crons" | "list_heartbeats" | "login_failed" | "pause_agent" | "remember" | "state" | "update_agent" | "update_cron" | "update_heartbeat" | "wrong_key"; subject: string; fields: Record<string, unknown>; ordinal: number; agent: string; principalId: string | null; messageId: string | null; executionId: string | null; taint: string[]; outcome: "asked" | "done" | "failed" | "refused"; reason: string | null; report: string }[]; nextCursor: string | null };
  };
  /** Make a one-time login code. */
  "POST /api/auth/codes": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { code: string; url: string; expiresAt: number };
  };
  /** Log in with a one-time code, or with a password. */
  "POST /api/auth/login": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { code?: string; user?: string; password?: string };
    answer: { userId: string; name: string; role: "chat" | "operator" | "owner" | "viewer"; channelId: string; hasPassword: boolean };
  };
  /** End this login. */
  "POST /api/auth/logout": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { ok: boolean };
  };
  /** Who is logged in here. */
  "GET /api/auth/me": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { userId: string; name: string; role: "chat" | "operator" | "owner" | "viewer"; channelId: string; hasPassword: boolean };
  };
  /** Set one's own password; one's other logins end. */
  "PUT /api/auth/password": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { password: string; current?: string };
    answer: { ok: boolean };
  };
  /** One's own logins, newest first; an owner may name another user. */
  "GET /api/auth/sessions": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string; user?: string };
    body: undefined;
    answer: { items: { id: string; userId: string; device: string; createdAt: number; lastSeenAt: number; current: boolean }[]; nextCursor: string | null };
  };
  /** End a login. */
  "DELETE /api/auth/sessions/{session}": {
    path: { session: string };
    query: Record<string, never>;
    body: undefined;
    answer: { ok: boolean };
  };
  /** Whether anybody can log in by a password. */
  "GET /api/auth/state": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { passwordLogin: boolean };
  };
  /** Backups in the data folder, newest first. */
  "GET /api/backups": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { items: { name: string; path: string; bytes: number; createdAt: number; migration: string | null; messages: number | null; missingAttachments: number }[]; nextCursor: string | null };
  };
  /** Make a backup now; may take minutes. */
  "POST /api/backups": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { name: string; path: string; bytes: number; createdAt: number; migration: string | null; messages: number | null; missingAttachments: number };
  };
  /** Bots, those of the configuration first. */
  "GET /api/bots": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { items: { platform: string; name: string; enabled: boolean; source: "configuration" | "product"; settings: Record<string, unknown>; secrets: string[]; state: "error" | "running" | "starting" | "stopped" | "waiting"; error: string | null; since: number | null; userId: string | null; userName: string | null }[]; nextCursor: string | null };
  };
  /** Enter a bot. */
  "POST /api/bots": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { platform: string; name: string; settings?: Record<string, unknown>; secrets?: Record<string, string>; enabled?: boolean };
    answer: { platform: string; name: string; enabled: boolean; source: "configuration" | "product"; settings: Record<string, unknown>; secrets: string[]; state: "error" | "running" | "starting" | "stopped" | "waiting"; error: string | null; since: number | null; userId: string | null; userName: string | null };
  };
  /** Ask a platform about a bot that is not kept. */
  "POST /api/bots/test": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { platform: string; name?: string; settings?: Record<string, unknown>; secrets?: Record<string, string>; enabled?: boolean };
    answer: { findings: { level: "error" | "ok" | "warning"; text: string; fix: string | null }[] };
  };
  /** Remove a bot of the product. */
  "DELETE /api/bots/{platform}/{name}": {
    path: { platform: string; name: string };
    query: Record<string, never>;
    body: undefined;
    answer: { ok: boolean };
  };
  /** One bot. */
  "GET /api/bots/{platform}/{name}": {
    path: { platform: string; name: string };
    query: Record<string, never>;
    body: undefined;
    answer: { platform: string; name: string; enabled: boolean; source: "configuration" | "product"; settings: Record<string, unknown>; secrets: string[]; state: "error" | "running" | "starting" | "stopped" | "waiting"; error: string | null; since: number | null; userId: string | null; userName: string | null };
  };
  /** Change a bot of the product. */
  "PATCH /api/bots/{platform}/{name}": {
    path: { platform: string; name: string };
    query: Record<string, never>;
    body: { settings?: Record<string, unknown>; secrets?: Record<string, string>; enabled?: boolean };
    answer: { platform: string; name: string; enabled: boolean; source: "configuration" | "product"; settings: Record<string, unknown>; secrets: string[]; state: "error" | "running" | "starting" | "stopped" | "waiting"; error: string | null; since: number | null; userId: string | null; userName: string | null };
  };
  /** Start it anew, wherever it runs. */
  "POST /api/bots/{platform}/{name}/restart": {
    path: { platform: string; name: string };
    query: Record<string, never>;
    body: undefined;
    answer: { platform: string; name: string; enabled: boolean; source: "configuration" | "product"; settings: Record<string, unknown>; secrets: string[]; state: "error" | "running" | "starting" | "stopped" | "waiting"; error: string | null; since: number | null; userId: string | null; userName: string | null };
  };
  /** Ask its platform about its setup. */
  "POST /api/bots/{platform}/{name}/test": {
    path: { platform: string; name: string };
    query: Record<string, never>;
    body: undefined;
    answer: { findings: { level: "error" | "ok" | "warning"; text: string; fix: string | null }[] };
  };
  /** Clients, newest first. */
  "GET /api/clients": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string };
    body: undefined;
    answer: { items: { id: string; name: string; plan: "monthly" | "per_task" | "prepaid"; status: "active" | "archived" | "paused"; pricePerTaskUsd: number; monthlyFeeUsd: number; tokenFactor: number; monthlyLimitUsd: number | null; notes: string; balanceUsd: number; createdAt: number; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Make a client. */
  "POST /api/clients": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { name: string; plan?: "monthly" | "per_task" | "prepaid"; status?: "active" | "archived" | "paused"; pricePerTaskUsd?: number; monthlyFeeUsd?: number; tokenFactor?: number; monthlyLimitUsd?: number | null; notes?: string };
    answer: { id: string; name: string; plan: "monthly" | "per_task" | "prepaid"; status: "active" | "archived" | "paused"; pricePerTaskUsd: number; monthlyFeeUsd: number; tokenFactor: number; monthlyLimitUsd: number | null; notes: string; balanceUsd: number; createdAt: number; updatedAt: number; channels: { platform: string; channel: string }[] };
  };
  /** One client with its channels. */
  "GET /api/clients/{client}": {
    path: { client: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; name: string; plan: "monthly" | "per_task" | "prepaid"; status: "active" | "archived" | "paused"; pricePerTaskUsd: number; monthlyFeeUsd: number; tokenFactor: number; monthlyLimitUsd: number | null; notes: string; balanceUsd: number; createdAt: number; updatedAt: number; channels: { platform: string; channel: string }[] };
  };
  /** Change what the body names. */
  "PATCH /api/clients/{client}": {
    path: { client: string };
    query: Record<string, never>;
    body: { name?: string; plan?: "monthly" | "per_task" | "prepaid"; status?: "active" | "archived" | "paused"; pricePerTaskUsd?: number; monthlyFeeUsd?: number; tokenFactor?: number; monthlyLimitUsd?: number | null; notes?: string };
    answer: { id: string; name: string; plan: "monthly" | "per_task" | "prepaid"; status: "active" | "archived" | "paused"; pricePerTaskUsd: number; monthlyFeeUsd: number; tokenFactor: number; monthlyLimitUsd: number | null; notes: string; balanceUsd: number; createdAt: number; updatedAt: number; channels: { platform: string; channel: string }[] };
  };
  /** Serve it there no more. */
  "DELETE /api/clients/{client}/channels": {
    path: { client: string };
    query: { platform?: string; channel?: string };
    body: undefined;
    answer: { id: string; name: string; plan: "monthly" | "per_task" | "prepaid"; status: "active" | "archived" | "paused"; pricePerTaskUsd: number; monthlyFeeUsd: number; tokenFactor: number; monthlyLimitUsd: number | null; notes: string; balanceUsd: number; createdAt: number; updatedAt: number; channels: { platform: string; channel: string }[] };
  };
  /** Serve this client in a channel. */
  "POST /api/clients/{client}/channels": {
    path: { client: string };
    query: Record<string, never>;
    body: { platform: string; channel: string };
    answer: { id: string; name: string; plan: "monthly" | "per_task" | "prepaid"; status: "active" | "archived" | "paused"; pricePerTaskUsd: number; monthlyFeeUsd: number; tokenFactor: number; monthlyLimitUsd: number | null; notes: string; balanceUsd: number; createdAt: number; updatedAt: number; channels: { platform: string; channel: string }[] };
  };
  /** Lines of its account, newest first. */
  "GET /api/clients/{client}/charges": {
    path: { client: string };
    query: { limit?: number; cursor?: string };
    body: undefined;
    answer: { items: { id: string; type: "adjustment" | "payment" | "subscription" | "task"; status: "approved" | "disputed" | "paid" | "pending"; amountUsd: number; description: string; messageId: string | null; executionId: string | null; createdAt: number }[]; nextCursor: string | null };
  };
  /** Enter a line, which moves the balance. */
  "POST /api/clients/{client}/charges": {
    path: { client: string };
    query: Record<string, never>;
    body: { type: "adjustment" | "payment" | "subscription"; amountUsd: number; description?: string };
    answer: { id: string; type: "adjustment" | "payment" | "subscription" | "task"; status: "approved" | "disputed" | "paid" | "pending"; amountUsd: number; description: string; messageId: string | null; executionId: string | null; createdAt: number };
  };
  /** Change the status of a line. */
  "PATCH /api/clients/{client}/charges/{charge}": {
    path: { client: string; charge: string };
    query: Record<string, never>;
    body: { status: "approved" | "disputed" | "paid" | "pending" };
    answer: { ok: boolean };
  };
  /** Its account in one month. */
  "GET /api/clients/{client}/summary": {
    path: { client: string };
    query: { month?: string; limit?: number; cursor?: string };
    body: undefined;
    answer: { month: string; chargedUsd: number; paidUsd: number; balanceUsd: number; items: { id: string; type: "adjustment" | "payment" | "subscription" | "task"; status: "approved" | "disputed" | "paid" | "pending"; amountUsd: number; description: string; messageId: string | null; executionId: string | null; createdAt: number }[]; nextCursor: string | null };
  };
  /** Back to the version before. */
  "POST /api/clients/{client}/undo": {
    path: { client: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; name: string; plan: "monthly" | "per_task" | "prepaid"; status: "active" | "archived" | "paused"; pricePerTaskUsd: number; monthlyFeeUsd: number; tokenFactor: number; monthlyLimitUsd: number | null; notes: string; balanceUsd: number; createdAt: number; updatedAt: number; channels: { platform: string; channel: string }[] };
  };
  /** Conversations, the last used first; with a chat key one's own. */
  "GET /api/conversations": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string; agent?: string; platform?: string; channel?: string; thread?: string; q?: string };
    body: undefined;
    answer: { items: { id: string; agent: string; platform: string; connector: string; channelId: string; thread: string; turns: number; createdAt: number; lastMessageAt: number; open: boolean; title: string; preview: string; participants: number }[]; nextCursor: string | null };
  };
  /** One conversation. */
  "GET /api/conversations/{conversation}": {
    path: { conversation: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; agent: string; platform: string; connector: string; channelId: string; thread: string; turns: number; createdAt: number; lastMessageAt: number; open: boolean; title: string; preview: string; participants: number; messagesInContext: number; tokensInContext: number; summaries: number; summary: { id: string; summary: string; tokens: number; status: "active" | "final" | "restored" } | null };
  };
  /** Let the next message begin a new one. */
  "POST /api/conversations/{conversation}/close": {
    path: { conversation: string };
    query: Record<string, never>;
    body: undefined;
    answer: { ok: boolean };
  };
  /** The whole conversation as a file, with what its summaries stand for. */
  "GET /api/conversations/{conversation}/export": {
    path: { conversation: string };
    query: { format?: "json" | "markdown" };
    body: undefined;
    answer: string;
  };
  /** Messages of a conversation, newest first; with a chat key what one said and was answered. */
  "GET /api/conversations/{conversation}/messages": {
    path: { conversation: string };
    query: { limit?: number; cursor?: string };
    body: undefined;
    answer: { items: { id: string; role: "assistant" | "notice" | "progress" | "user"; content: string; status: "accepted" | "answered" | "cancelled" | "dropped" | "expired" | "failed" | "queued" | "running" | "waiting"; reason: string | null; userName: string; agent: string | null; replyTo: string | null; answeredBy: string | null; executionId: string | null; turn: number | null; source: string; taint: ("agents" | "files" | "flagged" | "people" | "tools")[]; costUsd: number; attachments: { filename: string; contentType: string; size: number; state: "failed" | "stored" | "waiting"; kind: ("document" | "image" | "other" | "voice") | null; problem: string; url: string | null }[]; files: { name: string; contentType: string; size: number; url: string }[]; buttons: { id: string; label: string; style: "danger" | "primary" | "secondary" | "success" }[]; delivery: ("expired" | "failed" | "pending" | "sending" | "sent" | "unknown") | null; question: { id: string; state: "answered" | "closed" | "expired" | "open"; decision: string | null; answeredAt: number | null } | null; createdAt: number }[]; nextCursor: string | null };
  };
  /** Summaries of a conversation, newest first. */
  "GET /api/conversations/{conversation}/summaries": {
    path: { conversation: string };
    query: { limit?: number; cursor?: string };
    body: undefined;
    answer: { items: { id: string; conversationId: string; executionId: string; firstTurn: number; lastTurn: number; summary: string; tokens: number; taint: ("agents" | "files" | "flagged" | "people" | "tools")[]; messagesBefore: number; messagesAfter: number; tokensSaved: number; status: "active" | "final" | "restored"; createdAt: number }[]; nextCursor: string | null };
  };
  /** A file of what was said, counted from 0. */
  "GET /api/deliveries/{delivery}/files/{number}": {
    path: { delivery: string; number: string };
    query: Record<string, never>;
    body: undefined;
    answer: string;
  };
  /** Is everything in order?. */
  "GET /api/doctor": {
    path: Record<string, never>;
    query: { security?: boolean };
    body: undefined;
    answer: { ok: boolean; at: number; items: { id: string; group: string; status: "fail" | "ok" | "warn"; what: string; why: string | null; fix: string | null }[]; nextCursor: string | null };
  };
  /** Turns, runs and what they call, newest first. */
  "GET /api/executions": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string; status?: "cancelled" | "done" | "failed" | "paused" | "running"; graph?: string };
    body: undefined;
    answer: { items: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; agent: string | null; source: string; statusNote: string; steps: number; error: string | null; createdAt: number; updatedAt: number; costUsd: number }[]; nextCursor: string | null };
  };
  /** One of them with its way. */
  "GET /api/executions/{execution}": {
    path: { execution: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; agent: string | null; source: string; statusNote: string; steps: { at: number; step: string; actor?: string | null; durationMs?: number | null; costUsd?: number; input?: unknown; output?: unknown }[]; error: string | null; createdAt: number; updatedAt: number; conversationId: string | null; outcome: string; plan: string | null; path: { number: number; node: string; decision: string; at: number; durationMs: number }[]; costUsd: number; inputTokens: number; outputTokens: number; waits: { id: string; kind: string; prompt: string; askedAt: number; open: boolean }[]; children: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; agent: string | null; source: string; statusNote: string; steps: number; error: string | null; createdAt: number; updatedAt: number }[] };
  };
  /** End it with all that works for it. */
  "POST /api/executions/{execution}/cancel": {
    path: { execution: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; agent: string | null; source: string; statusNote: string; steps: { at: number; step: string; actor?: string | null; durationMs?: number | null; costUsd?: number; input?: unknown; output?: unknown }[]; error: string | null; createdAt: number; updatedAt: number; conversationId: string | null; outcome: string; plan: string | null; path: { number: number; node: string; decision: string; at: number; durationMs: number }[]; costUsd: number; inputTokens: number; outputTokens: number; waits: { id: string; kind: string; prompt: string; askedAt: number; open: boolean }[]; children: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; agent: string | null; source: string; statusNote: string; steps: number; error: string | null; createdAt: number; updatedAt: number }[] };
  };
  /** Ways in which agents work. */
  "GET /api/graphs": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { items: { name: "agent" | "code" | "converse" | "planning"; description: string }[]; nextCursor: string | null };
  };
  /** Jobs, newest first. */
  "GET /api/jobs": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string; kind?: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status?: string; agent?: string; lane?: string };
    body: undefined;
    answer: { items: { id: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status: "cancelled" | "done" | "failed" | "pending" | "running"; lane: string; position: number; priority: number; attempts: number; crashes: number; runAt: number; error: string | null; reason: string | null; agent: string | null; messageId: string | null; executionId: string | null; deliveryId: string | null; mergedInto: string | null; createdAt: number; startedAt: number | null; finishedAt: number | null; subject: string; platform: string | null; connector: string | null; channelId: string | null; person: string | null }[]; nextCursor: string | null };
  };
  /** Retry, cancel or delete many jobs, named or found; each counts for itself. */
  "POST /api/jobs/bulk": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { action: "cancel" | "delete" | "retry"; ids?: string[]; filter?: { kind?: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status?: string; agent?: string; lane?: string }; cursor?: string };
    answer: { done: number; refused: { id: string; code: string; message: string }[]; remaining: number; nextCursor: string | null };
  };
  /** Remove a job that does not run or wait. */
  "DELETE /api/jobs/{job}": {
    path: { job: string };
    query: Record<string, never>;
    body: undefined;
    answer: { ok: boolean };
  };
  /** One job with its payload. */
  "GET /api/jobs/{job}": {
    path: { job: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status: "cancelled" | "done" | "failed" | "pending" | "running"; lane: string; position: number; priority: number; attempts: number; crashes: number; runAt: number; error: string | null; reason: string | null; agent: string | null; messageId: string | null; executionId: string | null; deliveryId: string | null; mergedInto: string | null; createdAt: number; startedAt: number | null; finishedAt: number | null; subject: string; platform: string | null; connector: string | null; channelId: string | null; person: string | null; payload: Record<string, unknown> };
  };
  /** End a pending or running job. */
  "POST /api/jobs/{job}/cancel": {
    path: { job: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status: "cancelled" | "done" | "failed" | "pending" | "running"; lane: string; position: number; priority: number; attempts: number; crashes: number; runAt: number; error: string | null; reason: string | null; agent: string | null; messageId: string | null; executionId: string | null; deliveryId: string | null; mergedInto: string | null; createdAt: number; startedAt: number | null; finishedAt: number | null; subject: string; platform: string | null; connector: string | null; channelId: string | null; person: string | null; payload: Record<string, unknown> };
  };
  /** Run a failed job again; with `content`, ask the agent anew with other words. */
  "POST /api/jobs/{job}/retry": {
    path: { job: string };
    query: Record<string, never>;
    body: { content?: string };
    answer: { id: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status: "cancelled" | "done" | "failed" | "pending" | "running"; lane: string; position: number; priority: number; attempts: number; crashes: number; runAt: number; error: string | null; reason: string | null; agent: string | null; messageId: string | null; executionId: string | null; deliveryId: string | null; mergedInto: string | null; createdAt: number; startedAt: number | null; finishedAt: number | null; subject: string; platform: string | null; connector: string | null; channelId: string | null; person: string | null; payload: Record<string, unknown> };
  };
  /** What happened to it, step by step. */
  "GET /api/jobs/{job}/timeline": {
    path: { job: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status: "cancelled" | "done" | "failed" | "pending" | "running"; explanation: string; agent: string | null; subject: string; content: string | null; createdAt: number; steps: { at: number; step: string; actor?: string | null; durationMs?: number | null; costUsd?: number; input?: unknown; output?: unknown }[]; costUsd: number; inputTokens: number; outputTokens: number; messageId: string | null; executionId: string | null; deliveryId: string | null };
  };
  /** Keys that were made in the product, newest first. */
  "GET /api/keys": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string };
    body: undefined;
    answer: { items: { id: string; name: string; role: "chat" | "operator" | "owner" | "viewer"; agents: string[]; createdBy: string; createdAt: number; lastUsedAt: number | null }[]; nextCursor: string | null };
  };
  /** Make a key, which is shown once. */
  "POST /api/keys": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { name: string; role: "chat" | "operator" | "owner" | "viewer"; agents?: string[] };
    answer: { id: string; name: string; role: "chat" | "operator" | "owner" | "viewer"; agents: string[]; createdBy: string; createdAt: number; lastUsedAt: number | null; key: string };
  };
  /** Revoke a key at once. */
  "DELETE /api/keys/{key}": {
    path: { key: string };
    query: Record<string, never>;
    body: undefined;
    answer: { ok: boolean };
  };
  /** Lines of the log, newest first. */
  "GET /api/logs": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string; level?: "critical" | "debug" | "error" | "info" | "warning"; logger?: string; q?: string; since?: number; until?: number };
    body: undefined;
    answer: { items: { id: string; at: number | null; level: "critical" | "debug" | "error" | "info" | "warning"; logger: string; event: string; exception: string | null; fields: Record<string, unknown> }[]; nextCursor: string | null };
  };
  /** Days that have a file. */
  "GET /api/logs/days": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { items: { day: string; bytes: number }[]; nextCursor: string | null };
  };
  /** The file of a day. */
  "GET /api/logs/download": {
    path: Record<string, never>;
    query: { day?: string };
    body: undefined;
    answer: string;
  };
  /** Facts, newest first. */
  "GET /api/memory": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string; agent?: string; scope?: string; category?: "important_event" | "learned_pattern" | "project_context" | "sticky" | "user_preference"; status?: "active" | "deleted" | "faded" | "superseded"; q?: string };
    body: undefined;
    answer: { items: { id: string; number: number; agent: string; scope: string; category: "important_event" | "learned_pattern" | "project_context" | "sticky" | "user_preference"; content: string; taint: string[]; authorId: string | null; messageId: string | null; executionId: string | null; confidence: number; status: "active" | "deleted" | "faded" | "superseded"; supersededBy: string | null; accessedAt: number; accessCount: number; expiresAt: number | null; createdAt: number; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Tell an agent a fact. */
  "POST /api/memory": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { agent: string; content: string; category?: "important_event" | "learned_pattern" | "project_context" | "sticky" | "user_preference"; scope?: string };
    answer: { id: string; number: number; agent: string; scope: string; category: "important_event" | "learned_pattern" | "project_context" | "sticky" | "user_preference"; content: string; taint: string[]; authorId: string | null; messageId: string | null; executionId: string | null; confidence: number; status: "active" | "deleted" | "faded" | "superseded"; supersededBy: string | null; accessedAt: number; accessCount: number; expiresAt: number | null; createdAt: number; updatedAt: number; outcome: string; previousId: string | null };
  };
  /** Delete a value. */
  "DELETE /api/memory/states": {
    path: Record<string, never>;
    query: { agent?: string; scope?: string; key?: string };
    body: undefined;
    answer: { ok: boolean };
  };
  /** Values under keys, by agent, scope and key. */
  "GET /api/memory/states": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string; agent?: string; scope?: string };
    body: undefined;
    answer: { items: { agent: string; scope: string; key: string; value: string; taint: string[]; authorId: string | null; messageId: string | null; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Take back the newest change of a scope. */
  "POST /api/memory/undo": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { agent: string; scope?: string };
    answer: { undone: string };
  };
  /** Delete a fact; it can be undone. */
  "DELETE /api/memory/{fact}": {
    path: { fact: string };
    query: Record<string, never>;
    body: undefined;
    answer: { ok: boolean };
  };
  /** One fact, and what became of it. */
  "GET /api/memory/{fact}": {
    path: { fact: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; number: number; agent: string; scope: string; category: "important_event" | "learned_pattern" | "project_context" | "sticky" | "user_preference"; content: string; taint: string[]; authorId: string | null; messageId: string | null; executionId: string | null; confidence: number; status: "active" | "deleted" | "faded" | "superseded"; supersededBy: string | null; accessedAt: number; accessCount: number; expiresAt: number | null; createdAt: number; updatedAt: number; changes: { id: string; change: string; replacedById: string | null; undoes: string | null; changedById: string; at: number }[] };
  };
  /** Vouch for a fact. */
  "POST /api/memory/{fact}/confirm": {
    path: { fact: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; number: number; agent: string; scope: string; category: "important_event" | "learned_pattern" | "project_context" | "sticky" | "user_preference"; content: string; taint: string[]; authorId: string | null; messageId: string | null; executionId: string | null; confidence: number; status: "active" | "deleted" | "faded" | "superseded"; supersededBy: string | null; accessedAt: number; accessCount: number; expiresAt: number | null; createdAt: number; updatedAt: number; changes: { id: string; change: string; replacedById: string | null; undoes: string | null; changedById: string; at: number }[] };
  };
  /** What people wrote, newest first. */
  "GET /api/messages": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string; status?: "accepted" | "answered" | "cancelled" | "dropped" | "expired" | "failed" | "queued" | "running" | "waiting"; agent?: string; platform?: string; conversation?: string; q?: string };
    body: undefined;
    answer: { items: { id: string; status: "accepted" | "answered" | "cancelled" | "dropped" | "expired" | "failed" | "queued" | "running" | "waiting"; reason: string | null; agent: string | null; userName: string; platform: string; connector: string; channelId: string; conversationId: string | null; executionId: string | null; preview: string; createdAt: number }[]; nextCursor: string | null };
  };
  /** Send a message; answered once it is committed. */
  "POST /api/messages": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { content?: string; userId?: string; userName?: string; channelId?: string; agent?: string; id?: string; replyTo?: string; attachments?: { filename: string; contentType?: string; data: string; voice?: boolean }[] };
    answer: { ok: boolean; messageId: string };
  };
  /** What became of a message, and why. */
  "GET /api/messages/{message}": {
    path: { message: string };
    query: Record<string, never>;
    body: undefined;
    answer: { messageId: string; status: "accepted" | "answered" | "cancelled" | "dropped" | "expired" | "failed" | "queued" | "running" | "waiting"; explanation: string; reason: string | null; channelId: string; content: string; createdAt: number; reply: string | null; replyId: string | null; answers: string[]; steps: { at: number; step: string; actor?: string | null; durationMs?: number | null; costUsd?: number; input?: unknown; output?: unknown }[]; job: { id: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status: "cancelled" | "done" | "failed" | "pending" | "running"; lane: string; position: number; priority: number; attempts: number; crashes: number; runAt: number; error: string | null; reason: string | null; agent: string | null; messageId: string | null; executionId: string | null; deliveryId: string | null; mergedInto: string | null; createdAt: number; startedAt: number | null; finishedAt: number | null } | null; agent: string | null; run: string | null; costUsd: number; inputTokens: number; outputTokens: number };
  };
  /** A file that came with it, counted from 0. */
  "GET /api/messages/{message}/files/{number}": {
    path: { message: string; number: string };
    query: Record<string, never>;
    body: undefined;
    answer: string;
  };
  /** Let its agent try again. */
  "POST /api/messages/{message}/retry": {
    path: { message: string };
    query: Record<string, never>;
    body: undefined;
    answer: { messageId: string; status: "accepted" | "answered" | "cancelled" | "dropped" | "expired" | "failed" | "queued" | "running" | "waiting"; explanation: string; reason: string | null; channelId: string; content: string; createdAt: number; reply: string | null; replyId: string | null; answers: string[]; steps: { at: number; step: string; actor?: string | null; durationMs?: number | null; costUsd?: number; input?: unknown; output?: unknown }[]; job: { id: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status: "cancelled" | "done" | "failed" | "pending" | "running"; lane: string; position: number; priority: number; attempts: number; crashes: number; runAt: number; error: string | null; reason: string | null; agent: string | null; messageId: string | null; executionId: string | null; deliveryId: string | null; mergedInto: string | null; createdAt: number; startedAt: number | null; finishedAt: number | null } | null; agent: string | null; run: string | null; costUsd: number; inputTokens: number; outputTokens: number };
  };
  /** The same, as soon as the status is final or `waiting`, or after `timeout` seconds. */
  "GET /api/messages/{message}/wait": {
    path: { message: string };
    query: { timeout?: number };
    body: undefined;
    answer: { messageId: string; status: "accepted" | "answered" | "cancelled" | "dropped" | "expired" | "failed" | "queued" | "running" | "waiting"; explanation: string; reason: string | null; channelId: string; content: string; createdAt: number; reply: string | null; replyId: string | null; answers: string[]; steps: { at: number; step: string; actor?: string | null; durationMs?: number | null; costUsd?: number; input?: unknown; output?: unknown }[]; job: { id: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status: "cancelled" | "done" | "failed" | "pending" | "running"; lane: string; position: number; priority: number; attempts: number; crashes: number; runAt: number; error: string | null; reason: string | null; agent: string | null; messageId: string | null; executionId: string | null; deliveryId: string | null; mergedInto: string | null; createdAt: number; startedAt: number | null; finishedAt: number | null } | null; agent: string | null; run: string | null; costUsd: number; inputTokens: number; outputTokens: number };
  };
  /** Models that are known. */
  "GET /api/models": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { items: { name: string; provider: string; model: string; inputUsd: number | null; outputUsd: number | null; cachedUsd: number | null; contextWindow: number; vision: boolean; accounts: string[] }[]; nextCursor: string | null };
  };
  /** What documents of workflows may name. */
  "GET /api/names": {
    path: Record<string, never>;
    query: { workflow?: string };
    body: undefined;
    answer: { agents: string[]; webSearchAgents: string[]; tools: string[]; servers: string[]; models: string[] | null; workflows: string[]; activeTriggers: string[] };
  };
  /** What runs, waits and failed just now, and how fast messages were answered. */
  "GET /api/overview": {
    path: Record<string, never>;
    query: { span?: "day" | "hour" };
    body: undefined;
    answer: { at: number; day: string; costTodayUsd: number; budgetTodayUsd: number | null; counts: { running: number; pending: number; undelivered: number; failed: number; waiting: number; oldestReadyMs: number }; running: { jobId: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; since: number; agent: string | null; agentName: string | null; graph: string | null; messageId: string | null; executionId: string | null; conversationId: string | null; address: { platform: string; connector: string; channelId: string; thread: string } | null; activity: string; tool: string | null }[]; questions: { id: string; executionId: string; kind: "approval" | "review" | "user"; prompt: string; choices: string[]; askedAt: number; expiresAt: number | null; answer: unknown; answeredBy: string | null; answeredAt: number | null }[]; failures: { id: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status: "cancelled" | "done" | "failed" | "pending" | "running"; lane: string; position: number; priority: number; attempts: number; crashes: number; runAt: number; error: string | null; reason: string | null; agent: string | null; messageId: string | null; executionId: string | null; deliveryId: string | null; mergedInto: string | null; createdAt: number; startedAt: number | null; finishedAt: number | null }[]; accounts: { name: string; provider: string; model: string; state: "off" | "ok" | "problem" | "resting"; cooldownUntil: number | null; error: string | null }[]; bots: { platform: string; name: string; enabled: boolean; state: "error" | "running" | "starting" | "stopped" | "waiting"; error: string | null; since: number | null }[]; series: { span: "day" | "hour"; bucketMs: number; points: { at: number; answered: number; failed: number; p50Ms: number | null; p95Ms: number | null; depth: number | null }[] } };
  };
  /** Strangers who asked to be let in, newest first. */
  "GET /api/pairings": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string; pending?: boolean };
    body: undefined;
    answer: { items: { id: string; platform: string; connector: string; channelId: string; userId: string; userName: string; status: "approved" | "pending" | "rejected"; createdAt: number; expiresAt: number }[]; nextCursor: string | null };
  };
  /** Let a stranger in. */
  "POST /api/pairings/approve": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { code: string };
    answer: { id: string; platform: string; userId: string; name: string; role: "blocked" | "member" | "operator" | "owner"; paired: boolean; pairedAt: number | null; createdAt: number; updatedAt: number };
  };
  /** Turn one away. */
  "POST /api/pairings/reject": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { code?: string; id?: string };
    answer: { id: string; platform: string; connector: string; channelId: string; userId: string; userName: string; status: "approved" | "pending" | "rejected"; createdAt: number; expiresAt: number };
  };
  /** People who have written, newest first. */
  "GET /api/people": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string; platform?: string; role?: "blocked" | "member" | "operator" | "owner"; paired?: boolean; q?: string };
    body: undefined;
    answer: { items: { id: string; platform: string; userId: string; name: string; role: "blocked" | "member" | "operator" | "owner"; paired: boolean; pairedAt: number | null; createdAt: number; updatedAt: number }[]; nextCursor: string | null };
  };
  /** One person, and what was changed. */
  "GET /api/people/{person}": {
    path: { person: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; platform: string; userId: string; name: string; role: "blocked" | "member" | "operator" | "owner"; paired: boolean; pairedAt: number | null; createdAt: number; updatedAt: number; changes: { role: "blocked" | "member" | "operator" | "owner"; paired: boolean; by: string | null; at: number }[] };
  };
  /** Give a role, vouch for somebody. */
  "PATCH /api/people/{person}": {
    path: { person: string };
    query: Record<string, never>;
    body: { role?: "blocked" | "member" | "operator"; paired?: boolean };
    answer: { id: string; platform: string; userId: string; name: string; role: "blocked" | "member" | "operator" | "owner"; paired: boolean; pairedAt: number | null; createdAt: number; updatedAt: number; changes: { role: "blocked" | "member" | "operator" | "owner"; paired: boolean; by: string | null; at: number }[] };
  };
  /** Where bots can be. */
  "GET /api/platforms": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { items: { name: string; title: string; description: string; steps: string[]; needs: { name: string; why: string }[]; fields: { name: string; label: string; help: string; kind: "boolean" | "choice" | "duration" | "integer" | "list" | "text"; secret: boolean; required: boolean; default: unknown; choices: string[] }[]; manifest: string | null }[]; nextCursor: string | null };
  };
  /** Plugins of agents. */
  "GET /api/plugins": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { items: { name: string; description: string; builtIn: boolean }[]; nextCursor: string | null };
  };
  /** Projects, newest first. */
  "GET /api/projects": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string; agent?: string; status?: "active" | "done" | "paused" };
    body: undefined;
    answer: { items: { id: string; slug: string; agent: string | null; title: string; goal: string; status: "active" | "done" | "paused"; notes: string; createdAt: number; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Make a project. */
  "POST /api/projects": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { slug?: string; agent?: string | null; title: string; goal?: string; status?: "active" | "done" | "paused"; notes?: string };
    answer: { id: string; slug: string; agent: string | null; title: string; goal: string; status: "active" | "done" | "paused"; notes: string; createdAt: number; updatedAt: number };
  };
  /** Remove one; undo by its id brings it back. */
  "DELETE /api/projects/{project}": {
    path: { project: string };
    query: Record<string, never>;
    body: undefined;
    answer: { ok: boolean };
  };
  /** One project. */
  "GET /api/projects/{project}": {
    path: { project: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; slug: string; agent: string | null; title: string; goal: string; status: "active" | "done" | "paused"; notes: string; createdAt: number; updatedAt: number };
  };
  /** Change what the body names. */
  "PATCH /api/projects/{project}": {
    path: { project: string };
    query: Record<string, never>;
    body: { slug?: string; agent?: string | null; title?: string; goal?: string; status?: "active" | "done" | "paused"; notes?: string };
    answer: { id: string; slug: string; agent: string | null; title: string; goal: string; status: "active" | "done" | "paused"; notes: string; createdAt: number; updatedAt: number };
  };
  /** Back to the version before. */
  "POST /api/projects/{project}/undo": {
    path: { project: string };
    query: Record<string, never>;
    body: undefined;
    answer: { project: { id: string; slug: string; agent: string | null; title: string; goal: string; status: "active" | "done" | "paused"; notes: string; createdAt: number; updatedAt: number } | null };
  };
  /** Vendors of models. */
  "GET /api/providers": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { items: { name: string; title: string; description: string; key: "none" | "optional" | "required"; keySource: string | null; baseUrl: "none" | "optional" | "required"; defaultModel: string | null }[]; nextCursor: string | null };
  };
  /** Questions to people, newest first; with a chat key those that one may answer. */
  "GET /api/questions": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string; open?: boolean; kind?: "approval" | "review" | "user"; agent?: string };
    body: undefined;
    answer: { items: { id: string; executionId: string; kind: "approval" | "review" | "user"; prompt: string; choices: string[]; askedAt: number; expiresAt: number | null; answer: unknown; answeredBy: string | null; answeredAt: number | null; answeredByName: string | null; agent: string | null; person: string | null; messageId: string | null; conversationId: string | null; workflowId: string | null; platform: string | null; connector: string | null; channelId: string | null; approvers: string[]; canAnswer: boolean; tool: string | null; arguments: Record<string, unknown> | null; risk: ("egress" | "exec" | "money" | "read" | "write") | null; change: { text: string; hash: string } | null }[]; nextCursor: string | null };
  };
  /** One question. */
  "GET /api/questions/{question}": {
    path: { question: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; executionId: string; kind: "approval" | "review" | "user"; prompt: string; choices: string[]; askedAt: number; expiresAt: number | null; answer: unknown; answeredBy: string | null; answeredAt: number | null; answeredByName: string | null; agent: string | null; person: string | null; messageId: string | null; conversationId: string | null; workflowId: string | null; platform: string | null; connector: string | null; channelId: string | null; approvers: string[]; canAnswer: boolean; tool: string | null; arguments: Record<string, unknown> | null; risk: ("egress" | "exec" | "money" | "read" | "write") | null; change: { text: string; hash: string } | null };
  };
  /** Answer a question; the first answer wins. */
  "POST /api/questions/{question}/answer": {
    path: { question: string };
    query: Record<string, never>;
    body: { decision: "accept" | "answer" | "approve" | "edit" | "feedback" | "reject"; note?: string; arguments?: Record<string, unknown>; text?: string };
    answer: { id: string; executionId: string; kind: "approval" | "review" | "user"; prompt: string; choices: string[]; askedAt: number; expiresAt: number | null; answer: unknown; answeredBy: string | null; answeredAt: number | null; answeredByName: string | null; agent: string | null; person: string | null; messageId: string | null; conversationId: string | null; workflowId: string | null; platform: string | null; connector: string | null; channelId: string | null; approvers: string[]; canAnswer: boolean; tool: string | null; arguments: Record<string, unknown> | null; risk: ("egress" | "exec" | "money" | "read" | "write") | null; change: { text: string; hash: string } | null };
  };
  /** Runs of all workflows, the newest first. */
  "GET /api/runs": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string; status?: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; workflow?: string; source?: string };
    body: undefined;
    answer: { items: { id: string; workflow: { id: string; slug: string; name: string }; version: number; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; waitingForInput: boolean; currentNodeId: string | null; source: string; entry: string; rerunOf: string | null; error: string | null; startedAt: number; endedAt: number | null; costUsd: number }[]; nextCursor: string | null };
  };
  /** One run and where it stands. */
  "GET /api/runs/{run}": {
    path: { run: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; workflow: { id: string; slug: string; name: string }; version: number; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; waitingForInput: boolean; currentNodeId: string | null; source: string; entry: string; rerunOf: string | null; error: string | null; startedAt: number; endedAt: number | null; costUsd: number; questions: { id: string; executionId: string; kind: "approval" | "review" | "user"; prompt: string; choices: string[]; askedAt: number; expiresAt: number | null; answer: unknown; answeredBy: string | null; answeredAt: number | null; answeredByName: string | null; agent: string | null; person: string | null; messageId: string | null; conversationId: string | null; workflowId: string | null; platform: string | null; connector: string | null; channelId: string | null; approvers: string[]; canAnswer: boolean; tool: string | null; arguments: Record<string, unknown> | null; risk: ("egress" | "exec" | "money" | "read" | "write") | null; change: { text: string; hash: string } | null }[]; nodes: Record<string, { state: "cancelled" | "done" | "failed" | "running" | "skipped" | "waiting"; visits: number; output?: unknown; at?: number | null; tainted?: boolean; error?: string | null; retry?: { attempts: number; nextAt: number; reason: string }; warnings?: string[] }>; state: Record<string, unknown>; result: unknown; input: unknown; messageId: string | null; children: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; createdAt: number }[]; logs: { number: number; timestamp: number; nodeId: string; type: "branch_failed" | "error" | "escalated" | "input_received" | "join" | "llm_error" | "llm_response" | "logic_check" | "loop" | "run_end" | "start_prompt" | "step_end" | "step_start" | "subagent_call_end" | "subagent_call_error" | "subagent_call_start" | "timer" | "tool_call" | "tool_result" | "transfer" | "wait_input" | "warning"; content: string }[]; logsTotal: number };
  };
  /** End it with all that works for it. */
  "POST /api/runs/{run}/cancel": {
    path: { run: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; workflow: { id: string; slug: string; name: string }; version: number; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; waitingForInput: boolean; currentNodeId: string | null; source: string; entry: string; rerunOf: string | null; error: string | null; startedAt: number; endedAt: number | null; costUsd: number; questions: { id: string; executionId: string; kind: "approval" | "review" | "user"; prompt: string; choices: string[]; askedAt: number; expiresAt: number | null; answer: unknown; answeredBy: string | null; answeredAt: number | null; answeredByName: string | null; agent: string | null; person: string | null; messageId: string | null; conversationId: string | null; workflowId: string | null; platform: string | null; connector: string | null; channelId: string | null; approvers: string[]; canAnswer: boolean; tool: string | null; arguments: Record<string, unknown> | null; risk: ("egress" | "exec" | "money" | "read" | "write") | null; change: { text: string; hash: string } | null }[]; nodes: Record<string, { state: "cancelled" | "done" | "failed" | "running" | "skipped" | "waiting"; visits: number; output?: unknown; at?: number | null; tainted?: boolean; error?: string | null; retry?: { attempts: number; nextAt: number; reason: string }; warnings?: string[] }>; state: Record<string, unknown>; result: unknown; input: unknown; messageId: string | null; children: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; createdAt: number }[]; logs: { number: number; timestamp: number; nodeId: string; type: "branch_failed" | "error" | "escalated" | "input_received" | "join" | "llm_error" | "llm_response" | "logic_check" | "loop" | "run_end" | "start_prompt" | "step_end" | "step_start" | "subagent_call_end" | "subagent_call_error" | "subagent_call_start" | "timer" | "tool_call" | "tool_result" | "transfer" | "wait_input" | "warning"; content: string }[]; logsTotal: number };
  };
  /** What it walks: the document of its version. */
  "GET /api/runs/{run}/document": {
    path: { run: string };
    query: Record<string, never>;
    body: undefined;
    answer: { workflowId: string; version: number; document: Record<string, unknown> };
  };
  /** The same as it happens, as server-sent events: start, log, state, done, error. */
  "GET /api/runs/{run}/events": {
    path: { run: string };
    query: { after?: number };
    body: undefined;
    answer: string;
  };
  /** What it tells, in order. */
  "GET /api/runs/{run}/log": {
    path: { run: string };
    query: { after?: number; limit?: number };
    body: undefined;
    answer: { items: { number: number; timestamp: number; nodeId: string; type: "branch_failed" | "error" | "escalated" | "input_received" | "join" | "llm_error" | "llm_response" | "logic_check" | "loop" | "run_end" | "start_prompt" | "step_end" | "step_start" | "subagent_call_end" | "subagent_call_error" | "subagent_call_start" | "timer" | "tool_call" | "tool_result" | "transfer" | "wait_input" | "warning"; content: string }[]; lastNumber: number; hasMore: boolean };
  };
  /** Begin it once more, also in its midst. */
  "POST /api/runs/{run}/rerun": {
    path: { run: string };
    query: Record<string, never>;
    body: { node?: string; version?: "newest" | "same" };
    answer: { id: string; workflow: { id: string; slug: string; name: string }; version: number; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; waitingForInput: boolean; currentNodeId: string | null; source: string; entry: string; rerunOf: string | null; error: string | null; startedAt: number; endedAt: number | null; costUsd: number; questions: { id: string; executionId: string; kind: "approval" | "review" | "user"; prompt: string; choices: string[]; askedAt: number; expiresAt: number | null; answer: unknown; answeredBy: string | null; answeredAt: number | null; answeredByName: string | null; agent: string | null; person: string | null; messageId: string | null; conversationId: string | null; workflowId: string | null; platform: string | null; connector: string | null; channelId: string | null; approvers: string[]; canAnswer: boolean; tool: string | null; arguments: Record<string, unknown> | null; risk: ("egress" | "exec" | "money" | "read" | "write") | null; change: { text: string; hash: string } | null }[]; nodes: Record<string, { state: "cancelled" | "done" | "failed" | "running" | "skipped" | "waiting"; visits: number; output?: unknown; at?: number | null; tainted?: boolean; error?: string | null; retry?: { attempts: number; nextAt: number; reason: string }; warnings?: string[] }>; state: Record<string, unknown>; result: unknown; input: unknown; messageId: string | null; children: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; createdAt: number }[]; logs: { number: number; timestamp: number; nodeId: string; type: "branch_failed" | "error" | "escalated" | "input_received" | "join" | "llm_error" | "llm_response" | "logic_check" | "loop" | "run_end" | "start_prompt" | "step_end" | "step_start" | "subagent_call_end" | "subagent_call_error" | "subagent_call_start" | "timer" | "tool_call" | "tool_result" | "transfer" | "wait_input" | "warning"; content: string }[]; logsTotal: number };
  };
  /** Answer the approval that it waits for; the first answer wins. */
  "POST /api/runs/{run}/resume": {
    path: { run: string };
    query: Record<string, never>;
    body: { decision: "approve" | "reject"; note?: string };
    answer: { id: string; workflow: { id: string; slug: string; name: string }; version: number; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; waitingForInput: boolean; currentNodeId: string | null; source: string; entry: string; rerunOf: string | null; error: string | null; startedAt: number; endedAt: number | null; costUsd: number; questions: { id: string; executionId: string; kind: "approval" | "review" | "user"; prompt: string; choices: string[]; askedAt: number; expiresAt: number | null; answer: unknown; answeredBy: string | null; answeredAt: number | null; answeredByName: string | null; agent: string | null; person: string | null; messageId: string | null; conversationId: string | null; workflowId: string | null; platform: string | null; connector: string | null; channelId: string | null; approvers: string[]; canAnswer: boolean; tool: string | null; arguments: Record<string, unknown> | null; risk: ("egress" | "exec" | "money" | "read" | "write") | null; change: { text: string; hash: string } | null }[]; nodes: Record<string, { state: "cancelled" | "done" | "failed" | "running" | "skipped" | "waiting"; visits: number; output?: unknown; at?: number | null; tainted?: boolean; error?: string | null; retry?: { attempts: number; nextAt: number; reason: string }; warnings?: string[] }>; state: Record<string, unknown>; result: unknown; input: unknown; messageId: string | null; children: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; createdAt: number }[]; logs: { number: number; timestamp: number; nodeId: string; type: "branch_failed" | "error" | "escalated" | "input_received" | "join" | "llm_error" | "llm_response" | "logic_check" | "loop" | "run_end" | "start_prompt" | "step_end" | "step_start" | "subagent_call_end" | "subagent_call_error" | "subagent_call_start" | "timer" | "tool_call" | "tool_result" | "transfer" | "wait_input" | "warning"; content: string }[]; logsTotal: number };
  };
  /** Crons and heartbeats, newest first. */
  "GET /api/schedules": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string; kind?: "cron" | "heartbeat"; agent?: string; createdBy?: "api" | "tag" | "tool"; enabled?: boolean };
    body: undefined;
    answer: { items: { id: string; kind: "cron" | "heartbeat"; agent: string; name: string; schedule: string; timezone: string | null; prompt: string; platform: string; connector: string; channelId: string; thread: string; misfirePolicy: "all" | "once" | "skip"; misfireGraceMs: number | null; graph: string | null; maxIterations: number; script: Record<string, unknown> | null; enabled: boolean; createdBy: "api" | "tag" | "tool"; failures: number; pausedUntil: number | null; lastRun: number | null; nextRun: number | null; createdAt: number; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Make a cron or heartbeat. */
  "POST /api/schedules": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { kind: "cron" | "heartbeat"; agent: string; name?: string; schedule: string; timezone?: string; prompt?: string; platform: string; connector?: string; channelId: string; thread?: string; misfirePolicy?: "all" | "once" | "skip"; misfireGraceMs?: number; graph?: string; maxIterations?: number; script?: Record<string, unknown>; enabled?: boolean };
    answer: { id: string; kind: "cron" | "heartbeat"; agent: string; name: string; schedule: string; timezone: string | null; prompt: string; platform: string; connector: string; channelId: string; thread: string; misfirePolicy: "all" | "once" | "skip"; misfireGraceMs: number | null; graph: string | null; maxIterations: number; script: Record<string, unknown> | null; enabled: boolean; createdBy: "api" | "tag" | "tool"; failures: number; pausedUntil: number | null; lastRun: number | null; nextRun: number | null; createdAt: number; updatedAt: number; nextRuns: number[] };
  };
  /** Remove one; undo brings it back. */
  "DELETE /api/schedules/{schedule}": {
    path: { schedule: string };
    query: Record<string, never>;
    body: undefined;
    answer: { ok: boolean };
  };
  /** One with the next five times. */
  "GET /api/schedules/{schedule}": {
    path: { schedule: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; kind: "cron" | "heartbeat"; agent: string; name: string; schedule: string; timezone: string | null; prompt: string; platform: string; connector: string; channelId: string; thread: string; misfirePolicy: "all" | "once" | "skip"; misfireGraceMs: number | null; graph: string | null; maxIterations: number; script: Record<string, unknown> | null; enabled: boolean; createdBy: "api" | "tag" | "tool"; failures: number; pausedUntil: number | null; lastRun: number | null; nextRun: number | null; createdAt: number; updatedAt: number; nextRuns: number[] };
  };
  /** Change what the body names. */
  "PATCH /api/schedules/{schedule}": {
    path: { schedule: string };
    query: Record<string, never>;
    body: { name?: string; schedule?: string; timezone?: string | null; prompt?: string; platform?: string; connector?: string; channelId?: string; thread?: string; misfirePolicy?: "all" | "once" | "skip"; misfireGraceMs?: number | null; graph?: string | null; maxIterations?: number; script?: Record<string, unknown> | null; enabled?: boolean };
    answer: { id: string; kind: "cron" | "heartbeat"; agent: string; name: string; schedule: string; timezone: string | null; prompt: string; platform: string; connector: string; channelId: string; thread: string; misfirePolicy: "all" | "once" | "skip"; misfireGraceMs: number | null; graph: string | null; maxIterations: number; script: Record<string, unknown> | null; enabled: boolean; createdBy: "api" | "tag" | "tool"; failures: number; pausedUntil: number | null; lastRun: number | null; nextRun: number | null; createdAt: number; updatedAt: number; nextRuns: number[] };
  };
  /** Run it now; its own times stay. */
  "POST /api/schedules/{schedule}/run": {
    path: { schedule: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; dueAt: number; cause: "condition" | "due" | "manual" | "missed"; status: "blocked" | "cancelled" | "done" | "failed" | "idle" | "running" | "silent" | "skipped"; report: string; executionId: string | null; createdAt: number; endedAt: number | null };
  };
  /** What came of its times, newest first. */
  "GET /api/schedules/{schedule}/runs": {
    path: { schedule: string };
    query: { limit?: number; cursor?: string };
    body: undefined;
    answer: { items: { id: string; dueAt: number; cause: "condition" | "due" | "manual" | "missed"; status: "blocked" | "cancelled" | "done" | "failed" | "idle" | "running" | "silent" | "skipped"; report: string; executionId: string | null; createdAt: number; endedAt: number | null }[]; nextCursor: string | null };
  };
  /** Back to the version before. */
  "POST /api/schedules/{schedule}/undo": {
    path: { schedule: string };
    query: Record<string, never>;
    body: undefined;
    answer: { schedule: { id: string; kind: "cron" | "heartbeat"; agent: string; name: string; schedule: string; timezone: string | null; prompt: string; platform: string; connector: string; channelId: string; thread: string; misfirePolicy: "all" | "once" | "skip"; misfireGraceMs: number | null; graph: string | null; maxIterations: number; script: Record<string, unknown> | null; enabled: boolean; createdBy: "api" | "tag" | "tool"; failures: number; pausedUntil: number | null; lastRun: number | null; nextRun: number | null; createdAt: number; updatedAt: number; nextRuns: number[] } | null };
  };
  /** The configuration in effect, and where it comes from. */
  "GET /api/settings": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { items: { key: string; section: string; kind: "boolean" | "choice" | "duration" | "integer" | "list" | "mapping" | "number" | "secret" | "text"; choices: string[]; minimum: number | null; maximum: number | null; nullable: boolean; value: unknown; default: unknown; description: string; source: "default" | "environment" | "file" | "product"; location: string | null; changeable: boolean; reason: string | null; appliesImmediately: boolean; pending: boolean; nextValue: unknown; problem: string | null }[]; nextCursor: string | null; needsRestart: string[]; file: string | null; problem: string | null; conductor: { id: string; slug: string; name: string } | null };
  };
  /** Change settings. */
  "PATCH /api/settings": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { changes: Record<string, unknown> };
    answer: { items: { key: string; section: string; kind: "boolean" | "choice" | "duration" | "integer" | "list" | "mapping" | "number" | "secret" | "text"; choices: string[]; minimum: number | null; maximum: number | null; nullable: boolean; value: unknown; default: unknown; description: string; source: "default" | "environment" | "file" | "product"; location: string | null; changeable: boolean; reason: string | null; appliesImmediately: boolean; pending: boolean; nextValue: unknown; problem: string | null }[]; nextCursor: string | null; needsRestart: string[]; file: string | null; problem: string | null; conductor: { id: string; slug: string; name: string } | null };
  };
  /** Take the last change back. */
  "POST /api/settings/undo": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { items: { key: string; section: string; kind: "boolean" | "choice" | "duration" | "integer" | "list" | "mapping" | "number" | "secret" | "text"; choices: string[]; minimum: number | null; maximum: number | null; nullable: boolean; value: unknown; default: unknown; description: string; source: "default" | "environment" | "file" | "product"; location: string | null; changeable: boolean; reason: string | null; appliesImmediately: boolean; pending: boolean; nextValue: unknown; problem: string | null }[]; nextCursor: string | null; needsRestart: string[]; file: string | null; problem: string | null; conductor: { id: string; slug: string; name: string } | null };
  };
  /** What was set here, the newest first. */
  "GET /api/settings/versions": {
    path: Record<string, never>;
    query: { limit?: number };
    body: undefined;
    answer: { items: { version: number; at: number; by: string | null; values: Record<string, unknown> }[]; nextCursor: string | null };
  };
  /** How far the first run has come. */
  "GET /api/setup": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { hasPassword: boolean; hasAccount: boolean; hasOwnAgent: boolean; hasBot: boolean; hasReply: boolean; dismissed: boolean; done: boolean };
  };
  /** Put the first run away. */
  "POST /api/setup/dismiss": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { ok: boolean };
  };
  /** Skills by slug. */
  "GET /api/skills": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { items: { slug: string; name: string; description: string; category: string; author: string; version: string; requiredTools: string[]; source: "built_in" | "folder" | "imported"; warnings: string[]; enabled: boolean; hash: string }[]; nextCursor: string | null; problems: string[] };
  };
  /** Bring a skill in. */
  "POST /api/skills": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { text?: string; url?: string; replace?: boolean; expectedHash?: string };
    answer: { slug: string; name: string; description: string; category: string; author: string; version: string; requiredTools: string[]; source: "built_in" | "folder" | "imported"; warnings: string[]; enabled: boolean; hash: string; keywords: string[]; patterns: string[]; body: string; text: string };
  };
  /** Read one without keeping it. */
  "POST /api/skills/test": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { text?: string; url?: string };
    answer: { skill: { slug: string; name: string; description: string; category: string; author: string; version: string; requiredTools: string[]; source: "built_in" | "folder" | "imported"; warnings: string[]; enabled: boolean; hash: string; keywords: string[]; patterns: string[]; body: string; text: string }; replaces: ("built_in" | "folder" | "imported") | null };
  };
  /** Take out one that was brought in. */
  "DELETE /api/skills/{slug}": {
    path: { slug: string };
    query: Record<string, never>;
    body: undefined;
    answer: { ok: boolean };
  };
  /** One skill with its text. */
  "GET /api/skills/{slug}": {
    path: { slug: string };
    query: Record<string, never>;
    body: undefined;
    answer: { slug: string; name: string; description: string; category: string; author: string; version: string; requiredTools: string[]; source: "built_in" | "folder" | "imported"; warnings: string[]; enabled: boolean; hash: string; keywords: string[]; patterns: string[]; body: string; text: string };
  };
  /** Change it, or let it rest. */
  "PATCH /api/skills/{slug}": {
    path: { slug: string };
    query: Record<string, never>;
    body: { enabled?: boolean; text?: string };
    answer: { slug: string; name: string; description: string; category: string; author: string; version: string; requiredTools: string[]; source: "built_in" | "folder" | "imported"; warnings: string[]; enabled: boolean; hash: string; keywords: string[]; patterns: string[]; body: string; text: string };
  };
  /** Back to the text before. */
  "POST /api/skills/{slug}/undo": {
    path: { slug: string };
    query: Record<string, never>;
    body: undefined;
    answer: { skill: { slug: string; name: string; description: string; category: string; author: string; version: string; requiredTools: string[]; source: "built_in" | "folder" | "imported"; warnings: string[]; enabled: boolean; hash: string; keywords: string[]; patterns: string[]; body: string; text: string } | null };
  };
  /** What a summary stands for, in order; texts are empty once they are past `retention.compacted_days`. */
  "GET /api/summaries/{summary}/messages": {
    path: { summary: string };
    query: Record<string, never>;
    body: undefined;
    answer: { items: { id: string; role: "assistant" | "notice" | "progress" | "user"; content: string; userName: string; turn: number; tokens: number; createdAt: number }[]; nextCursor: string | null };
  };
  /** Bring the messages of a summary back into the prompts. */
  "POST /api/summaries/{summary}/restore": {
    path: { summary: string };
    query: Record<string, never>;
    body: undefined;
    answer: { ok: boolean; messages: number };
  };
  /** Tools that agents may be given. */
  "GET /api/tools": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { items: { name: string; description: string; risk: "egress" | "exec" | "money" | "read" | "write"; permit: "always" | "ask" | "never"; repeatable: boolean; sensitive: boolean; origin: "built_in" | "mcp" | "package"; package: string | null }[]; nextCursor: string | null };
  };
  /** Calls, tokens and costs of models. */
  "GET /api/usage": {
    path: Record<string, never>;
    query: { by?: "account" | "agent" | "client" | "day" | "model" | "principal"; split?: "account" | "agent" | "client" | "model"; since?: string; until?: string };
    body: undefined;
    answer: { by: "account" | "agent" | "client" | "day" | "model" | "principal"; since: number; until: number; groups: { key: string; name: string; calls: number; inputTokens: number; outputTokens: number; cachedTokens: number; cacheWriteTokens: number; costUsd: number; errors: number; averageMs: number | null; success: number | null; unpriced: number }[]; split: ("account" | "agent" | "client" | "model") | null; points: { day: string; key: string; name: string; calls: number; inputTokens: number; outputTokens: number; cachedTokens: number; cacheWriteTokens: number; costUsd: number; errors: number; averageMs: number | null; success: number | null; unpriced: number }[]; total: { calls: number; inputTokens: number; outputTokens: number; cachedTokens: number; cacheWriteTokens: number; costUsd: number; errors: number; averageMs: number | null; success: number | null; unpriced: number } };
  };
  /** Users of the dashboard. */
  "GET /api/users": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string };
    body: undefined;
    answer: { items: { id: string; name: string; role: "chat" | "operator" | "owner" | "viewer"; hasPassword: boolean; createdAt: number; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Add a user, with a login link. */
  "POST /api/users": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { id: string; name?: string; role: "chat" | "operator" | "owner" | "viewer" };
    answer: { id: string; name: string; role: "chat" | "operator" | "owner" | "viewer"; hasPassword: boolean; createdAt: number; updatedAt: number; link: { code: string; url: string; expiresAt: number } };
  };
  /** Remove a user, and end their logins. */
  "DELETE /api/users/{user}": {
    path: { user: string };
    query: Record<string, never>;
    body: undefined;
    answer: { ok: boolean };
  };
  /** One user. */
  "GET /api/users/{user}": {
    path: { user: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; name: string; role: "chat" | "operator" | "owner" | "viewer"; hasPassword: boolean; createdAt: number; updatedAt: number };
  };
  /** Rename, or give another role. */
  "PATCH /api/users/{user}": {
    path: { user: string };
    query: Record<string, never>;
    body: { name?: string; role?: "chat" | "operator" | "owner" | "viewer" };
    answer: { id: string; name: string; role: "chat" | "operator" | "owner" | "viewer"; hasPassword: boolean; createdAt: number; updatedAt: number };
  };
  /** Make a login link for a user. */
  "POST /api/users/{user}/link": {
    path: { user: string };
    query: Record<string, never>;
    body: undefined;
    answer: { code: string; url: string; expiresAt: number };
  };
  /** Set a lost password anew, with an owner's key. */
  "PUT /api/users/{user}/password": {
    path: { user: string };
    query: Record<string, never>;
    body: { password: string };
    answer: { ok: boolean };
  };
  /** Variables by key. */
  "GET /api/variables": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string };
    body: undefined;
    answer: { items: { key: string; value: string; secret: boolean; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Remove a variable. */
  "DELETE /api/variables/{key}": {
    path: { key: string };
    query: Record<string, never>;
    body: undefined;
    answer: { ok: boolean };
  };
  /** One variable. */
  "GET /api/variables/{key}": {
    path: { key: string };
    query: Record<string, never>;
    body: undefined;
    answer: { key: string; value: string; secret: boolean; updatedAt: number };
  };
  /** Set a variable; a secret value is sealed. */
  "PUT /api/variables/{key}": {
    path: { key: string };
    query: Record<string, never>;
    body: { value: string; secret?: boolean };
    answer: { key: string; value: string; secret: boolean; updatedAt: number };
  };
  /** Web hooks, newest first. */
  "GET /api/webhooks": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string; agent?: string };
    body: undefined;
    answer: { items: { id: string; path: string; name: string; agent: string; preset: "github" | "plain" | "stripe"; template: string; platform: string; connector: string; channelId: string; thread: string; graph: string | null; enabled: boolean; url: string; secret: string; lastTriggered: number | null; triggerCount: number; createdAt: number; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Make a web hook; its secret is shown once. */
  "POST /api/webhooks": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { path: string; name?: string; agent: string; preset?: "github" | "plain" | "stripe"; template: string; platform: string; connector?: string; channelId: string; thread?: string; graph?: string | null; enabled?: boolean; secret?: string };
    answer: { id: string; path: string; name: string; agent: string; preset: "github" | "plain" | "stripe"; template: string; platform: string; connector: string; channelId: string; thread: string; graph: string | null; enabled: boolean; url: string; secret: string; lastTriggered: number | null; triggerCount: number; createdAt: number; updatedAt: number };
  };
  /** Remove a web hook. */
  "DELETE /api/webhooks/{webhook}": {
    path: { webhook: string };
    query: Record<string, never>;
    body: undefined;
    answer: { ok: boolean };
  };
  /** One web hook. */
  "GET /api/webhooks/{webhook}": {
    path: { webhook: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; path: string; name: string; agent: string; preset: "github" | "plain" | "stripe"; template: string; platform: string; connector: string; channelId: string; thread: string; graph: string | null; enabled: boolean; url: string; secret: string; lastTriggered: number | null; triggerCount: number; createdAt: number; updatedAt: number };
  };
  /** Change what the body names. */
  "PATCH /api/webhooks/{webhook}": {
    path: { webhook: string };
    query: Record<string, never>;
    body: { path?: string; name?: string; agent?: string; preset?: "github" | "plain" | "stripe"; template?: string; platform?: string; connector?: string; channelId?: string; thread?: string; graph?: string | null; enabled?: boolean; secret?: string };
    answer: { id: string; path: string; name: string; agent: string; preset: "github" | "plain" | "stripe"; template: string; platform: string; connector: string; channelId: string; thread: string; graph: string | null; enabled: boolean; url: string; secret: string; lastTriggered: number | null; triggerCount: number; createdAt: number; updatedAt: number };
  };
  /** Another secret, which is shown once. */
  "POST /api/webhooks/{webhook}/rotate": {
    path: { webhook: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; path: string; name: string; agent: string; preset: "github" | "plain" | "stripe"; template: string; platform: string; connector: string; channelId: string; thread: string; graph: string | null; enabled: boolean; url: string; secret: string; lastTriggered: number | null; triggerCount: number; createdAt: number; updatedAt: number };
  };
  /** Workflows, the newest first. */
  "GET /api/workflows": {
    path: Record<string, never>;
    query: { limit?: number; cursor?: string; q?: string; enabled?: boolean };
    body: undefined;
    answer: { items: { id: string; slug: string; name: string; description: string; enabled: boolean; version: number; runnable: number | null; problemCount: number; triggers: string[]; lastRun: { id: string; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; at: number } | null; liveRuns: number; createdAt: number; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Keep a new one. */
  "POST /api/workflows": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { name: string; slug?: string; description?: string; document?: Record<string, unknown>; draft?: boolean; note?: string; enabled?: boolean };
    answer: { id: string; slug: string; name: string; description: string; enabled: boolean; version: number; runnable: number | null; problemCount: number; triggers: string[]; lastRun: { id: string; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; at: number } | null; liveRuns: number; createdAt: number; updatedAt: number; document: Record<string, unknown>; note: string; problems: { node: string | null; connection: string | null; field: string | null; rule: string; severity: "error" | "warning"; message: string; fix: string }[] };
  };
  /** Workflows to begin with. */
  "GET /api/workflows/examples": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { items: { slug: string; name: string; description: string; document: Record<string, unknown> }[]; nextCursor: string | null };
  };
  /** Keep a new one of a text. */
  "POST /api/workflows/import": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { text: string; form?: "auto" | "json" | "yaml"; name?: string; slug?: string; description?: string; draft?: boolean; note?: string; enabled?: boolean };
    answer: { id: string; slug: string; name: string; description: string; enabled: boolean; version: number; runnable: number | null; problemCount: number; triggers: string[]; lastRun: { id: string; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; at: number } | null; liveRuns: number; createdAt: number; updatedAt: number; document: Record<string, unknown>; note: string; problems: { node: string | null; connection: string | null; field: string | null; rule: string; severity: "error" | "warning"; message: string; fix: string }[] };
  };
  /** The kinds of nodes and their fields. */
  "GET /api/workflows/kinds": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { kinds: { name: string; label: string; category: string; help: string; fields: { name: string; form: "choice" | "line" | "list" | "number" | "object" | "rows" | "switch" | "switches" | "text"; label: string; help: string; required: boolean; default: unknown; minimum: number | null; maximum: number | null; choices: string[]; hiddenChoices: string[]; fields: Record<string, unknown>[]; optionsFrom: string }[]; outputs: string[]; rowHandles: { field: string; prefix: string } | null; inputs: string[]; selectsOutput: boolean; isTrigger: boolean }[]; settings: { name: string; form: "choice" | "line" | "list" | "number" | "object" | "rows" | "switch" | "switches" | "text"; label: string; help: string; required: boolean; default: unknown; minimum: number | null; maximum: number | null; choices: string[]; hiddenChoices: string[]; fields: Record<string, unknown>[]; optionsFrom: string }[]; joins: { name: string; form: "choice" | "line" | "list" | "number" | "object" | "rows" | "switch" | "switches" | "text"; label: string; help: string; required: boolean; default: unknown; minimum: number | null; maximum: number | null; choices: string[]; hiddenChoices: string[]; fields: Record<string, unknown>[]; optionsFrom: string }[]; maxNodes: number; maxConnections: number; maxBytes: number };
  };
  /** The JSON schema of documents. */
  "GET /api/workflows/schema": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: Record<string, unknown>;
  };
  /** What is wrong with a document. */
  "POST /api/workflows/validate": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { document: Record<string, unknown> };
    answer: { document: Record<string, unknown>; problems: { node: string | null; connection: string | null; field: string | null; rule: string; severity: "error" | "warning"; message: string; fix: string }[]; runnable: boolean };
  };
  /** Remove it; runs that go on end by themselves. */
  "DELETE /api/workflows/{workflow}": {
    path: { workflow: string };
    query: Record<string, never>;
    body: undefined;
    answer: { ok: boolean };
  };
  /** One with its newest document, by id or slug. */
  "GET /api/workflows/{workflow}": {
    path: { workflow: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; slug: string; name: string; description: string; enabled: boolean; version: number; runnable: number | null; problemCount: number; triggers: string[]; lastRun: { id: string; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; at: number } | null; liveRuns: number; createdAt: number; updatedAt: number; document: Record<string, unknown>; note: string; problems: { node: string | null; connection: string | null; field: string | null; rule: string; severity: "error" | "warning"; message: string; fix: string }[] };
  };
  /** Change what the body names. */
  "PATCH /api/workflows/{workflow}": {
    path: { workflow: string };
    query: Record<string, never>;
    body: { name?: string; slug?: string; description?: string; document?: Record<string, unknown>; draft?: boolean; note?: string; enabled?: boolean; version?: number };
    answer: { id: string; slug: string; name: string; description: string; enabled: boolean; version: number; runnable: number | null; problemCount: number; triggers: string[]; lastRun: { id: string; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; at: number } | null; liveRuns: number; createdAt: number; updatedAt: number; document: Record<string, unknown>; note: string; problems: { node: string | null; connection: string | null; field: string | null; rule: string; severity: "error" | "warning"; message: string; fix: string }[] };
  };
  /** A document as a file. */
  "GET /api/workflows/{workflow}/export": {
    path: { workflow: string };
    query: { form?: "json" | "yaml"; version?: number };
    body: undefined;
    answer: string;
  };
  /** Its runs, the newest first. */
  "GET /api/workflows/{workflow}/runs": {
    path: { workflow: string };
    query: { limit?: number; cursor?: string; status?: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running" };
    body: undefined;
    answer: { items: { id: string; workflow: { id: string; slug: string; name: string }; version: number; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; waitingForInput: boolean; currentNodeId: string | null; source: string; entry: string; rerunOf: string | null; error: string | null; startedAt: number; endedAt: number | null; costUsd: number }[]; nextCursor: string | null };
  };
  /** Begin a run. */
  "POST /api/workflows/{workflow}/runs": {
    path: { workflow: string };
    query: Record<string, never>;
    body: { input?: unknown; version?: number; entry?: string };
    answer: { id: string; workflow: { id: string; slug: string; name: string }; version: number; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; waitingForInput: boolean; currentNodeId: string | null; source: string; entry: string; rerunOf: string | null; error: string | null; startedAt: number; endedAt: number | null; costUsd: number; questions: { id: string; executionId: string; kind: "approval" | "review" | "user"; prompt: string; choices: string[]; askedAt: number; expiresAt: number | null; answer: unknown; answeredBy: string | null; answeredAt: number | null; answeredByName: string | null; agent: string | null; person: string | null; messageId: string | null; conversationId: string | null; workflowId: string | null; platform: string | null; connector: string | null; channelId: string | null; approvers: string[]; canAnswer: boolean; tool: string | null; arguments: Record<string, unknown> | null; risk: ("egress" | "exec" | "money" | "read" | "write") | null; change: { text: string; hash: string } | null }[]; nodes: Record<string, { state: "cancelled" | "done" | "failed" | "running" | "skipped" | "waiting"; visits: number; output?: unknown; at?: number | null; tainted?: boolean; error?: string | null; retry?: { attempts: number; nextAt: number; reason: string }; warnings?: string[] }>; state: Record<string, unknown>; result: unknown; input: unknown; messageId: string | null; children: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; createdAt: number }[]; logs: { number: number; timestamp: number; nodeId: string; type: "branch_failed" | "error" | "escalated" | "input_received" | "join" | "llm_error" | "llm_response" | "logic_check" | "loop" | "run_end" | "start_prompt" | "step_end" | "step_start" | "subagent_call_end" | "subagent_call_error" | "subagent_call_start" | "timer" | "tool_call" | "tool_result" | "transfer" | "wait_input" | "warning"; content: string }[]; logsTotal: number };
  };
  /** Its versions, the newest first. */
  "GET /api/workflows/{workflow}/versions": {
    path: { workflow: string };
    query: { limit?: number; cursor?: string };
    body: undefined;
    answer: { items: { version: number; problemCount: number; note: string; by: string | null; at: number }[]; nextCursor: string | null };
  };
  /** One version with its document. */
  "GET /api/workflows/{workflow}/versions/{version}": {
    path: { workflow: string; version: string };
    query: Record<string, never>;
    body: undefined;
    answer: { version: number; problemCount: number; note: string; by: string | null; at: number; document: Record<string, unknown>; problems: { node: string | null; connection: string | null; field: string | null; rule: string; severity: "error" | "warning"; message: string; fix: string }[] };
  };
  /** A new version with the document of this one. */
  "POST /api/workflows/{workflow}/versions/{version}/restore": {
    path: { workflow: string; version: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; slug: string; name: string; description: string; enabled: boolean; version: number; runnable: number | null; problemCount: number; triggers: string[]; lastRun: { id: string; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; at: number } | null; liveRuns: number; createdAt: number; updatedAt: number; document: Record<string, unknown>; note: string; problems: { node: string | null; connection: string | null; field: string | null; rule: string; severity: "error" | "warning"; message: string; fix: string }[] };
  };
  /** The process is up. */
  "GET /health": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { status: string; version: string; eventLoop: { blocked: number; longestMs: number } };
  };
  /** A call of a web hook. */
  "POST /hooks/{path}": {
    path: { path: string };
    query: Record<string, never>;
    body: undefined;
    answer: { ok: boolean; id: string };
  };
  /** An event of a chat platform, signed by it; else a call of a web hook. */
  "POST /hooks/{platform}/{name}": {
    path: { platform: string; name: string };
    query: Record<string, never>;
    body: undefined;
    answer: unknown | { ok: boolean; id: string };
  };
  /** The Model Context Protocol (streamable HTTP, without sessions). */
  "POST /mcp": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: Record<string, unknown>;
    answer: Record<string, unknown> | unknown;
  };
  /** Figures as Prometheus text. */
  "GET /metrics": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: string;
  };
  /** This document. */
  "GET /openapi.json": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: Record<string, unknown>;
  };
  /** Everything is up. */
  "GET /ready": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { ready: boolean; roles: Record<string, boolean>; bots: Record<string, boolean>; database: boolean; disk: boolean; eventLoop: boolean };
  };
  /** Ask an agent the way OpenAI's clients do, whole or as a stream; docs/24-openai-compatible.md. */
  "POST /v1/chat/completions": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: { model: string; messages: { role: "assistant" | "developer" | "function" | "system" | "tool" | "user"; content?: unknown }[]; user?: string; stream?: boolean; stream_options?: { include_usage?: boolean } };
    answer: { id: string; object: "chat.completion"; created: number; model: string; choices: { index: number; message: { role: string; content: string; refusal: string | null }; logprobs: null; finish_reason: "length" | "stop" }[]; usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number } };
  };
  /** The agents that this key reaches, as models. */
  "GET /v1/models": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: { object: "list"; data: { id: string; object: "model"; created: number; owned_by: string }[] };
  };
  /** One agent as a model, if this key reaches it. */
  "GET /v1/models/{model}": {
    path: { model: string };
    query: Record<string, never>;
    body: undefined;
    answer: { id: string; object: "model"; created: number; owned_by: string };
  };
}
