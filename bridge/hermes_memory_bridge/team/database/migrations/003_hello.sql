-- Asked once a second by every store: as a function, its plans are kept, which are nine tenths of what asking costs.
-- It runs with the rights of whoever asks, so a role that may see some themes only hears of those only.
-- Of every asked theme that is not as the store knows it: name, clock, removed up to, whether all the store has seen is still
-- there, and the sequence and token of the node's last push.
CREATE FUNCTION hm.hello(
  asking uuid, themes text[], seqs bigint[], marks bigint[], tokens uuid[],
  OUT ms bigint, OUT version int, OUT read_only boolean, OUT news json
) LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  ms := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
  version := (SELECT max(m.version) FROM hm.migration m);
  read_only := current_setting('transaction_read_only')::boolean;
  news := (
    SELECT coalesce(json_agg(json_build_array(d.theme, d.seq, d.gc_seq, d.whole,
      (SELECT json_build_array(m.seq, m.token) FROM hm.mark m
        WHERE m.theme = d.theme AND m.node = asking ORDER BY m.seq DESC LIMIT 1))), '[]')
    FROM (
      SELECT k.theme, coalesce(c.seq, 0) AS seq, coalesce(c.gc_seq, 0) AS gc_seq, k.seq AS known,
             coalesce(c.seq, 0) >= k.seq AND (k.mark_seq IS NULL OR EXISTS (
               SELECT 1 FROM hm.mark m WHERE m.theme = k.theme AND m.seq = k.mark_seq AND m.token = k.token)) AS whole
      FROM unnest(themes, seqs, marks, tokens) AS k (theme, seq, mark_seq, token)
      LEFT JOIN hm.clock c ON c.theme = k.theme
    ) d
    WHERE d.seq <> d.known OR NOT d.whole
  );
END $$;
