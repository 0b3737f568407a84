-- The rows that stores exchange. Every key leads with the theme, so that the tables partition and shard by theme.

-- One row a theme: the counter that orders commits. Whoever writes to a theme locks its row first, so that nobody can see
-- change n+1 before change n; a sequence or a time would let a reader step over a transaction that commits late.
CREATE TABLE hm.clock (
  theme  text PRIMARY KEY,
  seq    bigint NOT NULL DEFAULT 0,
  gc_seq bigint NOT NULL DEFAULT 0              -- deleted rows up to here may have been removed
);

-- One row an accepted push: a store whose last mark is gone knows that the server lost its tail.
CREATE TABLE hm.mark (
  theme text NOT NULL,
  seq   bigint NOT NULL,
  token uuid NOT NULL,
  node  uuid NOT NULL,
  at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (theme, seq)
);
CREATE INDEX mark_of_node ON hm.mark (theme, node, seq);

CREATE TABLE hm.fact (
  theme       text NOT NULL,
  id          uuid NOT NULL,
  kind        text NOT NULL DEFAULT 'fact',
  content     text,
  attrs       jsonb NOT NULL DEFAULT '{}',
  supersedes  uuid,
  content_sha bytea,
  state       smallint NOT NULL DEFAULT 0 CHECK (state IN (0, 1, 2)),  -- live, deleted, purged for ever
  hlc         bigint NOT NULL,
  node        uuid NOT NULL,
  anc         bigint[] NOT NULL DEFAULT '{}',   -- clocks of the versions before: tells a later edit from a concurrent one
  seq         bigint NOT NULL,
  -- Bounded: a text of more than 1 MB of lexemes is an error, and would block its row for ever.
  words       tsvector GENERATED ALWAYS AS (
    to_tsvector('simple', left(coalesce(attrs ->> 'target', ''), 400) || ' ' || left(coalesce(content, ''), 8000))
  ) STORED,
  PRIMARY KEY (theme, id),
  CHECK (state < 2 OR content IS NULL)
);
CREATE UNIQUE INDEX fact_theme_seq ON hm.fact (theme, seq);
CREATE INDEX fact_words ON hm.fact USING gin (words);

-- Where a first push lies before it is merged; empty outside of a transaction. Unlogged, since nobody needs it after a crash.
CREATE UNLOGGED TABLE hm.stage (
  n          bigint NOT NULL,
  id         uuid NOT NULL,
  kind       text NOT NULL,
  content    text,
  attrs      text NOT NULL,
  supersedes uuid,
  state      smallint NOT NULL,
  hlc        bigint NOT NULL,
  node       uuid NOT NULL,
  anc        bigint[] NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
