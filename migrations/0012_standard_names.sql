-- Standard names for tables, columns, indexes and stored values. No data is lost; every value keeps its meaning.

-- Tables.
ALTER TABLE rests RENAME TO account_cooldowns;
ALTER TABLE places RENAME TO channel_status;
ALTER TABLE incidents RENAME TO delivery_incidents;
ALTER TABLE observed RENAME TO overheard_messages;
ALTER TABLE threads RENAME TO handover_threads;
ALTER TABLE additions RENAME TO plugin_additions;
ALTER TABLE occurrences RENAME TO schedule_runs;
ALTER TABLE calibrations RENAME TO token_calibrations;
ALTER TABLE states RENAME TO agent_state;
ALTER TABLE reservations RENAME TO budget_reservations;
ALTER TABLE run_log RENAME TO workflow_run_log;
ALTER TABLE feed_positions RENAME TO read_positions;

-- The search index of facts. A column of an FTS5 table cannot be renamed, so SQLite copies the rows. `rowid` is `facts.number`;
-- `scope_key` joins the agent and the scope; `words` are the words of the fact, split in Python.
-- only: sqlite
CREATE VIRTUAL TABLE fact_index USING fts5(scope_key, words, tokenize = "unicode61 remove_diacritics 0");
-- only: sqlite
INSERT INTO fact_index (rowid, scope_key, words) SELECT rowid, place, words FROM fact_words;
-- only: sqlite
DROP TABLE fact_words;
-- only: postgres
ALTER TABLE fact_words RENAME TO fact_index;
-- only: postgres
ALTER TABLE fact_index RENAME COLUMN place TO scope_key;
-- only: postgres
ALTER INDEX fact_words_place RENAME TO fact_index_scope_key;
-- only: postgres
ALTER INDEX fact_words_search RENAME TO fact_index_words;

