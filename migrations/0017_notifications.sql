-- Problems and results that owners should know. The rows are the only record of them; messages and e-mails about them are copies.
--
-- `cause`: the key of the cause; at most one open row has it. `command`, `page` and `link`: where to find more. `remedy`: the action that
-- the dashboard offers, on the object `subject`. `pause`: the least time (ms) between two messages about the cause. `avoid`: the bot or
-- channel (an address as JSON) that must not be used for messages. `sent_at` and `mailed_at`: the newest message in a chat, the newest
-- e-mail; a new row of a cause begins with those of the row before it. `end_unmailed`: 1 while an e-mail about the end must be sent.
-- `expires_at`: NULL for a state of the installation, which ends when it is over.
CREATE TABLE notifications (
    id TEXT PRIMARY KEY,
    cause TEXT NOT NULL,
    severity TEXT NOT NULL,
    state TEXT NOT NULL,
    text TEXT NOT NULL,
    command TEXT NOT NULL,
    page TEXT NOT NULL,
    link TEXT NOT NULL,
    remedy TEXT,
    subject TEXT NOT NULL,
    pause INTEGER NOT NULL,
    avoid TEXT,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    count INTEGER NOT NULL,
    sent_at INTEGER,
    mailed_at INTEGER,
    end_unmailed INTEGER NOT NULL,
    expires_at INTEGER,
    ended_at INTEGER,
    ended_by TEXT
) STRICT;
CREATE UNIQUE INDEX notifications_open ON notifications (cause) WHERE state = 'open';
CREATE INDEX notifications_cause ON notifications (cause, id);
CREATE INDEX notifications_lasting ON notifications (id) WHERE state = 'open' OR (state = 'dismissed' AND expires_at IS NULL);
CREATE INDEX notifications_unmailed ON notifications (id) WHERE end_unmailed = 1;
CREATE INDEX notifications_ended ON notifications (ended_at, id) WHERE state <> 'open';

-- The times of the newest message about each cause are in the new table from now on.
DELETE FROM kv WHERE substr(key, 1, 9) = 'notified:';
