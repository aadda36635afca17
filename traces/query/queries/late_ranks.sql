-- collectives in which each rank of their process group arrived last, and its waiting time
WITH collectives AS (
  SELECT rank, duration, processGroup, sequence, start, iif(sequence > 0, 0, step) AS step,
         CASE WHEN processGroup <> '' THEN '' WHEN stableKey <> '' THEN stableKey ELSE name END
           AS collective
  FROM EVENTS WHERE kind = 'communication'
), numbered AS (
  SELECT *, row_number() OVER (PARTITION BY rank, step, processGroup, sequence, collective
                               ORDER BY start) AS occurrence
  FROM collectives
), compared AS (
  SELECT rank, duration - min(duration) OVER same AS waited, count(*) OVER same AS ranks,
         max(duration) OVER same > min(duration) OVER same AS differs,
         iif(processGroup <> '', length(processGroup) - length(replace(processGroup, ',', '')) + 1,
             (SELECT count(DISTINCT rank) FROM LANES)) AS members,
         row_number() OVER (PARTITION BY step, processGroup, sequence, collective, occurrence
                            ORDER BY duration, rank) AS place
  FROM numbered
  WINDOW same AS (PARTITION BY step, processGroup, sequence, collective, occurrence)
)
SELECT rank, count(*) AS collectives, sum(place = 1 AND differs) AS arrived_last, sum(waited) / 1e6 AS waited_ms
FROM compared WHERE ranks = members AND members > 1
GROUP BY rank ORDER BY arrived_last DESC, rank
