-- what the trace records of its run: model, plan, ranks, versions
SELECT name, value FROM META_DATA_EXPORT ORDER BY name
