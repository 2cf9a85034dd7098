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
