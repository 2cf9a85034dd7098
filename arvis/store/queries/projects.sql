-- Projects: work of agents that takes days.

-- name: get_project
SELECT * FROM projects WHERE id = :id;

-- name: project_by_slug
SELECT * FROM projects WHERE slug = :slug;

-- name: hold_project
SELECT * FROM projects WHERE id = :id /*hold*/;

-- name: add_project
INSERT INTO projects (id, slug, agent_id, title, goal, status, notes, principal_id, author_id, created_at, updated_at)
VALUES (:id, :slug, :agent_id, :title, :goal, :status, :notes, :principal_id, :author_id, :created_at, :updated_at);

-- name: update_project
UPDATE projects
SET slug = :slug, agent_id = :agent_id, title = :title, goal = :goal, status = :status, notes = :notes,
    principal_id = :principal_id, author_id = :author_id, updated_at = :updated_at
WHERE id = :id;

-- name: touch_project
-- Agents work on the project with the oldest `updated_at` first, so that projects take turns.
UPDATE projects SET updated_at = :now WHERE id = :id;

-- name: remove_project
DELETE FROM projects WHERE id = :id;

-- name: active_projects
SELECT * FROM projects
WHERE status = 'active' AND (agent_id IS NULL OR agent_id = :agent_id)
ORDER BY updated_at, id LIMIT :limit;

-- name: list_projects
SELECT * FROM projects
WHERE id < :before
    AND (CAST(:agent_id AS TEXT) IS NULL OR agent_id = :agent_id)
    AND (CAST(:status AS TEXT) IS NULL OR status = :status)
ORDER BY id DESC LIMIT :limit;
