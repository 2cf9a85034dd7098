-- Deliveries on their way to chat platforms: parts, drafts, status of channels, incidents.

-- name: parts_of_delivery
SELECT * FROM delivery_parts WHERE delivery_id = :delivery_id ORDER BY part;

-- name: drop_parts
DELETE FROM delivery_parts WHERE delivery_id = :delivery_id;

-- name: add_part
INSERT INTO delivery_parts (delivery_id, part, content, buttons, files, state, platform_id, tried_at)
VALUES (:delivery_id, :part, :content, :buttons, :files, :state, :platform_id, :tried_at);

-- name: put_part
UPDATE delivery_parts
SET state = :state, platform_id = COALESCE(:platform_id, platform_id), tried_at = COALESCE(:tried_at, tried_at)
WHERE delivery_id = :delivery_id AND part = :part;

-- name: get_draft

SELECT * FROM drafts WHERE execution_id = :execution_id;

-- name: open_drafts
SELECT * FROM drafts WHERE state <> 'gone' ORDER BY created_at LIMIT :limit;

-- name: draft_awaited
-- Finds the delivery of the turn's only reply or notice.
SELECT deliveries.id FROM messages
JOIN deliveries ON deliveries.message_id = messages.id
WHERE messages.execution_id = :execution_id AND messages.role <> 'user' AND messages.role <> 'progress' AND messages.superseded = 0
    AND deliveries.state IN ('pending', 'sending')
LIMIT 1;

-- name: add_draft
INSERT INTO drafts (
    execution_id, id, platform, connector, channel, thread, state, platform_id, created_at, updated_at
) VALUES (:execution_id, :id, :platform, :connector, :channel, :thread, :state, :platform_id, :now, :now)
ON CONFLICT (execution_id) DO NOTHING;

-- name: put_draft
-- The state `gone` is final.
UPDATE drafts SET state = :state, platform_id = COALESCE(:platform_id, platform_id), updated_at = :now
WHERE execution_id = :execution_id AND state <> 'gone';

-- name: prune_drafts
-- Uses the ids of the turns, which begin with their creation time.
DELETE FROM drafts WHERE execution_id IN (
    SELECT execution_id FROM drafts WHERE execution_id < :oldest ORDER BY execution_id LIMIT :limit
);

-- name: get_place
SELECT * FROM channel_status WHERE platform = :platform AND connector = :connector AND channel = :channel;

-- name: put_place
-- The status of a moved channel is final, even if another status is reported later.
INSERT INTO channel_status (platform, connector, channel, state, reason, moved_to, updated_at)
VALUES (:platform, :connector, :channel, :state, :reason, :moved_to, :now)
ON CONFLICT (platform, connector, channel) DO UPDATE
SET state = excluded.state, reason = excluded.reason, moved_to = excluded.moved_to, updated_at = excluded.updated_at
WHERE channel_status.state <> 'moved' OR excluded.state = 'moved';

-- name: clear_place
DELETE FROM channel_status
WHERE platform = :platform AND connector = :connector AND channel = :channel AND state <> 'moved';

-- name: add_incident
INSERT INTO delivery_incidents (id, conversation_id, text, created_at) VALUES (:id, :conversation_id, :text, :now);

-- name: unreported_incidents
-- Problems and reactions are read together, so that a turn needs no second query. Few reactions are unreported.
SELECT * FROM (
    SELECT id, conversation_id, text, created_at, CAST(NULL AS TEXT) AS principal_id FROM delivery_incidents
    WHERE conversation_id = :conversation_id AND reported_in IS NULL ORDER BY id DESC LIMIT :limit
) AS problems
UNION ALL
SELECT * FROM (
    SELECT id, conversation_id, text, created_at, principal_id FROM reactions
    WHERE conversation_id = :conversation_id AND reported_in IS NULL ORDER BY id DESC LIMIT :limit
) AS others
ORDER BY id DESC;

-- name: mark_incidents_reported
UPDATE delivery_incidents SET reported_in = :execution_id
WHERE conversation_id = :conversation_id AND reported_in IS NULL AND id <= :upto;

-- name: reopen_incidents
UPDATE delivery_incidents SET reported_in = NULL
WHERE conversation_id = :conversation_id AND reported_in IN (SELECT listed.value FROM json_each(:ids) AS listed);

-- name: prune_delivery_parts
DELETE FROM delivery_parts WHERE delivery_id IN (
    SELECT deliveries.id FROM deliveries
    WHERE deliveries.id < :oldest AND deliveries.state IN ('sent', 'unknown', 'failed', 'expired') AND NOT EXISTS (
        SELECT 1 FROM messages JOIN waits ON waits.id = messages.wait_id
        WHERE messages.id = deliveries.message_id AND waits.answered_at IS NULL
    )
    ORDER BY deliveries.id LIMIT :limit
);

-- name: prune_deliveries
-- Deliveries of open questions are kept, because the order of deliveries decides whether a message answers a question.
DELETE FROM deliveries WHERE id IN (
    SELECT deliveries.id FROM deliveries
    WHERE deliveries.id < :oldest AND deliveries.state IN ('sent', 'unknown', 'failed', 'expired') AND NOT EXISTS (
        SELECT 1 FROM messages JOIN waits ON waits.id = messages.wait_id
        WHERE messages.id = deliveries.message_id AND waits.answered_at IS NULL
    )
    ORDER BY deliveries.id LIMIT :limit
);

-- name: prune_incidents
DELETE FROM delivery_incidents WHERE id IN (
    SELECT id FROM delivery_incidents WHERE id < :oldest ORDER BY id LIMIT :limit
);
