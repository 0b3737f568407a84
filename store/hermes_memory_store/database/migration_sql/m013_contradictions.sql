-- how often an act went against a fact that its session was given

ALTER TABLE fact_uses ADD COLUMN contradicted INTEGER NOT NULL DEFAULT 0;
