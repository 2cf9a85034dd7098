-- Credentials: at most 200.

-- name: all_credentials
SELECT * FROM credentials LIMIT 1000;

-- name: get_credential
SELECT * FROM credentials WHERE name = :name;

-- name: put_credential
INSERT INTO credentials (name, variable, hosts, header, template, created_at, updated_at)
VALUES (:name, :variable, :hosts, :header, :template, :now, :now)
ON CONFLICT (name) DO UPDATE
SET variable = excluded.variable, hosts = excluded.hosts, header = excluded.header, template = excluded.template,
    updated_at = excluded.updated_at;

-- name: remove_credential
DELETE FROM credentials WHERE name = :name;
