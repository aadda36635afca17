-- memory at each rank's peak, by owner
WITH levels AS (
  SELECT rank, id, start, sum(iif(action = 'alloc', bytes, -bytes))
           OVER (PARTITION BY rank ORDER BY id ROWS UNBOUNDED PRECEDING) AS allocated
  FROM MEMORY_EVENTS WHERE action IN ('alloc', 'free_requested') AND NOT onHost
), peaks AS (
  SELECT rank, id AS peak, max(allocated) AS allocated FROM levels GROUP BY rank
), held AS (  -- what happened last at each address until then
  SELECT rank, allocated, max(id), action, category, owner, bytes
  FROM MEMORY_EVENTS JOIN peaks USING (rank)
  WHERE id <= peak AND action IN ('alloc', 'free_requested') AND NOT onHost
  GROUP BY rank, address
)
SELECT rank, owner, category, count(*) AS blocks, sum(bytes) AS bytes,
       100.0 * sum(bytes) / allocated AS percent
FROM held WHERE action = 'alloc' GROUP BY rank, owner, category
ORDER BY rank, sum(bytes) DESC, owner, category
