-- The reasoning effort of an agent's model calls: none, minimal, low, medium, high or xhigh; null: the model's default. The source
-- of truth, like the other columns of agents.
ALTER TABLE agents ADD COLUMN effort TEXT;

-- The model and the reasoning effort of the agent's work that a schedule starts; null: those of the agent. The source of truth.
ALTER TABLE schedules ADD COLUMN model TEXT;
ALTER TABLE schedules ADD COLUMN effort TEXT;

-- The API of OpenAI's format that calls of an account use: chat or responses; null: the one that the model needs. The source of
-- truth.
ALTER TABLE accounts ADD COLUMN api TEXT;
