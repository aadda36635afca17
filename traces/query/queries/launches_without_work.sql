-- launches whose kernel, copy or fill is not in the trace
WITH work AS (
  SELECT DISTINCT rank, correlation FROM EVENTS
  WHERE kind IN ('compute', 'communication', 'memory') AND correlation IS NOT NULL
)
SELECT launch.rank, launch.name, count(*) AS launches, min(start) / 1e6 AS first_ms,
       max(start) / 1e6 AS last_ms
FROM EVENTS launch LEFT JOIN work USING (rank, correlation)
WHERE kind IN ('runtime', 'host_wait') AND launch.correlation IS NOT NULL
  AND (launch.name LIKE '%Launch%' OR launch.name LIKE '%Memcpy%' OR launch.name LIKE '%Memset%')
  AND work.correlation IS NULL
GROUP BY launch.rank, launch.name ORDER BY launches DESC, launch.rank, launch.name
