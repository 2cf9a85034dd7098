-- Imported skills: a few hundred at most.

-- name: all_skills
-- Without the files, which can be large.
SELECT slug, text, source, by_id, created_at, updated_at, files, trusted FROM skills LIMIT 1000;

-- name: skill_stamps
-- Times by which the caller decides whether to read the texts again.
SELECT slug, updated_at FROM skills LIMIT 1000;

-- name: get_skill
SELECT slug, text, source, by_id, created_at, updated_at, files, trusted FROM skills WHERE slug = :slug;

-- name: get_skill_bundle
SELECT bundle FROM skills WHERE slug = :slug;

-- name: put_skill
INSERT INTO skills (slug, text, source, by_id, created_at, updated_at, files, bundle, trusted)
VALUES (:slug, :text, :source, :by_id, :created_at, :updated_at, :files, :bundle, :trusted)
ON CONFLICT (slug) DO UPDATE
SET text = excluded.text, source = excluded.source, by_id = excluded.by_id, updated_at = excluded.updated_at,
    files = excluded.files, bundle = excluded.bundle, trusted = excluded.trusted;

-- name: trust_skill
UPDATE skills SET trusted = :trusted, updated_at = :now WHERE slug = :slug;

-- name: remove_skill
DELETE FROM skills WHERE slug = :slug;
