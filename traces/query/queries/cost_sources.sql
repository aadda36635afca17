-- share of predicted work by where its time comes from
SELECT costSource AS source, count(*) AS events, sum(duration) / 1e6 AS ms,
       100.0 * sum(duration) / sum(sum(duration)) OVER () AS percent
FROM EVENTS WHERE costSource IS NOT NULL
GROUP BY costSource ORDER BY ms DESC, source
