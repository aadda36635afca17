-- requests for memory that failed
SELECT rank, start / 1e6 AS at_ms, step, bytes, phase, category, owner
FROM MEMORY_EVENTS WHERE action = 'out_of_memory' ORDER BY rank, id
