-- name: get_notification
SELECT * FROM notifications WHERE id = :id;

-- name: newest_notification
SELECT * FROM notifications WHERE cause = :cause ORDER BY id DESC LIMIT 1;

-- name: lasting_notifications
SELECT * FROM notifications
WHERE state = 'open' OR (state = 'dismissed' AND expires_at IS NULL)
ORDER BY id LIMIT :limit;

-- name: unmailed_ends
SELECT * FROM notifications WHERE end_unmailed = 1 ORDER BY id LIMIT :limit;

-- name: list_notifications
SELECT * FROM notifications
WHERE id < :before AND (CAST(:state AS TEXT) IS NULL OR state = :state)
ORDER BY id DESC LIMIT :limit;

-- name: add_notification
INSERT INTO notifications (
    id, cause, severity, state, text, command, page, link, remedy, subject, pause, avoid, first_at, last_at, count, sent_at,
    mailed_at, end_unmailed, expires_at, ended_at, ended_by
) VALUES (
    :id, :cause, :severity, :state, :text, :command, :page, :link, :remedy, :subject, :pause, :avoid, :first_at, :last_at,
    :count, :sent_at, :mailed_at, :end_unmailed, :expires_at, :ended_at, :ended_by
);

-- name: save_notification
UPDATE notifications
SET severity = :severity, state = :state, text = :text, command = :command, page = :page, link = :link, remedy = :remedy,
    subject = :subject, pause = :pause, avoid = :avoid, last_at = :last_at, count = :count, sent_at = :sent_at,
    mailed_at = :mailed_at, end_unmailed = :end_unmailed, expires_at = :expires_at, ended_at = :ended_at,
    ended_by = :ended_by
WHERE id = :id;

-- name: prune_notifications
DELETE FROM notifications WHERE id IN (
    SELECT id FROM notifications WHERE state <> 'open' AND ended_at < :before ORDER BY ended_at, id LIMIT :limit
);
