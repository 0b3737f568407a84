-- the name that a theme has in the team's database

-- The name of a theme in the team's database; null: its own.
ALTER TABLE sync_themes ADD COLUMN team_name TEXT;
