-- collectives by name, unit and size
SELECT name, unit, bytes, count(*) AS collectives, sum(duration) / 1e6 AS total_ms,
       min(duration) / 1e3 AS shortest_us, max(duration) / 1e3 AS longest_us
FROM EVENTS WHERE kind = 'communication'
GROUP BY name, unit, bytes ORDER BY sum(duration) DESC, name, unit, bytes
