-- collectives in which each rank arrived last, and its waiting time
WITH collectives AS (
  SELECT rank, step, duration, iif(stableKey <> '', stableKey, name) AS collective,
         row_number() OVER (PARTITION BY rank, step, iif(stableKey <> '', stableKey, name)
                            ORDER BY start) AS occurrence
  FROM EVENTS WHERE kind = 'communication'
), compared AS (
  SELECT rank, duration - min(duration) OVER same AS waited, count(*) OVER same AS ranks,
         max(duration) OVER same > min(duration) OVER same AS differs,
         row_number() OVER (PARTITION BY step, collective, occurrence ORDER BY duration, rank)
           AS place
  FROM collectives WINDOW same AS (PARTITION BY step, collective, occurrence)
)
SELECT rank, count(*) AS collectives, sum(place = 1 AND differs) AS arrived_last, sum(waited) / 1e6 AS waited_ms
FROM compared WHERE ranks = (SELECT count(DISTINCT rank) FROM LANES)
GROUP BY rank ORDER BY arrived_last DESC, rank
