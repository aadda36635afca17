-- collectives in which each rank of their process group arrived last, and its waiting time
SELECT rank, count(*) AS collectives, sum(arrivedLast) AS arrived_last, sum(waited) / 1e6 AS waited_ms
FROM collective_waits GROUP BY rank ORDER BY arrived_last DESC, rank
