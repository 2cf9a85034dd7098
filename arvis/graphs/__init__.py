"""The graphs that the engine walks for an agent: turns, planning, heartbeats, handovers, compaction and resets."""
