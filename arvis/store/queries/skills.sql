-- Imported skills: a few hundred at most.

-- name: all_skills
SELECT * FROM skills LIMIT 1000;

-- name: skill_stamps
-- Times by which the caller decides whether to read the texts again.
SELECT slug, updated_at FROM skills LIMIT 1000;

-- name: get_skill
SELECT * FROM skills WHERE slug = :slug;

-- name: put_skill
INSERT INTO skills (slug, text, source, by_id, created_at, updated_at)
VALUES (:slug, :text, :source, :by_id, :created_at, :updated_at)
ON CONFLICT (slug) DO UPDATE
SET text = excluded.text, source = excluded.source, by_id = excluded.by_id, updated_at = excluded.updated_at;

-- name: remove_skill
DELETE FROM skills WHERE slug = :slug;
