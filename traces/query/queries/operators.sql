-- operators by total time, with their share of all time of their kind
SELECT kind, name, count(*) AS events, sum(duration) / 1e6 AS total_ms,
       avg(duration) / 1e3 AS mean_us,
       100.0 * sum(duration) / sum(sum(duration)) OVER (PARTITION BY kind) AS percent_of_kind
FROM EVENTS WHERE kind NOT IN ('range', 'stack', 'wait')
GROUP BY kind, name ORDER BY sum(duration) DESC, kind, name
