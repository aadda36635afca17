-- events and their total time on each stream and thread
SELECT rank, device, lane, count(*) AS events, min(start) / 1e6 AS from_ms, max("end") / 1e6 AS to_ms,
       sum(duration) / 1e6 AS total_ms
FROM EVENTS GROUP BY rank, device, lane ORDER BY rank, device DESC, total_ms DESC
