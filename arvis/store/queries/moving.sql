-- Moves the rows of a channel to the channel that replaced it. Rows that the new channel already has stay unchanged.

-- name: threads_on_their_way
SELECT thread FROM deliveries
WHERE platform = :platform AND connector = :connector AND channel = :old AND state IN ('pending', 'sending');

-- name: threads_of_conversations
SELECT DISTINCT thread FROM conversations
WHERE platform = :platform AND connector = :connector AND channel = :old;

-- name: deliveries_on_their_way
SELECT id FROM deliveries
WHERE platform = :platform AND connector = :connector AND channel = :old AND state IN ('pending', 'sending')
ORDER BY seq;

-- name: move_delivery
UPDATE deliveries SET channel = :channel, seq = :seq WHERE id = :id;

-- name: continue_channel
-- Clients of the old channel continue to count from their last number.
INSERT INTO channels (platform, connector, channel, seq)
SELECT platform, connector, :new, seq FROM channels
WHERE platform = :platform AND connector = :connector AND channel = :old
ON CONFLICT (platform, connector, channel) DO UPDATE
SET seq = CASE WHEN excluded.seq > channels.seq THEN excluded.seq ELSE channels.seq END;

-- name: move_bindings
-- Bindings name no bot, because they apply to all bots of a platform.
UPDATE bindings SET channel = :new
WHERE platform = :platform AND channel = :old
    AND NOT EXISTS (SELECT 1 FROM bindings AS there WHERE there.platform = :platform AND there.channel = :new);

-- name: drop_moved_bindings
DELETE FROM bindings WHERE platform = :platform AND channel = :old;

-- name: close_doubled_conversations
-- An agent with an active conversation in the new channel continues that one.
UPDATE conversations SET status = 'closed'
WHERE platform = :platform AND connector = :connector AND channel = :old AND status = 'active' AND EXISTS (
    SELECT 1 FROM conversations AS there
    WHERE there.platform = :platform AND there.connector = :connector AND there.channel = :new
        AND there.thread = conversations.thread AND there.agent_id = conversations.agent_id
        AND there.status = 'active'
);

-- name: move_conversations
UPDATE conversations SET channel = :new
WHERE platform = :platform AND connector = :connector AND channel = :old AND status = 'active';

-- name: move_schedules
UPDATE schedules SET channel = :new
WHERE platform = :platform AND connector = :connector AND channel = :old;

-- name: move_webhooks
UPDATE webhooks SET channel = :new
WHERE platform = :platform AND connector = :connector AND channel = :old;

-- name: move_drafts
UPDATE drafts SET channel = :new
WHERE platform = :platform AND connector = :connector AND channel = :old;

-- name: move_observed
UPDATE overheard_messages SET channel = :new
WHERE platform = :platform AND connector = :connector AND channel = :old AND NOT EXISTS (
    SELECT 1 FROM overheard_messages AS there
    WHERE there.platform = :platform AND there.connector = :connector AND there.channel = :new
        AND there.event_id = overheard_messages.event_id
);

-- name: facts_in_scope
SELECT id, number, agent_id FROM facts WHERE scope = :old AND status = 'active' ORDER BY number;

-- name: move_fact_words
UPDATE fact_index SET scope_key = :scope_key WHERE rowid = :number;

-- name: move_facts
UPDATE facts SET scope = :new WHERE scope = :old;

-- name: move_fact_changes
UPDATE fact_changes SET scope = :new WHERE scope = :old;

-- name: move_states
-- If both channels have a value for the same key, the value of the new channel is kept.
UPDATE agent_state SET scope = :new WHERE scope = :old AND NOT EXISTS (
    SELECT 1 FROM agent_state AS there
    WHERE there.agent_id = agent_state.agent_id AND there.scope = :new AND there.key = agent_state.key
);

-- name: waiting_head
-- The row is locked, so that no process claims the job before the commit.
SELECT id, pool, run_at FROM jobs WHERE lane = :lane AND ready > 0 AND status = 'pending' /*hold*/;

-- name: waiting_behind
SELECT id, pool, run_at FROM jobs WHERE lane = :lane AND ready = 0 AND status = 'pending' ORDER BY position LIMIT 1000;

-- name: change_lane
UPDATE jobs SET lane = :lane, position = :position, ready = :ready WHERE id = :id AND status = 'pending';
