-- The time zone and the language that a person has chosen; NULL: the default. The person is the source of truth.
ALTER TABLE principals ADD COLUMN timezone TEXT;
ALTER TABLE principals ADD COLUMN language TEXT;

-- The name of the channel of a conversation, as the platform last reported it with a message; empty if it reports none.
ALTER TABLE conversations ADD COLUMN room TEXT NOT NULL DEFAULT '';
