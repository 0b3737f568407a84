-- projects, origins of facts, turns and changes, verdicts, numbers of sessions

-- What is one project to people: known by what it was seen as. One that turned out to be another has joined it, and keeps
-- its name, so that a name never means something else later. `folded` is the name as names are compared.
    CREATE TABLE projects (
      id INTEGER PRIMARY KEY,
      uid BLOB NOT NULL UNIQUE,
      name TEXT NOT NULL,
      folded TEXT NOT NULL UNIQUE,
      seen_at INTEGER NOT NULL,
      joined_id INTEGER REFERENCES projects (id)
    ) STRICT
    ;

-- Identities: normalised remote URLs, root commits, common directories and paths.
    CREATE TABLE project_aliases (
      kind TEXT NOT NULL,
      value TEXT NOT NULL,
      project_id INTEGER NOT NULL REFERENCES projects (id),
      seen_at INTEGER NOT NULL,
      PRIMARY KEY (kind, value)
    ) STRICT, WITHOUT ROWID
    ;

CREATE INDEX aliases_of_project ON project_aliases (project_id);

-- Where things came from, one row for each distinct origin of a theme. The digest covers all of it but paths of this
-- machine (root, and where a file lies): the journal's chain names an origin by it. Its salt goes with what is erased.
    CREATE TABLE origins (
      id INTEGER PRIMARY KEY,
      theme_id INTEGER NOT NULL REFERENCES themes (id),
      digest BLOB NOT NULL,
      salt BLOB NOT NULL,
      way TEXT NOT NULL,
      session TEXT,
      title TEXT,
      client TEXT,
      client_version TEXT,
      project_id INTEGER REFERENCES projects (id),
      root TEXT,
      folder TEXT,
      branch TEXT,
      commit_id TEXT,
      peer TEXT,
      program TEXT,
      teammate TEXT,
      team_way TEXT,
      team_verdict TEXT,
      file TEXT
    ) STRICT
    ;

CREATE INDEX origins_alike ON origins (theme_id, session, file, commit_id);

CREATE INDEX origins_of_project ON origins (project_id) WHERE project_id IS NOT NULL;

-- Null in all of these: unknown. The detail is JSON: the line of an import, the turns a fact was written from.
ALTER TABLE facts ADD COLUMN origin_id INTEGER REFERENCES origins (id);

ALTER TABLE facts ADD COLUMN origin_detail TEXT;

ALTER TABLE facts ADD COLUMN verdict TEXT;

ALTER TABLE turns ADD COLUMN origin_id INTEGER REFERENCES origins (id);

ALTER TABLE turns ADD COLUMN verdict TEXT;

ALTER TABLE journal ADD COLUMN origin_id INTEGER REFERENCES origins (id);

ALTER TABLE sessions ADD COLUMN client_version TEXT;

ALTER TABLE sessions ADD COLUMN project_id INTEGER REFERENCES projects (id);

ALTER TABLE sessions ADD COLUMN number INTEGER;

-- Numbers count the sessions of a client in a project.
CREATE INDEX sessions_by_client ON sessions (theme_id, client, project_id, number) WHERE number IS NOT NULL;

CREATE INDEX facts_of_origin ON facts (origin_id) WHERE origin_id IS NOT NULL;

-- Where facts of the team came from that are not shown here yet: what their rows say of it, and who brought them.
    CREATE TABLE sync_origins (
      theme_id INTEGER NOT NULL,
      uid BLOB NOT NULL,
      said TEXT,
      teammate TEXT,
      PRIMARY KEY (theme_id, uid)
    ) STRICT, WITHOUT ROWID
    ;

    CREATE TRIGGER sync_origins_purged AFTER INSERT ON tombstones WHEN EXISTS (SELECT 1 FROM sync_themes WHERE theme_id = new.theme_id) BEGIN
      DELETE FROM sync_origins WHERE theme_id = new.theme_id AND uid = new.uid;
    END
    ;
