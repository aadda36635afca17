-- collectives one by one, by how long each was exposed
WITH collectives AS (
  SELECT rank, step, name, phase, unit, start, "end", row_number() OVER () AS id,
         max(start, ifnull(max("end") OVER earlier, start)) AS alone_from
  FROM EVENTS WHERE kind = 'communication'
  WINDOW earlier AS (PARTITION BY rank ORDER BY start, "end" DESC
                     ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), points AS (
  SELECT rank, start AS time, 1 AS kernels, NULL AS id, 0 AS sign FROM EVENTS WHERE kind = 'compute'
  UNION ALL SELECT rank, "end", -1, NULL, 0 FROM EVENTS WHERE kind = 'compute'
  UNION ALL SELECT rank, alone_from, 0, id, -1 FROM collectives WHERE alone_from < "end"
  UNION ALL SELECT rank, "end", 0, id, 1 FROM collectives WHERE alone_from < "end"
), pieces AS (
  SELECT rank, time, id, sign, sum(kernels) OVER so_far AS kernels,
         lead(time, 1, time) OVER so_far - time AS duration
  FROM points WINDOW so_far AS (PARTITION BY rank ORDER BY time ROWS UNBOUNDED PRECEDING)
), clocks AS (  -- how long no kernel has run until then
  SELECT id, sign, ifnull(sum(iif(kernels = 0, duration, 0)) OVER earlier, 0) AS uncovered
  FROM pieces WINDOW earlier AS (PARTITION BY rank ORDER BY time
                                 ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), exposed AS (
  SELECT id, sum(sign * uncovered) AS exposed FROM clocks WHERE id IS NOT NULL GROUP BY id
)
SELECT rank, step, name, phase, unit, ifnull(exposed, 0) AS exposed, start, "end" - start AS duration
FROM collectives LEFT JOIN exposed USING (id) ORDER BY exposed DESC, rank, start
