-- ten costliest device operators of each step
WITH totals AS (
  SELECT step, kind, name, count(*) AS events, sum(duration) AS duration
  FROM EVENTS WHERE kind IN ('compute', 'communication', 'memory')
  GROUP BY step, kind, name
), ranked AS (
  SELECT *, row_number() OVER (PARTITION BY step ORDER BY duration DESC, name) AS place,
         sum(duration) OVER (PARTITION BY step) AS whole
  FROM totals
)
SELECT step, place, name, kind, events, duration / 1e6 AS ms, 100.0 * duration / whole AS percent
FROM ranked WHERE place <= 10 ORDER BY step, place
