-- exposed communication of each FSDP unit
SELECT unit, count(*) AS collectives, sum(duration) / 1e6 AS total_ms, sum(exposed) / 1e6 AS exposed_ms
FROM exposed_collectives GROUP BY unit ORDER BY exposed_ms DESC, unit
