-- start and duration of each step on each rank
SELECT rank, step, start / 1e6 AS start_ms, ("end" - start) / 1e6 AS duration_ms, loss, gradientNorm
FROM STEPS ORDER BY rank, step