-- Values that the daemon keeps for itself between restarts. `settings` keeps only what a person has set.
CREATE TABLE kv (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
INSERT INTO kv (key, value, updated_at)
SELECT
    CASE
        WHEN key = 'owner_place' THEN 'owner_message'
        WHEN key = 'owners_notify' THEN 'owner_alert_address'
        WHEN key = 'pairing_tries' THEN 'pairing_attempts'
        WHEN substr(key, 1, 5) = 'told:' THEN 'notified:' || substr(key, 6)
        ELSE key
    END,
    value, updated_at
FROM settings WHERE key NOT IN ('config.changes', 'skills.off', 'setup.dismissed');
DELETE FROM settings WHERE key NOT IN ('config.changes', 'skills.off', 'setup.dismissed');
UPDATE settings SET key = 'skills.disabled' WHERE key = 'skills.off';

-- Columns.
ALTER TABLE schedules RENAME COLUMN rests_until TO cooldown_until;
ALTER TABLE schedules RENAME COLUMN made_by TO created_by;
-- The turn whose prompt reported the incident to the agent.
ALTER TABLE delivery_incidents RENAME COLUMN told_in TO reported_in;
-- When (ms) the daemon last notified the person that the limit is used up.
ALTER TABLE allowances RENAME COLUMN told_at TO notified_at;
ALTER TABLE workflow_runs RENAME COLUMN again_of TO rerun_of;
ALTER TABLE facts RENAME COLUMN vouched_by TO confirmed_by;
ALTER TABLE completion_requests RENAME COLUMN talk_hash TO transcript_hash;
ALTER TABLE completion_requests RENAME COLUMN left_at TO disconnected_at;
-- The context window in tokens, where the vendor reported it.
ALTER TABLE token_calibrations RENAME COLUMN most TO context_window;

-- Schedules in older versions name the same fields.
UPDATE versions SET data = replace(replace(data, '"rests_until":', '"cooldown_until":'), '"made_by":', '"created_by":')
WHERE kind = 'schedule';

-- Indexes.
DROP INDEX observed_place;
CREATE INDEX overheard_messages_address ON overheard_messages (platform, connector, channel, thread, id);
DROP INDEX observed_age;
CREATE INDEX overheard_messages_age ON overheard_messages (created_at);
DROP INDEX incidents_untold;
CREATE INDEX delivery_incidents_open ON delivery_incidents (conversation_id, id) WHERE reported_in IS NULL;
DROP INDEX occurrences_schedule;
CREATE INDEX schedule_runs_schedule ON schedule_runs (schedule_id, id);
DROP INDEX occurrences_execution;
CREATE INDEX schedule_runs_execution ON schedule_runs (execution_id) WHERE execution_id IS NOT NULL;
DROP INDEX occurrences_age;
CREATE INDEX schedule_runs_age ON schedule_runs (created_at);
DROP INDEX occurrences_running;
CREATE INDEX schedule_runs_running ON schedule_runs (schedule_id, id) WHERE ended_at IS NULL;
DROP INDEX additions_conversation;
CREATE INDEX plugin_additions_conversation ON plugin_additions (conversation_id, message_id);
DROP INDEX reservations_visit;
CREATE INDEX budget_reservations_visit ON budget_reservations (execution_id, visit);
DROP INDEX reservations_expiry;
CREATE INDEX budget_reservations_expiry ON budget_reservations (expires_at);
DROP INDEX conversations_place;
CREATE UNIQUE INDEX conversations_address ON conversations (platform, connector, channel, thread, agent_id)
WHERE status = 'active';
DROP INDEX messages_unasked;
CREATE INDEX messages_not_routed ON messages (platform, connector, channel, thread, id)
WHERE status IN ('dropped', 'expired');
DROP INDEX completion_requests_talk;
CREATE INDEX completion_requests_transcript ON completion_requests (scope, transcript_hash, created_at, id);
DROP INDEX executions_drawn;
CREATE INDEX executions_open_runs ON executions (graph, id)
WHERE substr(graph, 1, 9) = 'workflow:' AND status IN ('running', 'paused');
DROP INDEX executions_drawn_newest;
CREATE INDEX executions_open_runs_newest ON executions (id)
WHERE substr(graph, 1, 9) = 'workflow:' AND status IN ('running', 'paused');
DROP INDEX executions_drawn_over;
CREATE INDEX executions_ended_runs ON executions (updated_at)
WHERE substr(graph, 1, 9) = 'workflow:' AND status IN ('done', 'failed', 'cancelled');

-- Settings that were changed in the dashboard, and their versions, are JSON objects by configuration key. A quote inside a value
-- is escaped, so `"key":` can only be a key. The last three hold mappings; `{` keeps their names from matching a tool or a model.
-- The setting is stored with spaces, the versions without.
UPDATE settings SET value =
    replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(value,
    '"owners.notify":', '"owners.alert_channel":'),
    '"queue.retry_unit_seconds":', '"queue.retry_base_seconds":'),
    '"model.fast":', '"model.summarizer":'),
    '"speech.engine":', '"speech.stt.engine":'),
    '"speech.language":', '"speech.stt.language":'),
    '"speech.speak":', '"speech.tts.engine":'),
    '"speech.speak_model":', '"speech.tts.model":'),
    '"speech.voice":', '"speech.tts.voice":'),
    '"limits.tool_rounds":', '"limits.max_tool_rounds":'),
    '"limits.agent_loops":', '"limits.max_iterations":'),
    '"retention.archive_days":', '"retention.compacted_days":'),
    '"budgets.stranger_daily_turns":', '"budgets.unpaired_daily_turns":'),
    '"prices": {', '"model_prices": {'),
    '"windows": {', '"context_windows": {'),
    '"vision": {', '"vision_models": {')
