-- name: get_agent
SELECT * FROM agents WHERE id = :id;

-- name: agent_by_slug
SELECT * FROM agents WHERE slug = :slug;

-- name: all_agents
SELECT * FROM agents WHERE status <> 'archived' ORDER BY id;

-- name: active_agents_after
SELECT * FROM agents WHERE status = 'active' AND slug > :after ORDER BY slug LIMIT :limit;

-- name: archived_agents
SELECT * FROM agents WHERE status = 'archived' ORDER BY id;

-- name: add_agent
INSERT INTO agents (
    id, slug, name, role, description, prompt, model, fallbacks, tools, graph, completion, context_tokens, timezone,
    allow_users, status, on_new_message, plugins, helpers, skills, credentials, knowledge, effort, created_at, updated_at
) VALUES (
    :id, :slug, :name, :role, :description, :prompt, :model, :fallbacks, :tools, :graph, :completion,
    :context_tokens, :timezone, :allow_users, :status, :on_new_message, :plugins, :helpers, :skills, :credentials, :knowledge, :effort, :now, :now
);

-- name: update_agent
UPDATE agents
SET slug = :slug, name = :name, role = :role, description = :description, prompt = :prompt, model = :model,
    fallbacks = :fallbacks, tools = :tools, graph = :graph, completion = :completion,
    context_tokens = :context_tokens, timezone = :timezone, allow_users = :allow_users, status = :status,
    on_new_message = :on_new_message, plugins = :plugins, helpers = :helpers, skills = :skills, credentials = :credentials, knowledge = :knowledge,
    effort = :effort,
    updated_at = :now
WHERE id = :id;

-- name: binding_at
SELECT * FROM bindings WHERE platform = :platform AND channel = :channel;

-- name: bindings
SELECT * FROM bindings ORDER BY platform, channel;

-- name: bindings_of_agent
SELECT * FROM bindings WHERE agent_id = :agent_id ORDER BY platform, channel;

-- name: add_binding
INSERT INTO bindings (platform, channel, agent_id, permission, respond, observe, created_at)
VALUES (:platform, :channel, :agent_id, :permission, :respond, :observe, :now);

-- name: drop_binding
DELETE FROM bindings WHERE platform = :platform AND channel = :channel RETURNING channel;

-- name: add_agent_version
INSERT INTO agent_versions (agent_id, version, data, by_id, at) VALUES (:agent_id, :version, :data, :by_id, :at);

-- name: agent_versions
SELECT * FROM agent_versions WHERE agent_id = :agent_id ORDER BY version DESC LIMIT :limit;
