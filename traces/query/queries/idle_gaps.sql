-- twenty longest gaps without a kernel, and what the host did
WITH kernels AS (
  SELECT rank, start, max("end") OVER (PARTITION BY rank ORDER BY start
                                       ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS idle_from
  FROM EVENTS WHERE kind = 'compute'
), gaps AS MATERIALIZED (
  SELECT rank, idle_from, start AS idle_until FROM kernels
  WHERE start - idle_from > 100000 ORDER BY start - idle_from DESC LIMIT 20
), doings AS (
  SELECT g.rank, idle_from, idle_until, e.kind, e.name,
         row_number() OVER (PARTITION BY g.rank, idle_from
                            ORDER BY min("end", idle_until) - max(start, idle_from) DESC,
                                     duration, e.name) AS place
  FROM EVENTS e CROSS JOIN gaps g
  WHERE e.kind IN ('host', 'host_wait', 'host_compute', 'runtime')
    AND e.rank = g.rank AND start < idle_until AND "end" > idle_from
)
SELECT rank, idle_from / 1e6 AS from_ms, (idle_until - idle_from) / 1e3 AS idle_us,
       doings.kind, doings.name
FROM gaps LEFT JOIN doings USING (rank, idle_from, idle_until)
WHERE ifnull(place, 1) = 1 ORDER BY idle_until - idle_from DESC, rank, idle_from
