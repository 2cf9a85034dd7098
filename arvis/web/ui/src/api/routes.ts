// Made from the table of routes by `python -m tests.fixtures.api_types`; not edited by hand.

/** All routes with the types of their response, and of their path, query and body if they have one. */
export interface Routes {
  /** List accounts, those of the configuration first. */
  "GET /api/accounts": {
    answer: { items: { id: string | null; name: string; provider: string; model: string; models: string[]; baseUrl: string | null; priority: number; api: ("chat" | "responses") | null; status: "active" | "disabled"; source: "configuration" | "product"; hasKey: boolean; problem: string | null; health: { model: string; cooldownUntil: number | null; kind: string; refusals: number }[] }[]; nextCursor: string | null };
  };
  /** Add an account. */
  "POST /api/accounts": {
    body: { provider: string; model?: string; models?: string[]; apiKey?: string; baseUrl?: string; priority?: number; api?: ("chat" | "responses") | null; status?: "active" | "disabled"; name: string };
    answer: { id: string | null; name: string; provider: string; model: string; models: string[]; baseUrl: string | null; priority: number; api: ("chat" | "responses") | null; status: "active" | "disabled"; source: "configuration" | "product"; hasKey: boolean; problem: string | null; health: { model: string; cooldownUntil: number | null; kind: string; refusals: number }[] };
  };
  /** Test an account that is not stored. */
  "POST /api/accounts/test": {
    body: { provider: string; model?: string; models?: string[]; apiKey?: string; baseUrl?: string; priority?: number; api?: ("chat" | "responses") | null; status?: "active" | "disabled"; name?: string };
    answer: { ok: boolean; provider: string | null; model: string; durationMs: number; error: string | null; fix: string | null; kind: ("auth" | "bad_request" | "empty" | "other" | "overloaded" | "quota" | "rate_limit" | "refused" | "timeout" | "too_long") | null; costUsd: number | null };
  };
  /** Remove an account of the database. */
  "DELETE /api/accounts/{account}": { path: { account: string }; answer: { ok: boolean } };
  /** Change an account of the database. */
  "PATCH /api/accounts/{account}": {
    path: { account: string };
    body: { provider?: string; model?: string; models?: string[]; apiKey?: string; baseUrl?: string; priority?: number; api?: ("chat" | "responses") | null; status?: "active" | "disabled" };
    answer: { id: string | null; name: string; provider: string; model: string; models: string[]; baseUrl: string | null; priority: number; api: ("chat" | "responses") | null; status: "active" | "disabled"; source: "configuration" | "product"; hasKey: boolean; problem: string | null; health: { model: string; cooldownUntil: number | null; kind: string; refusals: number }[] };
  };
  /** Test an account with a one-word request. */
  "POST /api/accounts/{account}/test": {
    path: { account: string };
    answer: { ok: boolean; provider: string | null; model: string; durationMs: number; error: string | null; fix: string | null; kind: ("auth" | "bad_request" | "empty" | "other" | "overloaded" | "quota" | "rate_limit" | "refused" | "timeout" | "too_long") | null; costUsd: number | null };
  };
  /** List running executions, then idle agents. */
  "GET /api/activity": {
    answer: { items: { agentId: string; agent: string; name: string; role: string; description: string; status: "idle" | "offline" | "running"; type: ("agent" | "heartbeat" | "schedule" | "webhook") | null; graph: string | null; executionId: string | null; platform: string | null; channelId: string | null; startedAt: number | null; lastActiveAt: number | null; statusNote: string | null; process: string | null }[] };
  };
  /** List agents in order of creation. */
  "GET /api/agents": {
    query: { status?: "active" | "archived" | "paused"; role?: string };
    answer: { items: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused" }[]; nextCursor: string | null };
  };
  /** Create an agent. */
  "POST /api/agents": {
    body: { name?: string; role?: string; description?: string; model?: string | null; graph?: string; prompt?: string; fallbacks?: string[]; tools?: string[]; completion?: "explicit" | "implicit"; contextTokens?: number | null; timezone?: string | null; allowUsers?: string[] | null; onNewMessage?: ("queue" | "restart" | "steer") | null; plugins?: string[]; helpers?: string[]; skills?: string[]; credentials?: string[]; knowledge?: string[]; effort?: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null; slug: string; bindings?: { platform: string; channel: string; permission?: "full" | "notify_only" | "read_only"; respond?: ("all" | "mention" | "never") | null; observe?: number | null }[] };
    answer: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; skills: string[]; credentials: string[]; knowledge: string[]; effort: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] };
  };
  /** Delete an agent; undo restores it. */
  "DELETE /api/agents/{agent}": {
    path: { agent: string };
    answer: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; skills: string[]; credentials: string[]; knowledge: string[]; effort: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] };
  };
  /** Show an agent, by id or slug. */
  "GET /api/agents/{agent}": {
    path: { agent: string };
    answer: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; skills: string[]; credentials: string[]; knowledge: string[]; effort: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] };
  };
  /** Change the fields in the body. */
  "PATCH /api/agents/{agent}": {
    path: { agent: string };
    query: { gate?: boolean };
    body: { name?: string; role?: string; description?: string; model?: string | null; graph?: string; prompt?: string; fallbacks?: string[]; tools?: string[]; completion?: "explicit" | "implicit"; contextTokens?: number | null; timezone?: string | null; allowUsers?: string[] | null; onNewMessage?: ("queue" | "restart" | "steer") | null; plugins?: string[]; helpers?: string[]; skills?: string[]; credentials?: string[]; knowledge?: string[]; effort?: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null };
    answer: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; skills: string[]; credentials: string[]; knowledge: string[]; effort: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] };
  };
  /** Remove it from a channel. */
  "DELETE /api/agents/{agent}/bindings": {
    path: { agent: string };
    query: { platform?: string; channel?: string };
    answer: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; skills: string[]; credentials: string[]; knowledge: string[]; effort: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] };
  };
  /** List the channels that it is bound to. */
  "GET /api/agents/{agent}/bindings": {
    path: { agent: string };
    answer: { items: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[]; nextCursor: string | null };
  };
  /** Bind it to a channel. */
  "POST /api/agents/{agent}/bindings": {
    path: { agent: string };
    body: { platform: string; channel: string; permission?: "full" | "notify_only" | "read_only"; respond?: ("all" | "mention" | "never") | null; observe?: number | null };
    answer: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; skills: string[]; credentials: string[]; knowledge: string[]; effort: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] };
  };
  /** Pause an agent, so that it answers no messages. */
  "POST /api/agents/{agent}/pause": {
    path: { agent: string };
    answer: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; skills: string[]; credentials: string[]; knowledge: string[]; effort: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] };
  };
  /** Resume an agent. */
  "POST /api/agents/{agent}/resume": {
    path: { agent: string };
    answer: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; skills: string[]; credentials: string[]; knowledge: string[]; effort: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] };
  };
  /** Its calls and costs of the last 7 and 30 days. */
  "GET /api/agents/{agent}/stats": {
    path: { agent: string };
    answer: { week: { calls: number; inputTokens: number; outputTokens: number; costUsd: number; errors: number }; month: { calls: number; inputTokens: number; outputTokens: number; costUsd: number; errors: number }; lastActive: number | null };
  };
  /** Restore the previous version. */
  "POST /api/agents/{agent}/undo": {
    path: { agent: string };
    query: { gate?: boolean };
    answer: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; skills: string[]; credentials: string[]; knowledge: string[]; effort: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] };
  };
  /** List its versions, newest first. */
  "GET /api/agents/{agent}/versions": {
    path: { agent: string };
    query: { limit?: number };
    answer: { items: { version: number; at: number; by: string; agent: { id: string; slug: string; name: string; role: string; description: string; model: string | null; graph: string; status: "active" | "archived" | "paused"; prompt: string; fallbacks: string[]; tools: string[]; completion: "explicit" | "implicit"; contextTokens: number | null; timezone: string | null; allowUsers: string[] | null; onNewMessage: ("queue" | "restart" | "steer") | null; plugins: string[]; helpers: string[]; skills: string[]; credentials: string[]; knowledge: string[]; effort: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null; bindings: { platform: string; channel: string; permission: "full" | "notify_only" | "read_only"; respond: ("all" | "mention" | "never") | null; observe: number | null }[] } }[]; nextCursor: string | null };
  };
  /** List failed logins, exports and changes that models proposed, newest first. */
  "GET /api/audit": {
    query: { limit?: number; cursor?: string; agent?: string; kind?: "create_agent" | "create_client" | "create_cron" | "create_heartbeat" | "credential_changed" | "credential_removed" | "delegate" | "delete_agent" | "delete_cron" | "delete_heartbeat" | "export" | "facts_merged" | "knowledge_changed" | "knowledge_removed" | "link" | "list_agents" | "list_clients" | "list_crons" | "list_heartbeats" | "login_failed" | "pause_agent" | "person_forgotten" | "remember" | "server_used_model" | "skill_imported" | "skill_removed" | "skill_trusted" | "state" | "tool_accepted" | "unlink" | "update_agent" | "update_cron" | "update_heartbeat" | "wrong_key"; outcome?: "asked" | "done" | "failed" | "refused" };
    answer: { items: { id: string; at: number; kind: "create_agent" | "create_client" | "create_cron" | "create_heartbeat" | "credential_changed" | "credential_removed" | "delegate" | "delete_agent" | "delete_cron" | "delete_heartbeat" | "export" | "facts_merged" | "knowledge_changed" | "knowledge_removed" | "link" | "list_agents" | "list_clients" | "list_crons" | "list_heartbeats" | "login_failed" | "pause_agent" | "person_forgotten" | "remember" | "server_used_model" | "skill_imported" | "skill_removed" | "skill_trusted" | "state" | "tool_accepted" | "unlink" | "update_agent" | "update_cron" | "update_heartbeat" | "wrong_key"; subject: string; fields: Record<string, unknown>; ordinal: number; agent: string; principalId: string | null; messageId: string | null; executionId: string | null; taint: string[]; outcome: "asked" | "done" | "failed" | "refused"; reason: string | null; report: string }[]; nextCursor: string | null };
  };
  /** Create a one-time login code. */
  "POST /api/auth/codes": { answer: { code: string; url: string; expiresAt: number } };
  /** Log in with a one-time code, or with a password. */
  "POST /api/auth/login": {
    body: { code?: string; user?: string; password?: string };
    answer: { userId: string; name: string; role: "chat" | "operator" | "owner" | "viewer"; channelId: string; hasPassword: boolean };
  };
  /** Log out. */
  "POST /api/auth/logout": { answer: { ok: boolean } };
  /** Show the caller's identity. */
  "GET /api/auth/me": {
    answer: { userId: string; name: string; role: "chat" | "operator" | "owner" | "viewer"; channelId: string; hasPassword: boolean };
  };
  /** Set the caller's password; their other logins end. */
  "PUT /api/auth/password": { body: { password: string; current?: string }; answer: { ok: boolean } };
  /** Show the caller's preferences. */
  "GET /api/auth/preferences": { answer: { timezone: string | null; language: string | null } };
  /** Change the caller's time zone or language. */
  "PATCH /api/auth/preferences": {
    body: { timezone?: string; language?: string };
    answer: { timezone: string | null; language: string | null };
  };
  /** List the caller's logins, newest first; an owner may name another user. */
  "GET /api/auth/sessions": {
    query: { limit?: number; cursor?: string; user?: string };
    answer: { items: { id: string; userId: string; device: string; createdAt: number; lastSeenAt: number; current: boolean }[]; nextCursor: string | null };
  };
  /** End a login. */
  "DELETE /api/auth/sessions/{session}": { path: { session: string }; answer: { ok: boolean } };
  /** Show whether password login is possible. */
  "GET /api/auth/state": { answer: { passwordLogin: boolean } };
  /** List the backups in the data folder, newest first. */
  "GET /api/backups": {
    answer: { items: { name: string; path: string; bytes: number; createdAt: number; migration: string | null; messages: number | null; missingAttachments: number; encrypted: boolean; uploaded: boolean }[]; nextCursor: string | null };
  };
  /** Create a backup; may take minutes. */
  "POST /api/backups": {
    answer: { name: string; path: string; bytes: number; createdAt: number; migration: string | null; messages: number | null; missingAttachments: number; encrypted: boolean; uploaded: boolean };
  };
  /** Show the last restore that was requested here. */
  "GET /api/backups/restore": {
    answer: { state: "done" | "failed" | "none" | "requested"; name: string | null; at: number | null; messages: number | null; aside: string | null; what: string; why: string; fix: string };
  };
  /** Upload a backup that was made elsewhere: the bytes of the file. */
  "POST /api/backups/uploads": {
    answer: { name: string; path: string; bytes: number; createdAt: number; migration: string | null; messages: number | null; missingAttachments: number; encrypted: boolean; uploaded: boolean };
  };
  /** Download a backup. */
  "GET /api/backups/{backup}/file": { path: { backup: string }; answer: string };
  /** Restart Arvis with the data of a backup. All logins end; the present database is moved aside. */
  "POST /api/backups/{backup}/restore": {
    path: { backup: string };
    answer: { state: "done" | "failed" | "none" | "requested"; name: string | null; at: number | null; messages: number | null; aside: string | null; what: string; why: string; fix: string };
  };
  /** List bots, those of the configuration first. */
  "GET /api/bots": {
    answer: { items: { platform: string; name: string; enabled: boolean; source: "configuration" | "product"; settings: Record<string, unknown>; secrets: string[]; state: "error" | "running" | "starting" | "stopped" | "waiting"; error: string | null; since: number | null; userId: string | null; userName: string | null }[]; nextCursor: string | null };
  };
  /** Add a bot. */
  "POST /api/bots": {
    body: { settings?: Record<string, unknown>; secrets?: Record<string, string>; enabled?: boolean; platform: string; name: string };
    answer: { platform: string; name: string; enabled: boolean; source: "configuration" | "product"; settings: Record<string, unknown>; secrets: string[]; state: "error" | "running" | "starting" | "stopped" | "waiting"; error: string | null; since: number | null; userId: string | null; userName: string | null };
  };
  /** Test a bot that is not stored. */
  "POST /api/bots/test": {
    body: { settings?: Record<string, unknown>; secrets?: Record<string, string>; enabled?: boolean; platform: string; name?: string };
    answer: { findings: { level: "error" | "ok" | "warning"; text: string; fix: string | null }[] };
  };
  /** Remove a bot of the database. */
  "DELETE /api/bots/{platform}/{name}": { path: { platform: string; name: string }; answer: { ok: boolean } };
  /** Show a bot. */
  "GET /api/bots/{platform}/{name}": {
    path: { platform: string; name: string };
    answer: { platform: string; name: string; enabled: boolean; source: "configuration" | "product"; settings: Record<string, unknown>; secrets: string[]; state: "error" | "running" | "starting" | "stopped" | "waiting"; error: string | null; since: number | null; userId: string | null; userName: string | null };
  };
  /** Change a bot of the database. */
  "PATCH /api/bots/{platform}/{name}": {
    path: { platform: string; name: string };
    body: { settings?: Record<string, unknown>; secrets?: Record<string, string>; enabled?: boolean };
    answer: { platform: string; name: string; enabled: boolean; source: "configuration" | "product"; settings: Record<string, unknown>; secrets: string[]; state: "error" | "running" | "starting" | "stopped" | "waiting"; error: string | null; since: number | null; userId: string | null; userName: string | null };
  };
  /** Restart a bot in the process that runs it. */
  "POST /api/bots/{platform}/{name}/restart": {
    path: { platform: string; name: string };
    answer: { platform: string; name: string; enabled: boolean; source: "configuration" | "product"; settings: Record<string, unknown>; secrets: string[]; state: "error" | "running" | "starting" | "stopped" | "waiting"; error: string | null; since: number | null; userId: string | null; userName: string | null };
  };
  /** Test a bot's setup on its platform. */
  "POST /api/bots/{platform}/{name}/test": {
    path: { platform: string; name: string };
    answer: { findings: { level: "error" | "ok" | "warning"; text: string; fix: string | null }[] };
  };
  /** List customers, newest first. */
  "GET /api/clients": {
    query: { limit?: number; cursor?: string };
    answer: { items: { id: string; name: string; plan: "monthly" | "per_task" | "prepaid"; status: "active" | "archived" | "paused"; pricePerTaskUsd: number; monthlyFeeUsd: number; tokenFactor: number; monthlyLimitUsd: number | null; notes: string; balanceUsd: number; createdAt: number; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Create a customer. */
  "POST /api/clients": {
    body: { name: string; plan?: "monthly" | "per_task" | "prepaid"; status?: "active" | "archived" | "paused"; pricePerTaskUsd?: number; monthlyFeeUsd?: number; tokenFactor?: number; monthlyLimitUsd?: number | null; notes?: string };
    answer: { id: string; name: string; plan: "monthly" | "per_task" | "prepaid"; status: "active" | "archived" | "paused"; pricePerTaskUsd: number; monthlyFeeUsd: number; tokenFactor: number; monthlyLimitUsd: number | null; notes: string; balanceUsd: number; createdAt: number; updatedAt: number; channels: { platform: string; channel: string }[] };
  };
  /** Show a customer with its channels. */
  "GET /api/clients/{client}": {
    path: { client: string };
    answer: { id: string; name: string; plan: "monthly" | "per_task" | "prepaid"; status: "active" | "archived" | "paused"; pricePerTaskUsd: number; monthlyFeeUsd: number; tokenFactor: number; monthlyLimitUsd: number | null; notes: string; balanceUsd: number; createdAt: number; updatedAt: number; channels: { platform: string; channel: string }[] };
  };
  /** Change the fields in the body. */
  "PATCH /api/clients/{client}": {
    path: { client: string };
    body: { name?: string; plan?: "monthly" | "per_task" | "prepaid"; status?: "active" | "archived" | "paused"; pricePerTaskUsd?: number; monthlyFeeUsd?: number; tokenFactor?: number; monthlyLimitUsd?: number | null; notes?: string };
    answer: { id: string; name: string; plan: "monthly" | "per_task" | "prepaid"; status: "active" | "archived" | "paused"; pricePerTaskUsd: number; monthlyFeeUsd: number; tokenFactor: number; monthlyLimitUsd: number | null; notes: string; balanceUsd: number; createdAt: number; updatedAt: number; channels: { platform: string; channel: string }[] };
  };
  /** Remove a channel from a customer. */
  "DELETE /api/clients/{client}/channels": {
    path: { client: string };
    query: { platform?: string; channel?: string };
    answer: { id: string; name: string; plan: "monthly" | "per_task" | "prepaid"; status: "active" | "archived" | "paused"; pricePerTaskUsd: number; monthlyFeeUsd: number; tokenFactor: number; monthlyLimitUsd: number | null; notes: string; balanceUsd: number; createdAt: number; updatedAt: number; channels: { platform: string; channel: string }[] };
  };
  /** Assign a channel to a customer. */
  "POST /api/clients/{client}/channels": {
    path: { client: string };
    body: { platform: string; channel: string };
    answer: { id: string; name: string; plan: "monthly" | "per_task" | "prepaid"; status: "active" | "archived" | "paused"; pricePerTaskUsd: number; monthlyFeeUsd: number; tokenFactor: number; monthlyLimitUsd: number | null; notes: string; balanceUsd: number; createdAt: number; updatedAt: number; channels: { platform: string; channel: string }[] };
  };
  /** List a customer's charges, newest first. */
  "GET /api/clients/{client}/charges": {
    path: { client: string };
    query: { limit?: number; cursor?: string };
    answer: { items: { id: string; type: "adjustment" | "payment" | "subscription" | "task"; status: "approved" | "disputed" | "paid" | "pending"; amountUsd: number; description: string; messageId: string | null; executionId: string | null; createdAt: number }[]; nextCursor: string | null };
  };
  /** Add a charge, which changes the balance. */
  "POST /api/clients/{client}/charges": {
    path: { client: string };
    body: { type: "adjustment" | "payment" | "subscription"; amountUsd: number; description?: string };
    answer: { id: string; type: "adjustment" | "payment" | "subscription" | "task"; status: "approved" | "disputed" | "paid" | "pending"; amountUsd: number; description: string; messageId: string | null; executionId: string | null; createdAt: number };
  };
  /** Change the status of a charge. */
  "PATCH /api/clients/{client}/charges/{charge}": {
    path: { client: string; charge: string };
    body: { status: "approved" | "disputed" | "paid" | "pending" };
    answer: { ok: boolean };
  };
  /** Show a customer's account for one month. */
  "GET /api/clients/{client}/summary": {
    path: { client: string };
    query: { month?: string; limit?: number; cursor?: string };
    answer: { month: string; chargedUsd: number; paidUsd: number; balanceUsd: number; items: { id: string; type: "adjustment" | "payment" | "subscription" | "task"; status: "approved" | "disputed" | "paid" | "pending"; amountUsd: number; description: string; messageId: string | null; executionId: string | null; createdAt: number }[]; nextCursor: string | null };
  };
  /** Restore the previous version. */
  "POST /api/clients/{client}/undo": {
    path: { client: string };
    answer: { id: string; name: string; plan: "monthly" | "per_task" | "prepaid"; status: "active" | "archived" | "paused"; pricePerTaskUsd: number; monthlyFeeUsd: number; tokenFactor: number; monthlyLimitUsd: number | null; notes: string; balanceUsd: number; createdAt: number; updatedAt: number; channels: { platform: string; channel: string }[] };
  };
  /** List conversations, last used first; with a chat key only the caller's own. */
  "GET /api/conversations": {
    query: { limit?: number; cursor?: string; agent?: string; platform?: string; channel?: string; thread?: string; q?: string };
    answer: { items: { id: string; agent: string; platform: string; connector: string; channelId: string; thread: string; turns: number; createdAt: number; lastMessageAt: number; open: boolean; title: string; preview: string; participants: number }[]; nextCursor: string | null };
  };
  /** Show a conversation. */
  "GET /api/conversations/{conversation}": {
    path: { conversation: string };
    answer: { id: string; agent: string; platform: string; connector: string; channelId: string; thread: string; turns: number; createdAt: number; lastMessageAt: number; open: boolean; title: string; preview: string; participants: number; messagesInContext: number; tokensInContext: number; summaries: number; summary: { id: string; summary: string; tokens: number; status: "active" | "final" | "restored" } | null; remembers: boolean };
  };
  /** Turn memory on or off in the channel of a conversation. */
  "PATCH /api/conversations/{conversation}": {
    path: { conversation: string };
    body: { remembers: boolean };
    answer: { id: string; agent: string; platform: string; connector: string; channelId: string; thread: string; turns: number; createdAt: number; lastMessageAt: number; open: boolean; title: string; preview: string; participants: number; messagesInContext: number; tokensInContext: number; summaries: number; summary: { id: string; summary: string; tokens: number; status: "active" | "final" | "restored" } | null; remembers: boolean };
  };
  /** Close a conversation, so that the next message starts a new one. */
  "POST /api/conversations/{conversation}/close": { path: { conversation: string }; answer: { ok: boolean } };
  /** Export a conversation as a file, with the messages that summaries replaced. */
  "GET /api/conversations/{conversation}/export": {
    path: { conversation: string };
    query: { format?: "json" | "markdown" };
    answer: string;
  };
  /** List the messages of a conversation, newest first; with a chat key only the caller's messages and the replies. */
  "GET /api/conversations/{conversation}/messages": {
    path: { conversation: string };
    query: { limit?: number; cursor?: string };
    answer: { items: { id: string; role: "assistant" | "notice" | "progress" | "user"; content: string; quotations: { kind: "forward" | "reply" | "thread"; writer: "agent" | "other" | "sender"; text: string; author: string; messageId: string | null; partial: boolean }[]; status: "accepted" | "answered" | "cancelled" | "dropped" | "expired" | "failed" | "queued" | "running" | "waiting"; reason: string | null; userName: string; replyTo: string | null; executionId: string | null; turn: number | null; source: string; taint: ("agents" | "files" | "flagged" | "people" | "tools")[]; attachments: { filename: string; contentType: string; size: number; state: "failed" | "stored" | "waiting"; kind: ("document" | "image" | "other" | "voice") | null; problem: string; url: string | null }[]; createdAt: number; agent: string | null; answeredBy: string | null; costUsd: number; files: { name: string; contentType: string; size: number; url: string }[]; buttons: { id: string; label: string; style: "danger" | "primary" | "secondary" | "success" }[]; delivery: ("expired" | "failed" | "pending" | "sending" | "sent" | "unknown") | null; question: { id: string; state: "answered" | "closed" | "expired" | "open"; decision: string | null; answeredAt: number | null } | null; feedback: { rating: "down" | "up"; userName: string; platform: string; userId: string; at: number }[]; versions: { id: string; active: boolean }[] }[]; nextCursor: string | null };
  };
  /** List the summaries of a conversation, newest first. */
  "GET /api/conversations/{conversation}/summaries": {
    path: { conversation: string };
    query: { limit?: number; cursor?: string };
    answer: { items: { id: string; conversationId: string; executionId: string; firstTurn: number; lastTurn: number; summary: string; tokens: number; taint: ("agents" | "files" | "flagged" | "people" | "tools")[]; messagesBefore: number; messagesAfter: number; tokensSaved: number; status: "active" | "final" | "restored"; createdAt: number }[]; nextCursor: string | null };
  };
  /** List the versions of a conversation, in the order in which they began. */
  "GET /api/conversations/{conversation}/versions": {
    path: { conversation: string };
    answer: { items: { id: string; conversationId: string; pointId: string; messageId: string; active: boolean; createdAt: number }[]; nextCursor: string | null };
  };
  /** Switch to a version of a conversation; the version that was active before is kept. */
  "POST /api/conversations/{conversation}/versions/{version}/activate": {
    path: { conversation: string; version: string };
    answer: { version: { id: string; conversationId: string; pointId: string; messageId: string; active: boolean; createdAt: number }; effects: { turns: number; sent: number; costUsd: number; effects: { executionId: string; name: string; detail: string; failed: boolean }[] } };
  };
  /** List credentials by name. */
  "GET /api/credentials": {
    answer: { items: { name: string; variable: string; hosts: string[]; header: string; template: string; agents: string[]; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Delete a credential. */
  "DELETE /api/credentials/{name}": { path: { name: string }; answer: { ok: boolean } };
  /** Show a credential. */
  "GET /api/credentials/{name}": {
    path: { name: string };
    answer: { name: string; variable: string; hosts: string[]; header: string; template: string; agents: string[]; updatedAt: number };
  };
  /** Create or change a credential. */
  "PUT /api/credentials/{name}": {
    path: { name: string };
    body: { variable: string; hosts: string[]; header?: string; template?: string };
    answer: { name: string; variable: string; hosts: string[]; header: string; template: string; agents: string[]; updatedAt: number };
  };
  /** Download a file of a reply, numbered from 0. */
  "GET /api/deliveries/{delivery}/files/{number}": { path: { delivery: string; number: string }; answer: string };
  /** Run `arvis doctor`. */
  "GET /api/doctor": {
    query: { security?: boolean };
    answer: { ok: boolean; at: number; items: { id: string; group: string; status: "fail" | "ok" | "warn"; what: string; why: string | null; fix: string | null }[]; nextCursor: string | null };
  };
  /** List erasures, newest first. */
  "GET /api/erasures": {
    query: { limit?: number; cursor?: string };
    answer: { items: { id: string; kind: "channel" | "person"; phase: "conversations" | "done" | "executions" | "files" | "find_executions" | "find_messages" | "index" | "jobs" | "logs" | "memory" | "messages" | "overheard" | "pages" | "people" | "quotations" | "receipts" | "stop"; counts: Record<string, number>; mentions: string[]; byId: string | null; createdAt: number; endedAt: number | null }[]; nextCursor: string | null };
  };
  /** Erase all content of people or of a channel. */
  "POST /api/erasures": {
    body: { people?: string[]; channel?: { platform: string; connector: string; channelId: string } };
    answer: { id: string; kind: "channel" | "person"; phase: "conversations" | "done" | "executions" | "files" | "find_executions" | "find_messages" | "index" | "jobs" | "logs" | "memory" | "messages" | "overheard" | "pages" | "people" | "quotations" | "receipts" | "stop"; counts: Record<string, number>; mentions: string[]; byId: string | null; createdAt: number; endedAt: number | null; backups: number };
  };
  /** Show the progress of an erasure. */
  "GET /api/erasures/{erasure}": {
    path: { erasure: string };
    answer: { id: string; kind: "channel" | "person"; phase: "conversations" | "done" | "executions" | "files" | "find_executions" | "find_messages" | "index" | "jobs" | "logs" | "memory" | "messages" | "overheard" | "pages" | "people" | "quotations" | "receipts" | "stop"; counts: Record<string, number>; mentions: string[]; byId: string | null; createdAt: number; endedAt: number | null; backups: number };
  };
  /** List evaluations, newest first. */
  "GET /api/evaluations": {
    query: { limit?: number; cursor?: string; suite?: string };
    answer: { items: { id: string; suite: string; status: "cancelled" | "done" | "failed" | "running" | "stopped"; problem: string | null; changes: Record<string, unknown>; count: number; passes: boolean; maxCostUsd: number | null; judge: string | null; totals: { cases: number; passed: number; costUsd: number; inputTokens: number; outputTokens: number; durationMs: number; recall: number[] | null }; createdAt: number; endedAt: number | null }[]; nextCursor: string | null };
  };
  /** Start the evaluation of a suite; `POST /api/executions/ID/cancel` cancels it. */
  "POST /api/evaluations": {
    body: { suite: string; changes?: { prompt?: string; model?: string | null; fallbacks?: string[]; effort?: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null; tools?: string[]; skills?: string[]; contextTokens?: number | null }; cases?: string[]; maxCostUsd?: number; judge?: string };
    answer: { id: string; suite: string; status: "cancelled" | "done" | "failed" | "running" | "stopped"; problem: string | null; changes: Record<string, unknown>; count: number; passes: boolean; maxCostUsd: number | null; judge: string | null; totals: { cases: number; passed: number; costUsd: number; inputTokens: number; outputTokens: number; durationMs: number; recall: number[] | null }; createdAt: number; endedAt: number | null };
  };
  /** Show an evaluation with its results. */
  "GET /api/evaluations/{evaluation}": {
    path: { evaluation: string };
    answer: { id: string; suite: string; status: "cancelled" | "done" | "failed" | "running" | "stopped"; problem: string | null; changes: Record<string, unknown>; count: number; passes: boolean; maxCostUsd: number | null; judge: string | null; totals: { cases: number; passed: number; costUsd: number; inputTokens: number; outputTokens: number; durationMs: number; recall: number[] | null }; createdAt: number; endedAt: number | null; results: { case: string; passed: boolean; reply: string; problem: string | null; checks: { expectation: string; passed: boolean; reason: string }[]; calls: string[]; unrecorded: string[]; actions: string[]; model: string; costUsd: number; inputTokens: number; outputTokens: number; durationMs: number; recall: number[] }[] };
  };
  /** Compare an evaluation with a later one of the same suite. */
  "GET /api/evaluations/{evaluation}/compare/{after}": {
    path: { evaluation: string; after: string };
    answer: { before: { id: string; suite: string; status: "cancelled" | "done" | "failed" | "running" | "stopped"; problem: string | null; changes: Record<string, unknown>; count: number; passes: boolean; maxCostUsd: number | null; judge: string | null; totals: { cases: number; passed: number; costUsd: number; inputTokens: number; outputTokens: number; durationMs: number; recall: number[] | null }; createdAt: number; endedAt: number | null }; after: { id: string; suite: string; status: "cancelled" | "done" | "failed" | "running" | "stopped"; problem: string | null; changes: Record<string, unknown>; count: number; passes: boolean; maxCostUsd: number | null; judge: string | null; totals: { cases: number; passed: number; costUsd: number; inputTokens: number; outputTokens: number; durationMs: number; recall: number[] | null }; createdAt: number; endedAt: number | null }; cases: { case: string; worse: boolean; before: { case: string; passed: boolean; reply: string; problem: string | null; checks: { expectation: string; passed: boolean; reason: string }[]; calls: string[]; unrecorded: string[]; actions: string[]; model: string; costUsd: number; inputTokens: number; outputTokens: number; durationMs: number; recall: number[] } | null; after: { case: string; passed: boolean; reply: string; problem: string | null; checks: { expectation: string; passed: boolean; reason: string }[]; calls: string[]; unrecorded: string[]; actions: string[]; model: string; costUsd: number; inputTokens: number; outputTokens: number; durationMs: number; recall: number[] } | null }[]; worse: number };
  };
  /** List executions, newest first. */
  "GET /api/executions": {
    query: { limit?: number; cursor?: string; status?: "cancelled" | "done" | "failed" | "paused" | "running"; graph?: string };
    answer: { items: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; agent: string | null; source: string; statusNote: string; error: string | null; createdAt: number; updatedAt: number; steps: number; costUsd: number }[]; nextCursor: string | null };
  };
  /** Show an execution with its steps. */
  "GET /api/executions/{execution}": {
    path: { execution: string };
    answer: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; agent: string | null; source: string; statusNote: string; error: string | null; createdAt: number; updatedAt: number; conversationId: string | null; outcome: string; plan: string | null; path: { number: number; node: string; decision: string; at: number; durationMs: number }[]; steps: { at: number; step: string; actor?: string | null; durationMs?: number | null; costUsd?: number; input?: unknown; output?: unknown }[]; costUsd: number; inputTokens: number; outputTokens: number; waits: { id: string; kind: string; prompt: string; askedAt: number; open: boolean }[]; children: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; agent: string | null; source: string; statusNote: string; error: string | null; createdAt: number; updatedAt: number; steps: number }[] };
  };
  /** Cancel an execution and its children. */
  "POST /api/executions/{execution}/cancel": {
    path: { execution: string };
    answer: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; agent: string | null; source: string; statusNote: string; error: string | null; createdAt: number; updatedAt: number; conversationId: string | null; outcome: string; plan: string | null; path: { number: number; node: string; decision: string; at: number; durationMs: number }[]; steps: { at: number; step: string; actor?: string | null; durationMs?: number | null; costUsd?: number; input?: unknown; output?: unknown }[]; costUsd: number; inputTokens: number; outputTokens: number; waits: { id: string; kind: string; prompt: string; askedAt: number; open: boolean }[]; children: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; agent: string | null; source: string; statusNote: string; error: string | null; createdAt: number; updatedAt: number; steps: number }[] };
  };
  /** Export records, or everything of a person or of a channel, as a file. */
  "GET /api/export": { query: { kinds?: string; person?: string; channel?: string }; answer: string };
  /** List graphs for agents. */
  "GET /api/graphs": {
    answer: { items: { name: "agent" | "code" | "handover" | "planning"; description: string }[]; nextCursor: string | null };
  };
  /** Import the file of an export. */
  "POST /api/import": {
    body: { archive: string; dryRun?: boolean; replace?: boolean };
    answer: { dryRun: boolean; source: string; counts: Record<string, number>; items: { kind: string; name: string; action: "create" | "skip" | "unchanged" | "update"; why: string }[]; asks: string[] };
  };
  /** List jobs, newest first. */
  "GET /api/jobs": {
    query: { limit?: number; cursor?: string; kind?: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status?: string; agent?: string; lane?: string };
    answer: { items: { id: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status: "cancelled" | "done" | "failed" | "pending" | "running"; lane: string; position: number; priority: number; attempts: number; crashes: number; runAt: number; error: string | null; reason: string | null; agent: string | null; messageId: string | null; executionId: string | null; deliveryId: string | null; mergedInto: string | null; createdAt: number; startedAt: number | null; finishedAt: number | null; subject: string; platform: string | null; connector: string | null; channelId: string | null; person: string | null }[]; nextCursor: string | null };
  };
  /** Retry, cancel or delete many jobs, by ids or by filter; each job separately. */
  "POST /api/jobs/bulk": {
    body: { action: "cancel" | "delete" | "retry"; ids?: string[]; filter?: { kind?: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status?: string; agent?: string; lane?: string }; cursor?: string };
    answer: { done: number; refused: { id: string; code: string; message: string }[]; remaining: number; nextCursor: string | null };
  };
  /** Delete a job that is neither running nor pending. */
  "DELETE /api/jobs/{job}": { path: { job: string }; answer: { ok: boolean } };
  /** Show a job with its payload. */
  "GET /api/jobs/{job}": {
    path: { job: string };
    answer: { id: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status: "cancelled" | "done" | "failed" | "pending" | "running"; lane: string; position: number; priority: number; attempts: number; crashes: number; runAt: number; error: string | null; reason: string | null; agent: string | null; messageId: string | null; executionId: string | null; deliveryId: string | null; mergedInto: string | null; createdAt: number; startedAt: number | null; finishedAt: number | null; subject: string; platform: string | null; connector: string | null; channelId: string | null; person: string | null; payload: Record<string, unknown> };
  };
  /** Cancel a pending or running job. */
  "POST /api/jobs/{job}/cancel": {
    path: { job: string };
    answer: { id: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status: "cancelled" | "done" | "failed" | "pending" | "running"; lane: string; position: number; priority: number; attempts: number; crashes: number; runAt: number; error: string | null; reason: string | null; agent: string | null; messageId: string | null; executionId: string | null; deliveryId: string | null; mergedInto: string | null; createdAt: number; startedAt: number | null; finishedAt: number | null; subject: string; platform: string | null; connector: string | null; channelId: string | null; person: string | null; payload: Record<string, unknown> };
  };
  /** Retry a failed job; with `content`, ask the agent again with a new text. */
  "POST /api/jobs/{job}/retry": {
    path: { job: string };
    body: { content?: string };
    answer: { id: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status: "cancelled" | "done" | "failed" | "pending" | "running"; lane: string; position: number; priority: number; attempts: number; crashes: number; runAt: number; error: string | null; reason: string | null; agent: string | null; messageId: string | null; executionId: string | null; deliveryId: string | null; mergedInto: string | null; createdAt: number; startedAt: number | null; finishedAt: number | null; subject: string; platform: string | null; connector: string | null; channelId: string | null; person: string | null; payload: Record<string, unknown> };
  };
  /** Show a job's timeline. */
  "GET /api/jobs/{job}/timeline": {
    path: { job: string };
    answer: { id: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status: "cancelled" | "done" | "failed" | "pending" | "running"; explanation: string; agent: string | null; subject: string; content: string | null; createdAt: number; steps: { at: number; step: string; actor?: string | null; durationMs?: number | null; costUsd?: number; input?: unknown; output?: unknown }[]; costUsd: number; inputTokens: number; outputTokens: number; messageId: string | null; executionId: string | null; deliveryId: string | null };
  };
  /** List the keys of the database, newest first. */
  "GET /api/keys": {
    query: { limit?: number; cursor?: string };
    answer: { items: { id: string; name: string; role: "chat" | "operator" | "owner" | "viewer"; agents: string[]; createdBy: string; createdAt: number; lastUsedAt: number | null }[]; nextCursor: string | null };
  };
  /** Create a key; it is shown once. */
  "POST /api/keys": {
    body: { name: string; role: "chat" | "operator" | "owner" | "viewer"; agents?: string[] };
    answer: { id: string; name: string; role: "chat" | "operator" | "owner" | "viewer"; agents: string[]; createdBy: string; createdAt: number; lastUsedAt: number | null; key: string };
  };
  /** Revoke a key immediately. */
  "DELETE /api/keys/{key}": { path: { key: string }; answer: { ok: boolean } };
  /** List knowledge bases by slug. */
  "GET /api/knowledge": {
    answer: { items: { slug: string; name: string; description: string; trusted: boolean; indexed: number; pending: number; failed: number; parts: number; agents: string[]; createdAt: number; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Create a knowledge base. */
  "POST /api/knowledge": {
    body: { slug: string; name?: string; description?: string; trusted?: boolean };
    answer: { slug: string; name: string; description: string; trusted: boolean; indexed: number; pending: number; failed: number; parts: number; agents: string[]; createdAt: number; updatedAt: number };
  };
  /** Delete a knowledge base with its documents. */
  "DELETE /api/knowledge/{slug}": { path: { slug: string }; answer: { ok: boolean } };
  /** Show a knowledge base. */
  "GET /api/knowledge/{slug}": {
    path: { slug: string };
    answer: { slug: string; name: string; description: string; trusted: boolean; indexed: number; pending: number; failed: number; parts: number; agents: string[]; createdAt: number; updatedAt: number };
  };
  /** Change a knowledge base. */
  "PATCH /api/knowledge/{slug}": {
    path: { slug: string };
    body: { name?: string; description?: string; trusted?: boolean };
    answer: { slug: string; name: string; description: string; trusted: boolean; indexed: number; pending: number; failed: number; parts: number; agents: string[]; createdAt: number; updatedAt: number };
  };
  /** List documents, newest first. */
  "GET /api/knowledge/{slug}/documents": {
    path: { slug: string };
    query: { limit?: number; cursor?: string; text?: string; status?: "failed" | "indexed" | "pending" };
    answer: { items: { id: string; kind: "file" | "folder" | "page"; location: string; title: string; contentType: string; size: number; status: "failed" | "indexed" | "pending" | "removed"; problem: string; parts: number; refresh: number | null; nextAt: number | null; checkedAt: number | null; indexedAt: number | null; createdAt: number; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Add a file or a web page, or replace the document with this name or address. */
  "POST /api/knowledge/{slug}/documents": {
    path: { slug: string };
    body: { name?: string; text?: string; file?: string; url?: string; title?: string; refresh?: number };
    answer: { id: string; kind: "file" | "folder" | "page"; location: string; title: string; contentType: string; size: number; status: "failed" | "indexed" | "pending" | "removed"; problem: string; parts: number; refresh: number | null; nextAt: number | null; checkedAt: number | null; indexedAt: number | null; createdAt: number; updatedAt: number };
  };
  /** Delete a document. */
  "DELETE /api/knowledge/{slug}/documents/{document}": {
    path: { slug: string; document: string };
    answer: { ok: boolean };
  };
  /** Show a document. */
  "GET /api/knowledge/{slug}/documents/{document}": {
    path: { slug: string; document: string };
    answer: { id: string; kind: "file" | "folder" | "page"; location: string; title: string; contentType: string; size: number; status: "failed" | "indexed" | "pending" | "removed"; problem: string; parts: number; refresh: number | null; nextAt: number | null; checkedAt: number | null; indexedAt: number | null; createdAt: number; updatedAt: number };
  };
  /** Change the title or the refresh of a document. */
  "PATCH /api/knowledge/{slug}/documents/{document}": {
    path: { slug: string; document: string };
    body: { title?: string; refresh?: number | null };
    answer: { id: string; kind: "file" | "folder" | "page"; location: string; title: string; contentType: string; size: number; status: "failed" | "indexed" | "pending" | "removed"; problem: string; parts: number; refresh: number | null; nextAt: number | null; checkedAt: number | null; indexedAt: number | null; createdAt: number; updatedAt: number };
  };
  /** Show the parts into which a document is divided. */
  "GET /api/knowledge/{slug}/documents/{document}/parts": {
    path: { slug: string; document: string };
    query: { position?: number };
    answer: { items: { mark: string; documentId: string; source: string; headings: string[]; page: number | null; text: string }[] };
  };
  /** Fetch or read a document again. */
  "POST /api/knowledge/{slug}/documents/{document}/refresh": {
    path: { slug: string; document: string };
    answer: { documents: number };
  };
  /** Fetch all pages and read all failed documents again. */
  "POST /api/knowledge/{slug}/refresh": { path: { slug: string }; answer: { documents: number } };
  /** Search a knowledge base, as agents do. */
  "GET /api/knowledge/{slug}/search": {
    path: { slug: string };
    query: { text?: string; limit?: number };
    answer: { items: { mark: string; documentId: string; source: string; headings: string[]; page: number | null; text: string; score: number; place: number | null; similarity: number | null }[] };
  };
  /** List log lines, newest first. */
  "GET /api/logs": {
    query: { limit?: number; cursor?: string; level?: "critical" | "debug" | "error" | "info" | "warning"; logger?: string; q?: string; since?: number; until?: number };
    answer: { items: { id: string; at: number | null; level: "critical" | "debug" | "error" | "info" | "warning"; logger: string; event: string; exception: string | null; fields: Record<string, unknown> }[]; nextCursor: string | null };
  };
  /** List the days that have a file. */
  "GET /api/logs/days": { answer: { items: { day: string; bytes: number }[]; nextCursor: string | null } };
  /** Download the file of a day. */
  "GET /api/logs/download": { query: { day?: string }; answer: string };
  /** List facts, newest first. */
  "GET /api/memory": {
    query: { limit?: number; cursor?: string; agent?: string; scope?: string; category?: "important_event" | "learned_pattern" | "project_context" | "sticky" | "user_preference"; status?: "active" | "deleted" | "ended" | "faded" | "superseded"; q?: string };
    answer: { items: { id: string; number: number; agent: string; scope: string; category: "important_event" | "learned_pattern" | "project_context" | "sticky" | "user_preference"; content: string; taint: string[]; authorId: string | null; messageId: string | null; executionId: string | null; confidence: number; status: "active" | "deleted" | "ended" | "faded" | "superseded"; supersededBy: string | null; accessedAt: number; accessCount: number; expiresAt: number | null; validFrom: number | null; validUntil: number | null; createdAt: number; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Add a fact to an agent's memory. */
  "POST /api/memory": {
    body: { agent: string; scope?: string; content: string; category?: "important_event" | "learned_pattern" | "project_context" | "sticky" | "user_preference"; expiresAt?: number; validFrom?: number; validUntil?: number };
    answer: { id: string; number: number; agent: string; scope: string; category: "important_event" | "learned_pattern" | "project_context" | "sticky" | "user_preference"; content: string; taint: string[]; authorId: string | null; messageId: string | null; executionId: string | null; confidence: number; status: "active" | "deleted" | "ended" | "faded" | "superseded"; supersededBy: string | null; accessedAt: number; accessCount: number; expiresAt: number | null; validFrom: number | null; validUntil: number | null; createdAt: number; updatedAt: number; outcome: string; previousId: string | null };
  };
  /** Delete a value. */
  "DELETE /api/memory/states": { query: { agent?: string; scope?: string; key?: string }; answer: { ok: boolean } };
  /** List values by agent, scope and key. */
  "GET /api/memory/states": {
    query: { limit?: number; cursor?: string; agent?: string; scope?: string };
    answer: { items: { agent: string; scope: string; key: string; value: string; taint: string[]; authorId: string | null; messageId: string | null; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Undo the newest change of a scope. */
  "POST /api/memory/undo": { body: { agent: string; scope?: string }; answer: { undone: string } };
  /** Delete a fact; undo restores it. */
  "DELETE /api/memory/{fact}": { path: { fact: string }; answer: { ok: boolean } };
  /** Show a fact and its changes. */
  "GET /api/memory/{fact}": {
    path: { fact: string };
    answer: { id: string; number: number; agent: string; scope: string; category: "important_event" | "learned_pattern" | "project_context" | "sticky" | "user_preference"; content: string; taint: string[]; authorId: string | null; messageId: string | null; executionId: string | null; confidence: number; status: "active" | "deleted" | "ended" | "faded" | "superseded"; supersededBy: string | null; accessedAt: number; accessCount: number; expiresAt: number | null; validFrom: number | null; validUntil: number | null; createdAt: number; updatedAt: number; changes: { id: string; change: string; replacedById: string | null; undoes: string | null; changedById: string; at: number }[]; replaces: { id: string; number: number; agent: string; scope: string; category: "important_event" | "learned_pattern" | "project_context" | "sticky" | "user_preference"; content: string; taint: string[]; authorId: string | null; messageId: string | null; executionId: string | null; confidence: number; status: "active" | "deleted" | "ended" | "faded" | "superseded"; supersededBy: string | null; accessedAt: number; accessCount: number; expiresAt: number | null; validFrom: number | null; validUntil: number | null; createdAt: number; updatedAt: number }[] };
  };
  /** Correct a fact, or set when it expires and when it is true. */
  "PATCH /api/memory/{fact}": {
    path: { fact: string };
    body: { content?: string; expiresAt?: number | null; validFrom?: number | null; validUntil?: number | null };
    answer: { id: string; number: number; agent: string; scope: string; category: "important_event" | "learned_pattern" | "project_context" | "sticky" | "user_preference"; content: string; taint: string[]; authorId: string | null; messageId: string | null; executionId: string | null; confidence: number; status: "active" | "deleted" | "ended" | "faded" | "superseded"; supersededBy: string | null; accessedAt: number; accessCount: number; expiresAt: number | null; validFrom: number | null; validUntil: number | null; createdAt: number; updatedAt: number; outcome: string; previousId: string | null };
  };
  /** Confirm a fact. */
  "POST /api/memory/{fact}/confirm": {
    path: { fact: string };
    answer: { id: string; number: number; agent: string; scope: string; category: "important_event" | "learned_pattern" | "project_context" | "sticky" | "user_preference"; content: string; taint: string[]; authorId: string | null; messageId: string | null; executionId: string | null; confidence: number; status: "active" | "deleted" | "ended" | "faded" | "superseded"; supersededBy: string | null; accessedAt: number; accessCount: number; expiresAt: number | null; validFrom: number | null; validUntil: number | null; createdAt: number; updatedAt: number; changes: { id: string; change: string; replacedById: string | null; undoes: string | null; changedById: string; at: number }[]; replaces: { id: string; number: number; agent: string; scope: string; category: "important_event" | "learned_pattern" | "project_context" | "sticky" | "user_preference"; content: string; taint: string[]; authorId: string | null; messageId: string | null; executionId: string | null; confidence: number; status: "active" | "deleted" | "ended" | "faded" | "superseded"; supersededBy: string | null; accessedAt: number; accessCount: number; expiresAt: number | null; validFrom: number | null; validUntil: number | null; createdAt: number; updatedAt: number }[] };
  };
  /** List messages of people, newest first. */
  "GET /api/messages": {
    query: { limit?: number; cursor?: string; status?: "accepted" | "answered" | "cancelled" | "dropped" | "expired" | "failed" | "queued" | "running" | "waiting"; agent?: string; platform?: string; conversation?: string; q?: string };
    answer: { items: { id: string; status: "accepted" | "answered" | "cancelled" | "dropped" | "expired" | "failed" | "queued" | "running" | "waiting"; reason: string | null; agent: string | null; userName: string; platform: string; connector: string; channelId: string; conversationId: string | null; executionId: string | null; preview: string; createdAt: number }[]; nextCursor: string | null };
  };
  /** Send a message; the response follows its commit. */
  "POST /api/messages": {
    body: { content?: string; agent?: string; id?: string; replyTo?: string; attachments?: { filename: string; contentType?: string; data: string; voice?: boolean }[]; effort?: "high" | "low" | "medium" | "minimal" | "none" | "xhigh"; replySchema?: Record<string, unknown>; userId?: string; userName?: string; channelId?: string };
    answer: { ok: boolean; messageId: string };
  };
  /** Show the timeline of a message. */
  "GET /api/messages/{message}": {
    path: { message: string };
    answer: { messageId: string; status: "accepted" | "answered" | "cancelled" | "dropped" | "expired" | "failed" | "queued" | "running" | "waiting"; explanation: string; reason: string | null; channelId: string; content: string; quotations: { kind: "forward" | "reply" | "thread"; writer: "agent" | "other" | "sender"; text: string; author: string; messageId: string | null; partial: boolean }[]; createdAt: number; reply: string | null; replyId: string | null; answers: string[]; feedback: { rating: "down" | "up"; userName: string; platform: string; userId: string; at: number }[]; steps: { at: number; step: string; actor?: string | null; durationMs?: number | null; costUsd?: number; input?: unknown; output?: unknown }[]; job: { id: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status: "cancelled" | "done" | "failed" | "pending" | "running"; lane: string; position: number; priority: number; attempts: number; crashes: number; runAt: number; error: string | null; reason: string | null; agent: string | null; messageId: string | null; executionId: string | null; deliveryId: string | null; mergedInto: string | null; createdAt: number; startedAt: number | null; finishedAt: number | null } | null; agent: string | null; run: string | null; costUsd: number; inputTokens: number; outputTokens: number };
  };
  /** Begin a conversation in another channel with copies of all messages up to the end of this message's turn. */
  "POST /api/messages/{message}/branch": {
    path: { message: string };
    body: { channelId?: string };
    answer: { conversationId: string; channelId: string; agent: string };
  };
  /** Replace the text of a person's message and answer it again, in a new version of the conversation. */
  "POST /api/messages/{message}/edit": {
    path: { message: string };
    body: { content: string };
    answer: { version: { id: string; conversationId: string; pointId: string; messageId: string; active: boolean; createdAt: number }; effects: { turns: number; sent: number; costUsd: number; effects: { executionId: string; name: string; detail: string; failed: boolean }[] } };
  };
  /** List the effects of a message's turn and of all later turns, which a rewind to the message does not undo. */
  "GET /api/messages/{message}/effects": {
    path: { message: string };
    answer: { turns: number; sent: number; costUsd: number; effects: { executionId: string; name: string; detail: string; failed: boolean }[] };
  };
  /** Remove your rating of a reply. */
  "DELETE /api/messages/{message}/feedback": { path: { message: string }; answer: { ok: boolean } };
  /** Rate a reply; a person has one rating of each reply. */
  "PUT /api/messages/{message}/feedback": {
    path: { message: string };
    body: { rating: "down" | "up" };
    answer: { ok: boolean };
  };
  /** Download an attachment of a message, numbered from 0. */
  "GET /api/messages/{message}/files/{number}": { path: { message: string; number: string }; answer: string };
  /** Answer the turn of a message or reply again, in a new version of the conversation. */
  "POST /api/messages/{message}/regenerate": {
    path: { message: string };
    answer: { version: { id: string; conversationId: string; pointId: string; messageId: string; active: boolean; createdAt: number }; effects: { turns: number; sent: number; costUsd: number; effects: { executionId: string; name: string; detail: string; failed: boolean }[] } };
  };
  /** Let the agent retry a message. */
  "POST /api/messages/{message}/retry": {
    path: { message: string };
    answer: { messageId: string; status: "accepted" | "answered" | "cancelled" | "dropped" | "expired" | "failed" | "queued" | "running" | "waiting"; explanation: string; reason: string | null; channelId: string; content: string; quotations: { kind: "forward" | "reply" | "thread"; writer: "agent" | "other" | "sender"; text: string; author: string; messageId: string | null; partial: boolean }[]; createdAt: number; reply: string | null; replyId: string | null; answers: string[]; feedback: { rating: "down" | "up"; userName: string; platform: string; userId: string; at: number }[]; steps: { at: number; step: string; actor?: string | null; durationMs?: number | null; costUsd?: number; input?: unknown; output?: unknown }[]; job: { id: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status: "cancelled" | "done" | "failed" | "pending" | "running"; lane: string; position: number; priority: number; attempts: number; crashes: number; runAt: number; error: string | null; reason: string | null; agent: string | null; messageId: string | null; executionId: string | null; deliveryId: string | null; mergedInto: string | null; createdAt: number; startedAt: number | null; finishedAt: number | null } | null; agent: string | null; run: string | null; costUsd: number; inputTokens: number; outputTokens: number };
  };
  /** Wait until the status is final or `waiting`, or for `timeout` seconds, then show the timeline. */
  "GET /api/messages/{message}/wait": {
    path: { message: string };
    query: { timeout?: number };
    answer: { messageId: string; status: "accepted" | "answered" | "cancelled" | "dropped" | "expired" | "failed" | "queued" | "running" | "waiting"; explanation: string; reason: string | null; channelId: string; content: string; quotations: { kind: "forward" | "reply" | "thread"; writer: "agent" | "other" | "sender"; text: string; author: string; messageId: string | null; partial: boolean }[]; createdAt: number; reply: string | null; replyId: string | null; answers: string[]; feedback: { rating: "down" | "up"; userName: string; platform: string; userId: string; at: number }[]; steps: { at: number; step: string; actor?: string | null; durationMs?: number | null; costUsd?: number; input?: unknown; output?: unknown }[]; job: { id: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status: "cancelled" | "done" | "failed" | "pending" | "running"; lane: string; position: number; priority: number; attempts: number; crashes: number; runAt: number; error: string | null; reason: string | null; agent: string | null; messageId: string | null; executionId: string | null; deliveryId: string | null; mergedInto: string | null; createdAt: number; startedAt: number | null; finishedAt: number | null } | null; agent: string | null; run: string | null; costUsd: number; inputTokens: number; outputTokens: number };
  };
  /** List known models. */
  "GET /api/models": {
    answer: { items: { name: string; provider: string; model: string; inputUsd: number | null; outputUsd: number | null; cachedUsd: number | null; contextWindow: number; vision: boolean; accounts: string[] }[]; nextCursor: string | null };
  };
  /** List the names that documents may use. */
  "GET /api/names": {
    query: { workflow?: string };
    answer: { agents: string[]; webSearchAgents: string[]; tools: string[]; servers: string[]; models: string[] | null; workflows: string[]; activeTriggers: string[] };
  };
  /** List notifications for owners, newest first. */
  "GET /api/notifications": {
    query: { limit?: number; cursor?: string; state?: "dismissed" | "open" | "resolved" };
    answer: { items: { id: string; cause: string; severity: "error" | "info" | "warning"; state: "dismissed" | "open" | "resolved"; text: string; hint: string; link: string | null; remedy: ("make_backup" | "restart_bot" | "retry_job") | null; subject: string | null; count: number; firstAt: number; lastAt: number; endedAt: number | null; endedBy: string | null }[]; nextCursor: string | null };
  };
  /** Dismiss an open notification; while its cause persists, it stays dismissed. */
  "POST /api/notifications/{notification}/dismiss": {
    path: { notification: string };
    answer: { id: string; cause: string; severity: "error" | "info" | "warning"; state: "dismissed" | "open" | "resolved"; text: string; hint: string; link: string | null; remedy: ("make_backup" | "restart_bot" | "retry_job") | null; subject: string | null; count: number; firstAt: number; lastAt: number; endedAt: number | null; endedBy: string | null };
  };
  /** Show running, waiting and failed work, and the latency of answers. */
  "GET /api/overview": {
    query: { span?: "day" | "hour" };
    answer: { at: number; day: string; costTodayUsd: number; budgetTodayUsd: number | null; counts: { running: number; pending: number; undelivered: number; failed: number; waiting: number; oldestReadyMs: number }; running: { jobId: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; since: number; agent: string | null; agentName: string | null; graph: string | null; messageId: string | null; executionId: string | null; conversationId: string | null; address: { platform: string; connector: string; channelId: string; thread: string } | null; activity: string; tool: string | null }[]; questions: { id: string; executionId: string; kind: "approval" | "input" | "review" | "user"; prompt: string; choices: string[]; askedAt: number; expiresAt: number | null; answer: unknown; answeredBy: string | null; answeredAt: number | null }[]; failures: { id: string; kind: "advance" | "compact" | "cron" | "deliver" | "heartbeat" | "message" | "webhook"; status: "cancelled" | "done" | "failed" | "pending" | "running"; lane: string; position: number; priority: number; attempts: number; crashes: number; runAt: number; error: string | null; reason: string | null; agent: string | null; messageId: string | null; executionId: string | null; deliveryId: string | null; mergedInto: string | null; createdAt: number; startedAt: number | null; finishedAt: number | null }[]; accounts: { name: string; provider: string; model: string; state: "cooldown" | "off" | "ok" | "problem"; cooldownUntil: number | null; error: string | null }[]; bots: { platform: string; name: string; enabled: boolean; state: "error" | "running" | "starting" | "stopped" | "waiting"; error: string | null; since: number | null }[]; series: { span: "day" | "hour"; bucketMs: number; points: { at: number; answered: number; failed: number; p50Ms: number | null; p95Ms: number | null; depth: number | null }[] } };
  };
  /** List pending pairing requests, newest first. */
  "GET /api/pairings": {
    query: { limit?: number; cursor?: string; pending?: boolean };
    answer: { items: { id: string; platform: string; connector: string; channelId: string; userId: string; userName: string; status: "approved" | "pending" | "rejected"; createdAt: number; expiresAt: number }[]; nextCursor: string | null };
  };
  /** Approve a pairing request. */
  "POST /api/pairings/approve": {
    body: { code: string };
    answer: { id: string; person: string; platform: string; userId: string; name: string; role: "blocked" | "member" | "operator" | "owner"; paired: boolean; pairedAt: number | null; timezone: string | null; language: string | null; createdAt: number; updatedAt: number };
  };
  /** Reject a pairing request. */
  "POST /api/pairings/reject": {
    body: { code?: string; id?: string };
    answer: { id: string; platform: string; connector: string; channelId: string; userId: string; userName: string; status: "approved" | "pending" | "rejected"; createdAt: number; expiresAt: number };
  };
  /** List people who have written, newest first. */
  "GET /api/people": {
    query: { limit?: number; cursor?: string; platform?: string; role?: "blocked" | "member" | "operator" | "owner"; paired?: boolean; q?: string };
    answer: { items: { id: string; person: string; platform: string; userId: string; name: string; role: "blocked" | "member" | "operator" | "owner"; paired: boolean; pairedAt: number | null; timezone: string | null; language: string | null; createdAt: number; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Show a person and the changes of their role. */
  "GET /api/people/{person}": {
    path: { person: string };
    answer: { id: string; person: string; platform: string; userId: string; name: string; role: "blocked" | "member" | "operator" | "owner"; paired: boolean; pairedAt: number | null; timezone: string | null; language: string | null; createdAt: number; updatedAt: number; identities: { id: string; platform: string; userId: string; name: string }[]; changes: { role: "blocked" | "member" | "operator" | "owner"; paired: boolean; by: string | null; at: number }[] };
  };
  /** Change a person's role, pairing, time zone or language. */
  "PATCH /api/people/{person}": {
    path: { person: string };
    body: { role?: "blocked" | "member" | "operator"; paired?: boolean; timezone?: string; language?: string };
    answer: { id: string; person: string; platform: string; userId: string; name: string; role: "blocked" | "member" | "operator" | "owner"; paired: boolean; pairedAt: number | null; timezone: string | null; language: string | null; createdAt: number; updatedAt: number; identities: { id: string; platform: string; userId: string; name: string }[]; changes: { role: "blocked" | "member" | "operator" | "owner"; paired: boolean; by: string | null; at: number }[] };
  };
  /** End the link of an identity. */
  "DELETE /api/people/{person}/link": {
    path: { person: string };
    answer: { id: string; person: string; platform: string; userId: string; name: string; role: "blocked" | "member" | "operator" | "owner"; paired: boolean; pairedAt: number | null; timezone: string | null; language: string | null; createdAt: number; updatedAt: number; identities: { id: string; platform: string; userId: string; name: string }[]; changes: { role: "blocked" | "member" | "operator" | "owner"; paired: boolean; by: string | null; at: number }[] };
  };
  /** Link another identity to a person. */
  "POST /api/people/{person}/link": {
    path: { person: string };
    body: { identity: string };
    answer: { id: string; person: string; platform: string; userId: string; name: string; role: "blocked" | "member" | "operator" | "owner"; paired: boolean; pairedAt: number | null; timezone: string | null; language: string | null; createdAt: number; updatedAt: number; identities: { id: string; platform: string; userId: string; name: string }[]; changes: { role: "blocked" | "member" | "operator" | "owner"; paired: boolean; by: string | null; at: number }[] };
  };
  /** Delete all facts and values about a person, of all agents, with their history. */
  "DELETE /api/people/{person}/memory": { path: { person: string }; answer: { facts: number; values: number } };
  /** List chat platforms. */
  "GET /api/platforms": {
    answer: { items: { name: string; title: string; description: string; steps: string[]; needs: { name: string; why: string }[]; fields: { name: string; label: string; help: string; kind: "boolean" | "choice" | "duration" | "integer" | "list" | "text"; secret: boolean; required: boolean; default: unknown; choices: string[] }[]; manifest: string | null; install: string | null }[]; nextCursor: string | null };
  };
  /** List plugins for agents. */
  "GET /api/plugins": {
    answer: { items: { name: string; description: string; builtIn: boolean; harmless: boolean }[]; nextCursor: string | null };
  };
  /** List projects, newest first. */
  "GET /api/projects": {
    query: { limit?: number; cursor?: string; agent?: string; status?: "active" | "done" | "paused" };
    answer: { items: { id: string; slug: string; agent: string | null; title: string; goal: string; status: "active" | "done" | "paused"; notes: string; createdAt: number; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Create a project. */
  "POST /api/projects": {
    body: { slug?: string; agent?: string | null; title: string; goal?: string; status?: "active" | "done" | "paused"; notes?: string };
    answer: { id: string; slug: string; agent: string | null; title: string; goal: string; status: "active" | "done" | "paused"; notes: string; createdAt: number; updatedAt: number };
  };
  /** Delete a project; undo by its id restores it. */
  "DELETE /api/projects/{project}": { path: { project: string }; answer: { ok: boolean } };
  /** Show a project. */
  "GET /api/projects/{project}": {
    path: { project: string };
    answer: { id: string; slug: string; agent: string | null; title: string; goal: string; status: "active" | "done" | "paused"; notes: string; createdAt: number; updatedAt: number };
  };
  /** Change the fields in the body. */
  "PATCH /api/projects/{project}": {
    path: { project: string };
    body: { slug?: string; agent?: string | null; title?: string; goal?: string; status?: "active" | "done" | "paused"; notes?: string };
    answer: { id: string; slug: string; agent: string | null; title: string; goal: string; status: "active" | "done" | "paused"; notes: string; createdAt: number; updatedAt: number };
  };
  /** Restore the previous version. */
  "POST /api/projects/{project}/undo": {
    path: { project: string };
    answer: { project: { id: string; slug: string; agent: string | null; title: string; goal: string; status: "active" | "done" | "paused"; notes: string; createdAt: number; updatedAt: number } | null };
  };
  /** List model vendors. */
  "GET /api/providers": {
    answer: { items: { name: string; title: string; description: string; key: "none" | "optional" | "required"; keySource: string | null; baseUrl: "none" | "optional" | "required"; defaultModel: string | null }[]; nextCursor: string | null };
  };
  /** List questions, newest first; with a chat key only those that the caller may answer. */
  "GET /api/questions": {
    query: { limit?: number; cursor?: string; open?: boolean; kind?: "approval" | "input" | "review" | "user"; agent?: string };
    answer: { items: { id: string; executionId: string; kind: "approval" | "input" | "review" | "user"; prompt: string; choices: string[]; askedAt: number; expiresAt: number | null; answer: unknown; answeredBy: string | null; answeredAt: number | null; answeredByName: string | null; agent: string | null; person: string | null; messageId: string | null; conversationId: string | null; workflowId: string | null; platform: string | null; connector: string | null; channelId: string | null; approvers: string[]; canAnswer: boolean; tool: string | null; arguments: Record<string, unknown> | null; risk: ("egress" | "exec" | "money" | "read" | "write") | null; change: { text: string; hash: string } | null; form: { server: string; kind: "form" | "model" | "page"; message: string; url: string; fields: { name: string; kind: "boolean" | "choice" | "choices" | "integer" | "number" | "text"; title: string; description: string; required: boolean; options: { value: string; title: string }[]; least: number | null; most: number | null; format: string }[]; values: Record<string, unknown> } | null }[]; nextCursor: string | null };
  };
  /** Show a question. */
  "GET /api/questions/{question}": {
    path: { question: string };
    answer: { id: string; executionId: string; kind: "approval" | "input" | "review" | "user"; prompt: string; choices: string[]; askedAt: number; expiresAt: number | null; answer: unknown; answeredBy: string | null; answeredAt: number | null; answeredByName: string | null; agent: string | null; person: string | null; messageId: string | null; conversationId: string | null; workflowId: string | null; platform: string | null; connector: string | null; channelId: string | null; approvers: string[]; canAnswer: boolean; tool: string | null; arguments: Record<string, unknown> | null; risk: ("egress" | "exec" | "money" | "read" | "write") | null; change: { text: string; hash: string } | null; form: { server: string; kind: "form" | "model" | "page"; message: string; url: string; fields: { name: string; kind: "boolean" | "choice" | "choices" | "integer" | "number" | "text"; title: string; description: string; required: boolean; options: { value: string; title: string }[]; least: number | null; most: number | null; format: string }[]; values: Record<string, unknown> } | null };
  };
  /** Answer a question; the first answer wins. */
  "POST /api/questions/{question}/answer": {
    path: { question: string };
    body: { decision: "accept" | "answer" | "approve" | "cancel" | "edit" | "feedback" | "reject"; note?: string; arguments?: Record<string, unknown>; text?: string };
    answer: { id: string; executionId: string; kind: "approval" | "input" | "review" | "user"; prompt: string; choices: string[]; askedAt: number; expiresAt: number | null; answer: unknown; answeredBy: string | null; answeredAt: number | null; answeredByName: string | null; agent: string | null; person: string | null; messageId: string | null; conversationId: string | null; workflowId: string | null; platform: string | null; connector: string | null; channelId: string | null; approvers: string[]; canAnswer: boolean; tool: string | null; arguments: Record<string, unknown> | null; risk: ("egress" | "exec" | "money" | "read" | "write") | null; change: { text: string; hash: string } | null; form: { server: string; kind: "form" | "model" | "page"; message: string; url: string; fields: { name: string; kind: "boolean" | "choice" | "choices" | "integer" | "number" | "text"; title: string; description: string; required: boolean; options: { value: string; title: string }[]; least: number | null; most: number | null; format: string }[]; values: Record<string, unknown> } | null };
  };
  /** List runs of all workflows, newest first. */
  "GET /api/runs": {
    query: { limit?: number; cursor?: string; status?: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; workflow?: string; source?: string };
    answer: { items: { id: string; workflow: { id: string; slug: string; name: string }; version: number; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; waitingForInput: boolean; currentNodeId: string | null; source: string; entry: string; rerunOf: string | null; error: string | null; startedAt: number; endedAt: number | null; costUsd: number }[]; nextCursor: string | null };
  };
  /** Show a run and its state. */
  "GET /api/runs/{run}": {
    path: { run: string };
    answer: { id: string; workflow: { id: string; slug: string; name: string }; version: number; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; waitingForInput: boolean; currentNodeId: string | null; source: string; entry: string; rerunOf: string | null; error: string | null; startedAt: number; endedAt: number | null; costUsd: number; questions: { id: string; executionId: string; kind: "approval" | "input" | "review" | "user"; prompt: string; choices: string[]; askedAt: number; expiresAt: number | null; answer: unknown; answeredBy: string | null; answeredAt: number | null; answeredByName: string | null; agent: string | null; person: string | null; messageId: string | null; conversationId: string | null; workflowId: string | null; platform: string | null; connector: string | null; channelId: string | null; approvers: string[]; canAnswer: boolean; tool: string | null; arguments: Record<string, unknown> | null; risk: ("egress" | "exec" | "money" | "read" | "write") | null; change: { text: string; hash: string } | null; form: { server: string; kind: "form" | "model" | "page"; message: string; url: string; fields: { name: string; kind: "boolean" | "choice" | "choices" | "integer" | "number" | "text"; title: string; description: string; required: boolean; options: { value: string; title: string }[]; least: number | null; most: number | null; format: string }[]; values: Record<string, unknown> } | null }[]; nodes: Record<string, { state: "cancelled" | "done" | "failed" | "running" | "skipped" | "waiting"; visits: number; output?: unknown; at?: number | null; tainted?: boolean; error?: string | null; retry?: { attempts: number; nextAt: number; reason: string }; warnings?: string[] }>; state: Record<string, unknown>; result: unknown; input: unknown; messageId: string | null; children: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; createdAt: number }[]; logs: { number: number; timestamp: number; nodeId: string; type: "branch_failed" | "error" | "escalated" | "input_received" | "join" | "llm_error" | "llm_response" | "logic_check" | "loop" | "run_end" | "start_prompt" | "step_end" | "step_start" | "subagent_call_end" | "subagent_call_error" | "subagent_call_start" | "timer" | "tool_call" | "tool_result" | "transfer" | "wait_input" | "warning"; content: string }[]; logsTotal: number };
  };
  /** Cancel a run and its child executions. */
  "POST /api/runs/{run}/cancel": {
    path: { run: string };
    answer: { id: string; workflow: { id: string; slug: string; name: string }; version: number; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; waitingForInput: boolean; currentNodeId: string | null; source: string; entry: string; rerunOf: string | null; error: string | null; startedAt: number; endedAt: number | null; costUsd: number; questions: { id: string; executionId: string; kind: "approval" | "input" | "review" | "user"; prompt: string; choices: string[]; askedAt: number; expiresAt: number | null; answer: unknown; answeredBy: string | null; answeredAt: number | null; answeredByName: string | null; agent: string | null; person: string | null; messageId: string | null; conversationId: string | null; workflowId: string | null; platform: string | null; connector: string | null; channelId: string | null; approvers: string[]; canAnswer: boolean; tool: string | null; arguments: Record<string, unknown> | null; risk: ("egress" | "exec" | "money" | "read" | "write") | null; change: { text: string; hash: string } | null; form: { server: string; kind: "form" | "model" | "page"; message: string; url: string; fields: { name: string; kind: "boolean" | "choice" | "choices" | "integer" | "number" | "text"; title: string; description: string; required: boolean; options: { value: string; title: string }[]; least: number | null; most: number | null; format: string }[]; values: Record<string, unknown> } | null }[]; nodes: Record<string, { state: "cancelled" | "done" | "failed" | "running" | "skipped" | "waiting"; visits: number; output?: unknown; at?: number | null; tainted?: boolean; error?: string | null; retry?: { attempts: number; nextAt: number; reason: string }; warnings?: string[] }>; state: Record<string, unknown>; result: unknown; input: unknown; messageId: string | null; children: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; createdAt: number }[]; logs: { number: number; timestamp: number; nodeId: string; type: "branch_failed" | "error" | "escalated" | "input_received" | "join" | "llm_error" | "llm_response" | "logic_check" | "loop" | "run_end" | "start_prompt" | "step_end" | "step_start" | "subagent_call_end" | "subagent_call_error" | "subagent_call_start" | "timer" | "tool_call" | "tool_result" | "transfer" | "wait_input" | "warning"; content: string }[]; logsTotal: number };
  };
  /** Show the document of a run's version. */
  "GET /api/runs/{run}/document": {
    path: { run: string };
    answer: { workflowId: string; version: number; document: Record<string, unknown> };
  };
  /** Follow a run as server-sent events: start, log, state, done, error. */
  "GET /api/runs/{run}/events": { path: { run: string }; query: { after?: number }; answer: string };
  /** List the log of a run, in order. */
  "GET /api/runs/{run}/log": {
    path: { run: string };
    query: { after?: number; limit?: number };
    answer: { items: { number: number; timestamp: number; nodeId: string; type: "branch_failed" | "error" | "escalated" | "input_received" | "join" | "llm_error" | "llm_response" | "logic_check" | "loop" | "run_end" | "start_prompt" | "step_end" | "step_start" | "subagent_call_end" | "subagent_call_error" | "subagent_call_start" | "timer" | "tool_call" | "tool_result" | "transfer" | "wait_input" | "warning"; content: string }[]; lastNumber: number; hasMore: boolean };
  };
  /** Run it again, from its entry or from a node. */
  "POST /api/runs/{run}/rerun": {
    path: { run: string };
    body: { node?: string; version?: "newest" | "same" };
    answer: { id: string; workflow: { id: string; slug: string; name: string }; version: number; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; waitingForInput: boolean; currentNodeId: string | null; source: string; entry: string; rerunOf: string | null; error: string | null; startedAt: number; endedAt: number | null; costUsd: number; questions: { id: string; executionId: string; kind: "approval" | "input" | "review" | "user"; prompt: string; choices: string[]; askedAt: number; expiresAt: number | null; answer: unknown; answeredBy: string | null; answeredAt: number | null; answeredByName: string | null; agent: string | null; person: string | null; messageId: string | null; conversationId: string | null; workflowId: string | null; platform: string | null; connector: string | null; channelId: string | null; approvers: string[]; canAnswer: boolean; tool: string | null; arguments: Record<string, unknown> | null; risk: ("egress" | "exec" | "money" | "read" | "write") | null; change: { text: string; hash: string } | null; form: { server: string; kind: "form" | "model" | "page"; message: string; url: string; fields: { name: string; kind: "boolean" | "choice" | "choices" | "integer" | "number" | "text"; title: string; description: string; required: boolean; options: { value: string; title: string }[]; least: number | null; most: number | null; format: string }[]; values: Record<string, unknown> } | null }[]; nodes: Record<string, { state: "cancelled" | "done" | "failed" | "running" | "skipped" | "waiting"; visits: number; output?: unknown; at?: number | null; tainted?: boolean; error?: string | null; retry?: { attempts: number; nextAt: number; reason: string }; warnings?: string[] }>; state: Record<string, unknown>; result: unknown; input: unknown; messageId: string | null; children: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; createdAt: number }[]; logs: { number: number; timestamp: number; nodeId: string; type: "branch_failed" | "error" | "escalated" | "input_received" | "join" | "llm_error" | "llm_response" | "logic_check" | "loop" | "run_end" | "start_prompt" | "step_end" | "step_start" | "subagent_call_end" | "subagent_call_error" | "subagent_call_start" | "timer" | "tool_call" | "tool_result" | "transfer" | "wait_input" | "warning"; content: string }[]; logsTotal: number };
  };
  /** Answer the oldest open approval of a run; the first answer wins. */
  "POST /api/runs/{run}/resume": {
    path: { run: string };
    body: { decision: "approve" | "reject"; note?: string };
    answer: { id: string; workflow: { id: string; slug: string; name: string }; version: number; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; waitingForInput: boolean; currentNodeId: string | null; source: string; entry: string; rerunOf: string | null; error: string | null; startedAt: number; endedAt: number | null; costUsd: number; questions: { id: string; executionId: string; kind: "approval" | "input" | "review" | "user"; prompt: string; choices: string[]; askedAt: number; expiresAt: number | null; answer: unknown; answeredBy: string | null; answeredAt: number | null; answeredByName: string | null; agent: string | null; person: string | null; messageId: string | null; conversationId: string | null; workflowId: string | null; platform: string | null; connector: string | null; channelId: string | null; approvers: string[]; canAnswer: boolean; tool: string | null; arguments: Record<string, unknown> | null; risk: ("egress" | "exec" | "money" | "read" | "write") | null; change: { text: string; hash: string } | null; form: { server: string; kind: "form" | "model" | "page"; message: string; url: string; fields: { name: string; kind: "boolean" | "choice" | "choices" | "integer" | "number" | "text"; title: string; description: string; required: boolean; options: { value: string; title: string }[]; least: number | null; most: number | null; format: string }[]; values: Record<string, unknown> } | null }[]; nodes: Record<string, { state: "cancelled" | "done" | "failed" | "running" | "skipped" | "waiting"; visits: number; output?: unknown; at?: number | null; tainted?: boolean; error?: string | null; retry?: { attempts: number; nextAt: number; reason: string }; warnings?: string[] }>; state: Record<string, unknown>; result: unknown; input: unknown; messageId: string | null; children: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; createdAt: number }[]; logs: { number: number; timestamp: number; nodeId: string; type: "branch_failed" | "error" | "escalated" | "input_received" | "join" | "llm_error" | "llm_response" | "logic_check" | "loop" | "run_end" | "start_prompt" | "step_end" | "step_start" | "subagent_call_end" | "subagent_call_error" | "subagent_call_start" | "timer" | "tool_call" | "tool_result" | "transfer" | "wait_input" | "warning"; content: string }[]; logsTotal: number };
  };
  /** List crons and heartbeats, newest first. */
  "GET /api/schedules": {
    query: { limit?: number; cursor?: string; kind?: "cron" | "heartbeat"; agent?: string; createdBy?: "api" | "tag" | "tool"; enabled?: boolean };
    answer: { items: { id: string; kind: "cron" | "heartbeat"; agent: string; name: string; schedule: string; timezone: string | null; prompt: string; platform: string; connector: string; channelId: string; thread: string; misfirePolicy: "all" | "once" | "skip"; misfireGraceMs: number | null; graph: string | null; maxIterations: number; model: string | null; effort: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null; script: Record<string, unknown> | null; enabled: boolean; createdBy: "api" | "tag" | "tool"; failures: number; pausedUntil: number | null; lastRun: number | null; nextRun: number | null; createdAt: number; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Create a cron or heartbeat. */
  "POST /api/schedules": {
    body: { name?: string; schedule: string; timezone?: string | null; prompt?: string; platform: string; connector?: string | null; channelId: string; thread?: string | null; misfirePolicy?: "all" | "once" | "skip"; misfireGraceMs?: number | null; graph?: string | null; maxIterations?: number; model?: string | null; effort?: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null; script?: Record<string, unknown> | null; enabled?: boolean; kind: "cron" | "heartbeat"; agent: string };
    answer: { id: string; kind: "cron" | "heartbeat"; agent: string; name: string; schedule: string; timezone: string | null; prompt: string; platform: string; connector: string; channelId: string; thread: string; misfirePolicy: "all" | "once" | "skip"; misfireGraceMs: number | null; graph: string | null; maxIterations: number; model: string | null; effort: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null; script: Record<string, unknown> | null; enabled: boolean; createdBy: "api" | "tag" | "tool"; failures: number; pausedUntil: number | null; lastRun: number | null; nextRun: number | null; createdAt: number; updatedAt: number; nextRuns: number[] };
  };
  /** Delete a schedule; undo restores it. */
  "DELETE /api/schedules/{schedule}": { path: { schedule: string }; answer: { ok: boolean } };
  /** Show a schedule with its next five times. */
  "GET /api/schedules/{schedule}": {
    path: { schedule: string };
    answer: { id: string; kind: "cron" | "heartbeat"; agent: string; name: string; schedule: string; timezone: string | null; prompt: string; platform: string; connector: string; channelId: string; thread: string; misfirePolicy: "all" | "once" | "skip"; misfireGraceMs: number | null; graph: string | null; maxIterations: number; model: string | null; effort: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null; script: Record<string, unknown> | null; enabled: boolean; createdBy: "api" | "tag" | "tool"; failures: number; pausedUntil: number | null; lastRun: number | null; nextRun: number | null; createdAt: number; updatedAt: number; nextRuns: number[] };
  };
  /** Change the fields in the body. */
  "PATCH /api/schedules/{schedule}": {
    path: { schedule: string };
    body: { name?: string; schedule?: string; timezone?: string | null; prompt?: string; platform?: string; connector?: string | null; channelId?: string; thread?: string | null; misfirePolicy?: "all" | "once" | "skip"; misfireGraceMs?: number | null; graph?: string | null; maxIterations?: number; model?: string | null; effort?: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null; script?: Record<string, unknown> | null; enabled?: boolean };
    answer: { id: string; kind: "cron" | "heartbeat"; agent: string; name: string; schedule: string; timezone: string | null; prompt: string; platform: string; connector: string; channelId: string; thread: string; misfirePolicy: "all" | "once" | "skip"; misfireGraceMs: number | null; graph: string | null; maxIterations: number; model: string | null; effort: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null; script: Record<string, unknown> | null; enabled: boolean; createdBy: "api" | "tag" | "tool"; failures: number; pausedUntil: number | null; lastRun: number | null; nextRun: number | null; createdAt: number; updatedAt: number; nextRuns: number[] };
  };
  /** Run a schedule now; its times do not change. */
  "POST /api/schedules/{schedule}/run": {
    path: { schedule: string };
    answer: { id: string; dueAt: number; cause: "condition" | "due" | "manual" | "missed"; status: "blocked" | "cancelled" | "done" | "failed" | "idle" | "running" | "silent" | "skipped"; report: string; executionId: string | null; createdAt: number; endedAt: number | null };
  };
  /** List its occurrences, newest first. */
  "GET /api/schedules/{schedule}/runs": {
    path: { schedule: string };
    query: { limit?: number; cursor?: string };
    answer: { items: { id: string; dueAt: number; cause: "condition" | "due" | "manual" | "missed"; status: "blocked" | "cancelled" | "done" | "failed" | "idle" | "running" | "silent" | "skipped"; report: string; executionId: string | null; createdAt: number; endedAt: number | null }[]; nextCursor: string | null };
  };
  /** Restore the previous version. */
  "POST /api/schedules/{schedule}/undo": {
    path: { schedule: string };
    answer: { schedule: { id: string; kind: "cron" | "heartbeat"; agent: string; name: string; schedule: string; timezone: string | null; prompt: string; platform: string; connector: string; channelId: string; thread: string; misfirePolicy: "all" | "once" | "skip"; misfireGraceMs: number | null; graph: string | null; maxIterations: number; model: string | null; effort: ("high" | "low" | "medium" | "minimal" | "none" | "xhigh") | null; script: Record<string, unknown> | null; enabled: boolean; createdBy: "api" | "tag" | "tool"; failures: number; pausedUntil: number | null; lastRun: number | null; nextRun: number | null; createdAt: number; updatedAt: number; nextRuns: number[] } | null };
  };
  /** Show the effective configuration and its sources. */
  "GET /api/settings": {
    answer: { items: { key: string; section: string; kind: "boolean" | "choice" | "duration" | "integer" | "list" | "mapping" | "number" | "secret" | "text"; choices: string[]; minimum: number | null; maximum: number | null; nullable: boolean; value: unknown; default: unknown; description: string; source: "default" | "environment" | "file" | "product"; location: string | null; changeable: boolean; reason: string | null; appliesImmediately: boolean; pending: boolean; nextValue: unknown; problem: string | null }[]; nextCursor: string | null; needsRestart: string[]; file: string | null; problem: string | null; conductor: { id: string; slug: string; name: string } | null };
  };
  /** Change settings. */
  "PATCH /api/settings": {
    body: { changes: Record<string, unknown> };
    answer: { items: { key: string; section: string; kind: "boolean" | "choice" | "duration" | "integer" | "list" | "mapping" | "number" | "secret" | "text"; choices: string[]; minimum: number | null; maximum: number | null; nullable: boolean; value: unknown; default: unknown; description: string; source: "default" | "environment" | "file" | "product"; location: string | null; changeable: boolean; reason: string | null; appliesImmediately: boolean; pending: boolean; nextValue: unknown; problem: string | null }[]; nextCursor: string | null; needsRestart: string[]; file: string | null; problem: string | null; conductor: { id: string; slug: string; name: string } | null };
  };
  /** Undo the last change. */
  "POST /api/settings/undo": {
    answer: { items: { key: string; section: string; kind: "boolean" | "choice" | "duration" | "integer" | "list" | "mapping" | "number" | "secret" | "text"; choices: string[]; minimum: number | null; maximum: number | null; nullable: boolean; value: unknown; default: unknown; description: string; source: "default" | "environment" | "file" | "product"; location: string | null; changeable: boolean; reason: string | null; appliesImmediately: boolean; pending: boolean; nextValue: unknown; problem: string | null }[]; nextCursor: string | null; needsRestart: string[]; file: string | null; problem: string | null; conductor: { id: string; slug: string; name: string } | null };
  };
  /** List the changes made here, newest first. */
  "GET /api/settings/versions": {
    query: { limit?: number };
    answer: { items: { version: number; at: number; by: string | null; values: Record<string, unknown> }[]; nextCursor: string | null };
  };
  /** Show the progress of the first setup. */
  "GET /api/setup": {
    answer: { hasPassword: boolean; hasAccount: boolean; hasOwnAgent: boolean; hasBot: boolean; hasReply: boolean; dismissed: boolean; done: boolean };
  };
  /** Dismiss the first setup. */
  "POST /api/setup/dismiss": { answer: { ok: boolean } };
  /** List skills by slug. */
  "GET /api/skills": {
    answer: { items: { slug: string; name: string; description: string; category: string; author: string; version: string; requiredTools: string[]; source: "built_in" | "folder" | "imported"; warnings: string[]; enabled: boolean; trusted: boolean; changed: boolean; origin: string; hash: string }[]; nextCursor: string | null; problems: string[] };
  };
  /** Import a skill. */
  "POST /api/skills": {
    body: { text?: string; url?: string; archive?: string; git?: string; directory?: string; replace?: boolean; expectedHash?: string };
    answer: { slug: string; name: string; description: string; category: string; author: string; version: string; requiredTools: string[]; source: "built_in" | "folder" | "imported"; warnings: string[]; enabled: boolean; trusted: boolean; changed: boolean; origin: string; hash: string; keywords: string[]; patterns: string[]; license: string; compatibility: string; allowedTools: string[]; files: { path: string; size: number }[]; remarks: { path: string; line: number; text: string; excerpt: string }[]; body: string; text: string };
  };
  /** Read a skill without storing it. */
  "POST /api/skills/test": {
    body: { text?: string; url?: string; archive?: string; git?: string; directory?: string };
    answer: { skill: { slug: string; name: string; description: string; category: string; author: string; version: string; requiredTools: string[]; source: "built_in" | "folder" | "imported"; warnings: string[]; enabled: boolean; trusted: boolean; changed: boolean; origin: string; hash: string; keywords: string[]; patterns: string[]; license: string; compatibility: string; allowedTools: string[]; files: { path: string; size: number }[]; remarks: { path: string; line: number; text: string; excerpt: string }[]; body: string; text: string }; replaces: ("built_in" | "folder" | "imported") | null };
  };
  /** Delete an imported skill. */
  "DELETE /api/skills/{slug}": { path: { slug: string }; answer: { ok: boolean } };
  /** Show a skill with its text. */
  "GET /api/skills/{slug}": {
    path: { slug: string };
    answer: { slug: string; name: string; description: string; category: string; author: string; version: string; requiredTools: string[]; source: "built_in" | "folder" | "imported"; warnings: string[]; enabled: boolean; trusted: boolean; changed: boolean; origin: string; hash: string; keywords: string[]; patterns: string[]; license: string; compatibility: string; allowedTools: string[]; files: { path: string; size: number }[]; remarks: { path: string; line: number; text: string; excerpt: string }[]; body: string; text: string };
  };
  /** Change, enable or disable a skill. */
  "PATCH /api/skills/{slug}": {
    path: { slug: string };
    body: { enabled?: boolean; text?: string };
    answer: { slug: string; name: string; description: string; category: string; author: string; version: string; requiredTools: string[]; source: "built_in" | "folder" | "imported"; warnings: string[]; enabled: boolean; trusted: boolean; changed: boolean; origin: string; hash: string; keywords: string[]; patterns: string[]; license: string; compatibility: string; allowedTools: string[]; files: { path: string; size: number }[]; remarks: { path: string; line: number; text: string; excerpt: string }[]; body: string; text: string };
  };
  /** Show a file of a skill. */
  "GET /api/skills/{slug}/file": {
    path: { slug: string };
    query: { path?: string };
    answer: { path: string; size: number; text: string | null };
  };
  /** Trust the content of an imported skill. */
  "POST /api/skills/{slug}/trust": {
    path: { slug: string };
    body: { hash: string };
    answer: { slug: string; name: string; description: string; category: string; author: string; version: string; requiredTools: string[]; source: "built_in" | "folder" | "imported"; warnings: string[]; enabled: boolean; trusted: boolean; changed: boolean; origin: string; hash: string; keywords: string[]; patterns: string[]; license: string; compatibility: string; allowedTools: string[]; files: { path: string; size: number }[]; remarks: { path: string; line: number; text: string; excerpt: string }[]; body: string; text: string };
  };
  /** Restore the previous text. */
  "POST /api/skills/{slug}/undo": {
    path: { slug: string };
    answer: { skill: { slug: string; name: string; description: string; category: string; author: string; version: string; requiredTools: string[]; source: "built_in" | "folder" | "imported"; warnings: string[]; enabled: boolean; trusted: boolean; changed: boolean; origin: string; hash: string; keywords: string[]; patterns: string[]; license: string; compatibility: string; allowedTools: string[]; files: { path: string; size: number }[]; remarks: { path: string; line: number; text: string; excerpt: string }[]; body: string; text: string } | null };
  };
  /** List suites of cases by name. */
  "GET /api/suites": {
    answer: { items: { name: string; agent: string; gate: boolean; cases: number; createdAt: number; last: { id: string; suite: string; status: "cancelled" | "done" | "failed" | "running" | "stopped"; problem: string | null; changes: Record<string, unknown>; count: number; passes: boolean; maxCostUsd: number | null; judge: string | null; totals: { cases: number; passed: number; costUsd: number; inputTokens: number; outputTokens: number; durationMs: number; recall: number[] | null }; createdAt: number; endedAt: number | null } | null }[]; nextCursor: string | null };
  };
  /** Create a suite for an agent. */
  "POST /api/suites": {
    body: { name: string; agent: string };
    answer: { name: string; agent: string; gate: boolean; cases: number; createdAt: number; last: { id: string; suite: string; status: "cancelled" | "done" | "failed" | "running" | "stopped"; problem: string | null; changes: Record<string, unknown>; count: number; passes: boolean; maxCostUsd: number | null; judge: string | null; totals: { cases: number; passed: number; costUsd: number; inputTokens: number; outputTokens: number; durationMs: number; recall: number[] | null }; createdAt: number; endedAt: number | null } | null; items: { name: string; kind: "retrieval" | "turn"; question: string; expectations: string[]; calls: number; updatedAt: number }[] };
  };
  /** Delete a suite with its cases and results. */
  "DELETE /api/suites/{suite}": { path: { suite: string }; answer: { ok: boolean } };
  /** Show a suite with its cases. */
  "GET /api/suites/{suite}": {
    path: { suite: string };
    answer: { name: string; agent: string; gate: boolean; cases: number; createdAt: number; last: { id: string; suite: string; status: "cancelled" | "done" | "failed" | "running" | "stopped"; problem: string | null; changes: Record<string, unknown>; count: number; passes: boolean; maxCostUsd: number | null; judge: string | null; totals: { cases: number; passed: number; costUsd: number; inputTokens: number; outputTokens: number; durationMs: number; recall: number[] | null }; createdAt: number; endedAt: number | null } | null; items: { name: string; kind: "retrieval" | "turn"; question: string; expectations: string[]; calls: number; updatedAt: number }[] };
  };
  /** Require that changed prompts pass the suite, or stop requiring it. */
  "PATCH /api/suites/{suite}": {
    path: { suite: string };
    body: { gate: boolean };
    answer: { name: string; agent: string; gate: boolean; cases: number; createdAt: number; last: { id: string; suite: string; status: "cancelled" | "done" | "failed" | "running" | "stopped"; problem: string | null; changes: Record<string, unknown>; count: number; passes: boolean; maxCostUsd: number | null; judge: string | null; totals: { cases: number; passed: number; costUsd: number; inputTokens: number; outputTokens: number; durationMs: number; recall: number[] | null }; createdAt: number; endedAt: number | null } | null; items: { name: string; kind: "retrieval" | "turn"; question: string; expectations: string[]; calls: number; updatedAt: number }[] };
  };
  /** Add a case from its document. */
  "POST /api/suites/{suite}/cases": {
    path: { suite: string };
    body: { document: Record<string, unknown>; replace?: boolean };
    answer: { name: string; kind: "retrieval" | "turn"; question: string; expectations: string[]; calls: number; updatedAt: number; document: Record<string, unknown> };
  };
  /** Delete a case with its results. */
  "DELETE /api/suites/{suite}/cases/{case}": { path: { suite: string; case: string }; answer: { ok: boolean } };
  /** Show a case with its document. */
  "GET /api/suites/{suite}/cases/{case}": {
    path: { suite: string; case: string };
    answer: { name: string; kind: "retrieval" | "turn"; question: string; expectations: string[]; calls: number; updatedAt: number; document: Record<string, unknown> };
  };
  /** Record an answered turn as a case. */
  "POST /api/suites/{suite}/record": {
    path: { suite: string };
    body: { message: string; name?: string; expect?: Record<string, unknown>[]; replace?: boolean };
    answer: { name: string; kind: "retrieval" | "turn"; question: string; expectations: string[]; calls: number; updatedAt: number; document: Record<string, unknown> };
  };
  /** List the messages that a summary replaced, in order; texts are empty after `retention.compacted_days`. */
  "GET /api/summaries/{summary}/messages": {
    path: { summary: string };
    answer: { items: { id: string; role: "assistant" | "notice" | "progress" | "user"; content: string; userName: string; turn: number; tokens: number; createdAt: number }[]; nextCursor: string | null };
  };
  /** Restore the messages of a summary to the prompts. */
  "POST /api/summaries/{summary}/restore": { path: { summary: string }; answer: { ok: boolean; messages: number } };
  /** List the tool servers. */
  "GET /api/tool-servers": {
    answer: { items: { name: string; source: "configuration" | "product"; connected: boolean; login: "done" | "needed" | "none"; mayLogIn: boolean; problem: string | null; tools: number; changed: number; new: number }[]; nextCursor: string | null };
  };
  /** Add a tool server with an address. */
  "POST /api/tool-servers": {
    body: { settings?: Record<string, unknown>; headers?: Record<string, string>; clientSecret?: string; name: string };
    answer: { name: string; source: "configuration" | "product"; connected: boolean; login: "done" | "needed" | "none"; mayLogIn: boolean; problem: string | null; tools: number; changed: number; new: number; settings: Record<string, unknown>; headers: string[]; items: { name: string; description: string; state: "accepted" | "changed" | "new"; change: string | null; digest: string }[] };
  };
  /** Remove a server of the database. */
  "DELETE /api/tool-servers/{server}": { path: { server: string }; answer: { ok: boolean } };
  /** Show a tool server with its tools. */
  "GET /api/tool-servers/{server}": {
    path: { server: string };
    answer: { name: string; source: "configuration" | "product"; connected: boolean; login: "done" | "needed" | "none"; mayLogIn: boolean; problem: string | null; tools: number; changed: number; new: number; settings: Record<string, unknown>; headers: string[]; items: { name: string; description: string; state: "accepted" | "changed" | "new"; change: string | null; digest: string }[] };
  };
  /** Change a server of the database. */
  "PATCH /api/tool-servers/{server}": {
    path: { server: string };
    body: { settings?: Record<string, unknown>; headers?: Record<string, string>; clientSecret?: string };
    answer: { name: string; source: "configuration" | "product"; connected: boolean; login: "done" | "needed" | "none"; mayLogIn: boolean; problem: string | null; tools: number; changed: number; new: number; settings: Record<string, unknown>; headers: string[]; items: { name: string; description: string; state: "accepted" | "changed" | "new"; change: string | null; digest: string }[] };
  };
  /** Accept the present descriptions of tools. */
  "POST /api/tool-servers/{server}/accept": {
    path: { server: string };
    body: { tools: { name: string; digest: string }[] };
    answer: { name: string; source: "configuration" | "product"; connected: boolean; login: "done" | "needed" | "none"; mayLogIn: boolean; problem: string | null; tools: number; changed: number; new: number; settings: Record<string, unknown>; headers: string[]; items: { name: string; description: string; state: "accepted" | "changed" | "new"; change: string | null; digest: string }[] };
  };
  /** Delete the login of a server. */
  "DELETE /api/tool-servers/{server}/login": { path: { server: string }; answer: { ok: boolean } };
  /** Start a login to a server. */
  "POST /api/tool-servers/{server}/login": { path: { server: string }; answer: { url: string; expiresAt: number } };
  /** Finish a login whose page the browser could not open. */
  "POST /api/tool-servers/{server}/login/answer": {
    path: { server: string };
    body: { address: string };
    answer: { name: string; source: "configuration" | "product"; connected: boolean; login: "done" | "needed" | "none"; mayLogIn: boolean; problem: string | null; tools: number; changed: number; new: number; settings: Record<string, unknown>; headers: string[]; items: { name: string; description: string; state: "accepted" | "changed" | "new"; change: string | null; digest: string }[] };
  };
  /** List tools for agents. */
  "GET /api/tools": {
    answer: { items: { name: string; description: string; risk: "egress" | "exec" | "money" | "read" | "write"; permit: "always" | "ask" | "never"; repeatable: boolean; sensitive: boolean; harmless: boolean; ownOutput: boolean; needs: ("network" | "sandbox")[]; origin: "built_in" | "mcp" | "package"; package: string | null }[]; nextCursor: string | null };
  };
  /** Report calls, tokens and costs of models. */
  "GET /api/usage": {
    query: { by?: "account" | "agent" | "client" | "day" | "model" | "principal"; split?: "account" | "agent" | "client" | "model"; since?: string; until?: string };
    answer: { by: "account" | "agent" | "client" | "day" | "model" | "principal"; since: number; until: number; groups: { calls: number; inputTokens: number; outputTokens: number; cachedTokens: number; cacheWriteTokens: number; costUsd: number; errors: number; averageMs: number | null; success: number | null; unpriced: number; key: string; name: string }[]; split: ("account" | "agent" | "client" | "model") | null; points: { calls: number; inputTokens: number; outputTokens: number; cachedTokens: number; cacheWriteTokens: number; costUsd: number; errors: number; averageMs: number | null; success: number | null; unpriced: number; key: string; name: string; day: string }[]; total: { calls: number; inputTokens: number; outputTokens: number; cachedTokens: number; cacheWriteTokens: number; costUsd: number; errors: number; averageMs: number | null; success: number | null; unpriced: number } };
  };
  /** List dashboard users. */
  "GET /api/users": {
    query: { limit?: number; cursor?: string };
    answer: { items: { id: string; name: string; role: "chat" | "operator" | "owner" | "viewer"; hasPassword: boolean; createdAt: number; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Add a user and return a login link. */
  "POST /api/users": {
    body: { id: string; name?: string; role: "chat" | "operator" | "owner" | "viewer" };
    answer: { id: string; name: string; role: "chat" | "operator" | "owner" | "viewer"; hasPassword: boolean; createdAt: number; updatedAt: number; link: { code: string; url: string; expiresAt: number } };
  };
  /** Delete a user and end their logins. */
  "DELETE /api/users/{user}": { path: { user: string }; answer: { ok: boolean } };
  /** Show a user. */
  "GET /api/users/{user}": {
    path: { user: string };
    answer: { id: string; name: string; role: "chat" | "operator" | "owner" | "viewer"; hasPassword: boolean; createdAt: number; updatedAt: number };
  };
  /** Rename a user or change their role. */
  "PATCH /api/users/{user}": {
    path: { user: string };
    body: { name?: string; role?: "chat" | "operator" | "owner" | "viewer" };
    answer: { id: string; name: string; role: "chat" | "operator" | "owner" | "viewer"; hasPassword: boolean; createdAt: number; updatedAt: number };
  };
  /** Create a login link for a user. */
  "POST /api/users/{user}/link": { path: { user: string }; answer: { code: string; url: string; expiresAt: number } };
  /** Reset a lost password, with an owner's key. */
  "PUT /api/users/{user}/password": { path: { user: string }; body: { password: string }; answer: { ok: boolean } };
  /** List variables by key. */
  "GET /api/variables": {
    query: { limit?: number; cursor?: string };
    answer: { items: { key: string; value: string; secret: boolean; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Delete a variable. */
  "DELETE /api/variables/{key}": { path: { key: string }; answer: { ok: boolean } };
  /** Show a variable. */
  "GET /api/variables/{key}": {
    path: { key: string };
    answer: { key: string; value: string; secret: boolean; updatedAt: number };
  };
  /** Set a variable; a secret value is encrypted. */
  "PUT /api/variables/{key}": {
    path: { key: string };
    body: { value: string; secret?: boolean };
    answer: { key: string; value: string; secret: boolean; updatedAt: number };
  };
  /** List webhooks, newest first. */
  "GET /api/webhooks": {
    query: { limit?: number; cursor?: string; agent?: string };
    answer: { items: { id: string; path: string; name: string; agent: string; preset: "github" | "plain" | "stripe"; template: string; platform: string; connector: string; channelId: string; thread: string; graph: string | null; enabled: boolean; url: string; secret: string; lastTriggered: number | null; triggerCount: number; createdAt: number; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Create a webhook; its secret is shown once. */
  "POST /api/webhooks": {
    body: { path: string; name?: string; agent: string; preset?: "github" | "plain" | "stripe"; template: string; platform: string; connector?: string; channelId: string; thread?: string; graph?: string | null; enabled?: boolean; secret?: string };
    answer: { id: string; path: string; name: string; agent: string; preset: "github" | "plain" | "stripe"; template: string; platform: string; connector: string; channelId: string; thread: string; graph: string | null; enabled: boolean; url: string; secret: string; lastTriggered: number | null; triggerCount: number; createdAt: number; updatedAt: number };
  };
  /** Delete a webhook. */
  "DELETE /api/webhooks/{webhook}": { path: { webhook: string }; answer: { ok: boolean } };
  /** Show a webhook. */
  "GET /api/webhooks/{webhook}": {
    path: { webhook: string };
    answer: { id: string; path: string; name: string; agent: string; preset: "github" | "plain" | "stripe"; template: string; platform: string; connector: string; channelId: string; thread: string; graph: string | null; enabled: boolean; url: string; secret: string; lastTriggered: number | null; triggerCount: number; createdAt: number; updatedAt: number };
  };
  /** Change the fields in the body. */
  "PATCH /api/webhooks/{webhook}": {
    path: { webhook: string };
    body: { path?: string; name?: string; agent?: string; preset?: "github" | "plain" | "stripe"; template?: string; platform?: string; connector?: string; channelId?: string; thread?: string; graph?: string | null; enabled?: boolean; secret?: string };
    answer: { id: string; path: string; name: string; agent: string; preset: "github" | "plain" | "stripe"; template: string; platform: string; connector: string; channelId: string; thread: string; graph: string | null; enabled: boolean; url: string; secret: string; lastTriggered: number | null; triggerCount: number; createdAt: number; updatedAt: number };
  };
  /** Rotate the secret; the new one is shown once. */
  "POST /api/webhooks/{webhook}/rotate": {
    path: { webhook: string };
    answer: { id: string; path: string; name: string; agent: string; preset: "github" | "plain" | "stripe"; template: string; platform: string; connector: string; channelId: string; thread: string; graph: string | null; enabled: boolean; url: string; secret: string; lastTriggered: number | null; triggerCount: number; createdAt: number; updatedAt: number };
  };
  /** List workflows, newest first. */
  "GET /api/workflows": {
    query: { limit?: number; cursor?: string; q?: string; enabled?: boolean };
    answer: { items: { id: string; slug: string; name: string; description: string; enabled: boolean; version: number; runnable: number | null; problemCount: number; triggers: string[]; lastRun: { id: string; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; at: number } | null; liveRuns: number; createdAt: number; updatedAt: number }[]; nextCursor: string | null };
  };
  /** Create a workflow. */
  "POST /api/workflows": {
    body: { slug?: string; description?: string; draft?: boolean; note?: string; enabled?: boolean; name: string; document?: Record<string, unknown> };
    answer: { id: string; slug: string; name: string; description: string; enabled: boolean; version: number; runnable: number | null; problemCount: number; triggers: string[]; lastRun: { id: string; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; at: number } | null; liveRuns: number; createdAt: number; updatedAt: number; document: Record<string, unknown>; note: string; problems: { node: string | null; connection: string | null; field: string | null; rule: string; severity: "error" | "warning"; message: string; fix: string }[] };
  };
  /** List example workflows. */
  "GET /api/workflows/examples": {
    answer: { items: { slug: string; name: string; description: string; document: Record<string, unknown> }[]; nextCursor: string | null };
  };
  /** Import a workflow from a text. */
  "POST /api/workflows/import": {
    body: { slug?: string; description?: string; draft?: boolean; note?: string; enabled?: boolean; text: string; form?: "auto" | "json" | "yaml"; name?: string };
    answer: { id: string; slug: string; name: string; description: string; enabled: boolean; version: number; runnable: number | null; problemCount: number; triggers: string[]; lastRun: { id: string; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; at: number } | null; liveRuns: number; createdAt: number; updatedAt: number; document: Record<string, unknown>; note: string; problems: { node: string | null; connection: string | null; field: string | null; rule: string; severity: "error" | "warning"; message: string; fix: string }[] };
  };
  /** List the kinds of nodes and their fields. */
  "GET /api/workflows/kinds": {
    answer: { kinds: { name: string; label: string; category: "agents" | "begin" | "flow" | "people" | "routing"; help: string; fields: { name: string; form: "choice" | "line" | "list" | "number" | "object" | "rows" | "switch" | "switches" | "text"; label: string; help: string; required: boolean; default: unknown; minimum: number | null; maximum: number | null; choices: string[]; hiddenChoices: string[]; fields: Record<string, unknown>[]; optionsFrom: string }[]; outputs: string[]; rowHandles: { field: string; prefix: string } | null; inputs: string[]; selectsOutput: boolean; isTrigger: boolean }[]; settings: { name: string; form: "choice" | "line" | "list" | "number" | "object" | "rows" | "switch" | "switches" | "text"; label: string; help: string; required: boolean; default: unknown; minimum: number | null; maximum: number | null; choices: string[]; hiddenChoices: string[]; fields: Record<string, unknown>[]; optionsFrom: string }[]; joins: { name: string; form: "choice" | "line" | "list" | "number" | "object" | "rows" | "switch" | "switches" | "text"; label: string; help: string; required: boolean; default: unknown; minimum: number | null; maximum: number | null; choices: string[]; hiddenChoices: string[]; fields: Record<string, unknown>[]; optionsFrom: string }[]; maxNodes: number; maxConnections: number; maxBytes: number };
  };
  /** Show the JSON schema of documents. */
  "GET /api/workflows/schema": { answer: Record<string, unknown> };
  /** Validate a document. */
  "POST /api/workflows/validate": {
    body: { document: Record<string, unknown>; workflow?: string };
    answer: { document: Record<string, unknown>; problems: { node: string | null; connection: string | null; field: string | null; rule: string; severity: "error" | "warning"; message: string; fix: string }[]; runnable: boolean };
  };
  /** Delete a workflow; its active runs continue to their end. */
  "DELETE /api/workflows/{workflow}": { path: { workflow: string }; answer: { ok: boolean } };
  /** Show a workflow with its newest document, by id or slug. */
  "GET /api/workflows/{workflow}": {
    path: { workflow: string };
    answer: { id: string; slug: string; name: string; description: string; enabled: boolean; version: number; runnable: number | null; problemCount: number; triggers: string[]; lastRun: { id: string; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; at: number } | null; liveRuns: number; createdAt: number; updatedAt: number; document: Record<string, unknown>; note: string; problems: { node: string | null; connection: string | null; field: string | null; rule: string; severity: "error" | "warning"; message: string; fix: string }[] };
  };
  /** Change the fields in the body. */
  "PATCH /api/workflows/{workflow}": {
    path: { workflow: string };
    body: { slug?: string; description?: string; draft?: boolean; note?: string; enabled?: boolean; name?: string; document?: Record<string, unknown>; version?: number };
    answer: { id: string; slug: string; name: string; description: string; enabled: boolean; version: number; runnable: number | null; problemCount: number; triggers: string[]; lastRun: { id: string; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; at: number } | null; liveRuns: number; createdAt: number; updatedAt: number; document: Record<string, unknown>; note: string; problems: { node: string | null; connection: string | null; field: string | null; rule: string; severity: "error" | "warning"; message: string; fix: string }[] };
  };
  /** Export a document as a file. */
  "GET /api/workflows/{workflow}/export": {
    path: { workflow: string };
    query: { form?: "json" | "yaml"; version?: number };
    answer: string;
  };
  /** List runs of a workflow, newest first. */
  "GET /api/workflows/{workflow}/runs": {
    path: { workflow: string };
    query: { limit?: number; cursor?: string; status?: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running" };
    answer: { items: { id: string; workflow: { id: string; slug: string; name: string }; version: number; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; waitingForInput: boolean; currentNodeId: string | null; source: string; entry: string; rerunOf: string | null; error: string | null; startedAt: number; endedAt: number | null; costUsd: number }[]; nextCursor: string | null };
  };
  /** Start a run. */
  "POST /api/workflows/{workflow}/runs": {
    path: { workflow: string };
    body: { input?: unknown; version?: number; entry?: string };
    answer: { id: string; workflow: { id: string; slug: string; name: string }; version: number; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; waitingForInput: boolean; currentNodeId: string | null; source: string; entry: string; rerunOf: string | null; error: string | null; startedAt: number; endedAt: number | null; costUsd: number; questions: { id: string; executionId: string; kind: "approval" | "input" | "review" | "user"; prompt: string; choices: string[]; askedAt: number; expiresAt: number | null; answer: unknown; answeredBy: string | null; answeredAt: number | null; answeredByName: string | null; agent: string | null; person: string | null; messageId: string | null; conversationId: string | null; workflowId: string | null; platform: string | null; connector: string | null; channelId: string | null; approvers: string[]; canAnswer: boolean; tool: string | null; arguments: Record<string, unknown> | null; risk: ("egress" | "exec" | "money" | "read" | "write") | null; change: { text: string; hash: string } | null; form: { server: string; kind: "form" | "model" | "page"; message: string; url: string; fields: { name: string; kind: "boolean" | "choice" | "choices" | "integer" | "number" | "text"; title: string; description: string; required: boolean; options: { value: string; title: string }[]; least: number | null; most: number | null; format: string }[]; values: Record<string, unknown> } | null }[]; nodes: Record<string, { state: "cancelled" | "done" | "failed" | "running" | "skipped" | "waiting"; visits: number; output?: unknown; at?: number | null; tainted?: boolean; error?: string | null; retry?: { attempts: number; nextAt: number; reason: string }; warnings?: string[] }>; state: Record<string, unknown>; result: unknown; input: unknown; messageId: string | null; children: { id: string; graph: string; status: "cancelled" | "done" | "failed" | "paused" | "running"; createdAt: number }[]; logs: { number: number; timestamp: number; nodeId: string; type: "branch_failed" | "error" | "escalated" | "input_received" | "join" | "llm_error" | "llm_response" | "logic_check" | "loop" | "run_end" | "start_prompt" | "step_end" | "step_start" | "subagent_call_end" | "subagent_call_error" | "subagent_call_start" | "timer" | "tool_call" | "tool_result" | "transfer" | "wait_input" | "warning"; content: string }[]; logsTotal: number };
  };
  /** List its versions, newest first. */
  "GET /api/workflows/{workflow}/versions": {
    path: { workflow: string };
    query: { limit?: number; cursor?: string };
    answer: { items: { version: number; problemCount: number; note: string; by: string | null; at: number }[]; nextCursor: string | null };
  };
  /** Show a version with its document. */
  "GET /api/workflows/{workflow}/versions/{version}": {
    path: { workflow: string; version: string };
    answer: { version: number; problemCount: number; note: string; by: string | null; at: number; document: Record<string, unknown>; problems: { node: string | null; connection: string | null; field: string | null; rule: string; severity: "error" | "warning"; message: string; fix: string }[] };
  };
  /** Create a new version with the document of this one. */
  "POST /api/workflows/{workflow}/versions/{version}/restore": {
    path: { workflow: string; version: string };
    answer: { id: string; slug: string; name: string; description: string; enabled: boolean; version: number; runnable: number | null; problemCount: number; triggers: string[]; lastRun: { id: string; status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running"; at: number } | null; liveRuns: number; createdAt: number; updatedAt: number; document: Record<string, unknown>; note: string; problems: { node: string | null; connection: string | null; field: string | null; rule: string; severity: "error" | "warning"; message: string; fix: string }[] };
  };
  /** Check that the process is up. */
  "GET /health": { answer: { status: string; version: string; eventLoop: { blocked: number; longestMs: number } } };
  /** Receive a call of a webhook. */
  "POST /hooks/{path}": { path: { path: string }; answer: { ok: boolean; id: string } };
  /** Receive a signed event of a chat platform, or a call of a webhook. */
  "POST /hooks/{platform}/{name}": {
    path: { platform: string; name: string };
    answer: unknown | { ok: boolean; id: string };
  };
  /** Call the Model Context Protocol (streamable HTTP, without sessions). */
  "POST /mcp": { body: Record<string, unknown>; answer: Record<string, unknown> | unknown };
  /** Return metrics as Prometheus text. */
  "GET /metrics": { answer: string };
  /** Accept the answer of an authorization server. */
  "GET /oauth/callback": { answer: string };
  /** Show this document. */
  "GET /openapi.json": { answer: Record<string, unknown> };
  /** Check that the daemon can work. */
  "GET /ready": {
    answer: { ready: boolean; roles: Record<string, boolean>; bots: Record<string, boolean>; database: boolean; disk: boolean; eventLoop: boolean };
  };
  /** Create a chat completion, complete or streamed; see docs/how-to/openai-compatible.md. */
  "POST /v1/chat/completions": {
    body: { model: string; messages: { role: "assistant" | "developer" | "function" | "system" | "tool" | "user"; content?: unknown }[]; user?: string; stream?: boolean; stream_options?: { include_usage?: boolean } };
    answer: { id: string; object: "chat.completion"; created: number; model: string; choices: { index: number; message: { role: string; content: string | null; refusal: string | null; tool_calls?: { id: string; type: "function"; function: { name: string; arguments: string } }[] }; logprobs: null; finish_reason: "length" | "stop" | "tool_calls" }[]; usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number; prompt_tokens_details: { cached_tokens: number } } };
  };
  /** List the agents that this key may use, as models. */
  "GET /v1/models": {
    answer: { object: "list"; data: { id: string; object: "model"; created: number; owned_by: string }[] };
  };
  /** Show an agent as a model. */
  "GET /v1/models/{model}": {
    path: { model: string };
    answer: { id: string; object: "model"; created: number; owned_by: string };
  };
  /** Create a response, complete or streamed; see docs/how-to/openai-compatible.md. */
  "POST /v1/responses": {
    body: { model: string; input: unknown; instructions?: string | null; previous_response_id?: string | null; stream?: boolean };
    answer: { id: string; object: "response"; created_at: number; model: string; status: "completed" | "incomplete"; output: Record<string, unknown>[]; usage: { input_tokens: number; input_tokens_details: { cached_tokens: number }; output_tokens: number; output_tokens_details: { reasoning_tokens: number }; total_tokens: number } };
  };
}
