-- Standard names for keys in the states of executions and for texts in messages. No data is lost; every value keeps its
-- meaning. Only whole keys are replaced: inside a string every quote is escaped.

-- The progress of a handover, and the work of each speaker in it.
UPDATE executions SET state =
    replace(replace(replace(replace(state,
    '"talk":{"speaker":', '"progress":{"speaker":'),
    '"told":', '"refusals":'),
    '"heard":', '"message":'),
    '"said":', '"reply":')
WHERE graph = 'handover' AND status IN ('running', 'paused');

-- The task of a subagent of a workflow.
UPDATE executions SET state = replace(state, '"errand":{', '"task_spec":{')
WHERE substr(graph, 1, 9) <> 'workflow:' AND status IN ('running', 'paused');

-- The token with which a rerun begins. Ended runs have it, too, because they can be rerun.
UPDATE executions SET state = replace(state, ',"carried":{"output":', ',"token":{"output":')
WHERE substr(graph, 1, 9) = 'workflow:' AND replace(state, ',"carried":{"output":', '') <> state;
-- The capabilities about which a run has written a warning.
UPDATE executions SET state = replace(state, '"lacking_told":{', '"missing_capabilities":{')
WHERE substr(graph, 1, 9) = 'workflow:' AND status IN ('running', 'paused');

-- The headings of earlier messages that a client program sends before its question. Inside them every line begins with `> `.
UPDATE messages SET content = '[Earlier messages, as reported by the client program]' || replace(substr(content, 48), '
[What is asked now]
', '
[Current message]
')
WHERE role = 'user' AND substr(content, 1, 47) = '[What was said before, as the program tells it]';