WHERE key = 'config.changes';
UPDATE versions SET data =
    replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(data,
    '"owners.notify":', '"owners.alert_channel":'),
    '"queue.retry_unit_seconds":', '"queue.retry_base_seconds":'),
    '"model.fast":', '"model.summarizer":'),
    '"speech.engine":', '"speech.stt.engine":'),
    '"speech.language":', '"speech.stt.language":'),
    '"speech.speak":', '"speech.tts.engine":'),
    '"speech.speak_model":', '"speech.tts.model":'),
    '"speech.voice":', '"speech.tts.voice":'),
    '"limits.tool_rounds":', '"limits.max_tool_rounds":'),
    '"limits.agent_loops":', '"limits.max_iterations":'),
    '"retention.archive_days":', '"retention.compacted_days":'),
    '"budgets.stranger_daily_turns":', '"budgets.unpaired_daily_turns":'),
    '"prices":{', '"model_prices":{'),
    '"windows":{', '"context_windows":{'),
    '"vision":{', '"vision_models":{')
WHERE kind = 'settings';

-- Names of graphs and steps. People choose the names of the nodes of workflows, so these stay. In JSON only whole keys with whole values are replaced: inside a string every quote is escaped.
UPDATE agents SET graph = 'handover' WHERE graph = 'converse';
UPDATE schedules SET graph = 'handover' WHERE graph = 'converse';
UPDATE webhooks SET graph = 'handover' WHERE graph = 'converse';
UPDATE executions SET graph = 'handover' WHERE graph = 'converse';
UPDATE executions SET state = replace(state, '"graph":"converse"', '"graph":"handover"')
WHERE status IN ('running', 'paused');
UPDATE agent_versions SET data = replace(data, '"graph":"converse"', '"graph":"handover"');
UPDATE versions SET data = replace(data, '"graph":"converse"', '"graph":"handover"');
UPDATE waits SET subject = 'step:check_input' WHERE subject = 'step:examine'
    AND execution_id NOT IN (SELECT id FROM executions WHERE substr(graph, 1, 9) = 'workflow:');
UPDATE cursors SET node = 'check_input' WHERE node = 'examine'
    AND execution_id NOT IN (SELECT id FROM executions WHERE substr(graph, 1, 9) = 'workflow:');
UPDATE cursors SET node = 'check_new_messages' WHERE node = 'listen'
    AND execution_id NOT IN (SELECT id FROM executions WHERE substr(graph, 1, 9) = 'workflow:');
UPDATE cursors SET node = 'call_agent' WHERE node = 'speak'
    AND execution_id NOT IN (SELECT id FROM executions WHERE substr(graph, 1, 9) = 'workflow:');
UPDATE cursors SET node = 'reset' WHERE node = 'forget'
    AND execution_id NOT IN (SELECT id FROM executions WHERE substr(graph, 1, 9) = 'workflow:');
UPDATE steps SET node = 'check_input' WHERE node = 'examine'
    AND execution_id NOT IN (SELECT id FROM executions WHERE substr(graph, 1, 9) = 'workflow:');
UPDATE steps SET node = 'check_new_messages' WHERE node = 'listen'
    AND execution_id NOT IN (SELECT id FROM executions WHERE substr(graph, 1, 9) = 'workflow:');
UPDATE steps SET node = 'call_agent' WHERE node = 'speak'
    AND execution_id NOT IN (SELECT id FROM executions WHERE substr(graph, 1, 9) = 'workflow:');
UPDATE steps SET node = 'reset' WHERE node = 'forget'
    AND execution_id NOT IN (SELECT id FROM executions WHERE substr(graph, 1, 9) = 'workflow:');

-- Names of decisions, reasons and timeline entries.
UPDATE steps SET decision = 'repeat' WHERE decision = 'again';
UPDATE steps SET decision = 'switch_graph' WHERE decision = 'become';
UPDATE jobs SET reason = 'handled_by_caller' WHERE reason = 'taken_up';
UPDATE messages SET reason = 'handled_by_caller' WHERE reason = 'taken_up';
UPDATE messages SET reason = 'bot_loop' WHERE reason = 'bot_talk';
UPDATE timeline SET step = 'requeued' WHERE step = 'put_back';
