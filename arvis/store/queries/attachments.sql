-- name: next_ordinal
SELECT COALESCE(max(ordinal) + 1, 0) AS ordinal FROM attachments WHERE message_id = :message_id;

-- name: add_attachment
INSERT INTO attachments (
    message_id, ordinal, filename, content_type, size, sha256, state, source, kind, content, problem
) VALUES (
    :message_id, :ordinal, :filename, :content_type, :size, :sha256, :state, :source, :kind, :content, :problem
);

-- name: name_files
UPDATE messages SET files = CASE WHEN files = '' THEN :names ELSE files || ', ' || :names END WHERE id = :message_id;

-- name: put_attachment
UPDATE attachments SET filename = :filename, content_type = :content_type, size = :size, sha256 = :sha256,
    state = :state, source = :source, kind = :kind, content = :content, problem = :problem
WHERE message_id = :message_id AND ordinal = :ordinal;

-- name: attachments_of_message
SELECT * FROM attachments WHERE message_id = :message_id ORDER BY ordinal;

-- name: attachments_of_turn
SELECT attachments.* FROM attachments
JOIN messages ON messages.id = attachments.message_id
WHERE messages.execution_id = :execution_id AND messages.role = 'user'
ORDER BY attachments.message_id, attachments.ordinal;

-- name: files_of_turns
-- The files of ended turns that no summary replaces, with the beginning and the end of each text.
SELECT messages.id AS message_id, messages.turn, attachments.filename, attachments.content_type, attachments.size,
    attachments.sha256, attachments.state, attachments.source, attachments.kind, attachments.problem, '' AS content,
    length(attachments.content) AS characters,
    CASE WHEN length(attachments.content) <= :most THEN attachments.content
        ELSE substr(attachments.content, 1, :half) END AS head,
    CASE WHEN length(attachments.content) <= :most THEN ''
        ELSE substr(attachments.content, length(attachments.content) - :half + 1) END AS tail
FROM messages JOIN attachments ON attachments.message_id = messages.id
WHERE messages.conversation_id = :conversation_id AND messages.turn IS NOT NULL AND messages.compaction_id IS NULL
    AND messages.turn >= :first_turn AND messages.turn <= :last_turn AND messages.files <> ''
ORDER BY messages.turn, messages.position, attachments.ordinal;
