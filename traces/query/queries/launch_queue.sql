-- work that was launched and has not begun, by time
WITH linked AS (
  SELECT rank, kind, start, ifnull(correlation, step || ' ' || instruction) AS launch
  FROM EVENTS WHERE correlation IS NOT NULL OR instruction >= 0
), calls AS (
  SELECT rank, launch, min(start) AS start FROM linked
  WHERE kind IN ('host', 'host_wait', 'runtime') GROUP BY rank, launch
), works AS (
  SELECT rank, launch, min(start) AS start FROM linked
  WHERE kind IN ('compute', 'communication', 'memory') GROUP BY rank, launch
), queued AS (
  SELECT rank, calls.start AS launched, works.start AS begun
  FROM calls JOIN works USING (rank, launch) WHERE works.start >= calls.start
), changes AS (
  SELECT rank, launched AS time, 1 AS change FROM queued
  UNION ALL SELECT rank, begun, -1 FROM queued
)
SELECT rank, time / 1e6 AS ms, sum(sum(change)) OVER (PARTITION BY rank ORDER BY time) AS queued
FROM changes GROUP BY rank, time ORDER BY rank, time
