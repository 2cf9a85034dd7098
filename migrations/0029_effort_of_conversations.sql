-- The reasoning effort that people have chosen for a conversation with `/effort`; null: the effort of the agent. The source of truth.
ALTER TABLE conversations ADD COLUMN effort TEXT;
