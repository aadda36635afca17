-- memory at each rank's peak, by category
WITH levels AS (
  SELECT rank, id, start, sum(iif(action = 'alloc', bytes, -bytes))
           OVER (PARTITION BY rank ORDER BY id ROWS UNBOUNDED PRECEDING) AS allocated
  FROM MEMORY_EVENTS WHERE action IN ('alloc', 'free_requested') AND NOT onHost
), peaks AS (
  SELECT rank, id AS peak, start AS at, max(allocated) AS allocated FROM levels GROUP BY rank
), held AS (  -- what happened last at each address until then
  SELECT rank, at, allocated, max(id), action, category, bytes
  FROM MEMORY_EVENTS JOIN peaks USING (rank)
  WHERE id <= peak AND action IN ('alloc', 'free_requested') AND NOT onHost
  GROUP BY rank, address
)
SELECT rank, at / 1e6 AS at_ms, category, count(*) AS blocks, sum(bytes) AS bytes,
       100.0 * sum(bytes) / allocated AS percent
FROM held WHERE action = 'alloc' GROUP BY rank, category ORDER BY rank, sum(bytes) DESC
