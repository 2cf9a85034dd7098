"""Services that the API, the CLI and agents share: agents, schedules, projects, people, webhooks, workflow runs."""
