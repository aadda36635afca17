#!/usr/bin/env python3
"""Counts what an SQLite export of Nsight Systems holds, independently of the importer: `name value` lines.

Usage: count_nsys.py FILE
"""
import sqlite3
import sys

RANGES, MARKS = (59, 60, 70, 71), (34, 65)


def main(path):
    database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def columns(table):
        return [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]

    def one(sql):
        return database.execute(sql).fetchone()

    strings = dict(database.execute("SELECT id, value FROM StringIds")) if "StringIds" in tables else {}
    counts = {}
    for short, table in (("kernels", "CUPTI_ACTIVITY_KIND_KERNEL"), ("copies", "CUPTI_ACTIVITY_KIND_MEMCPY"),
                         ("fills", "CUPTI_ACTIVITY_KIND_MEMSET"), ("calls", "CUPTI_ACTIVITY_KIND_RUNTIME"),
                         ("synchronizations", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION")):
        rows, time = one(f'SELECT count(*), ifnull(sum("end" - start), 0) FROM {table}') if table in tables else (0, 0)
        counts[short], counts[short + "_ns"] = rows, time
    counts["copied_bytes"] = one("SELECT ifnull(sum(bytes), 0) FROM CUPTI_ACTIVITY_KIND_MEMCPY")[0] if counts["copies"] else 0
    kernels = []
    if counts["kernels"]:
        kernels = list(database.execute('SELECT demangledName, start, "end" FROM CUPTI_ACTIVITY_KIND_KERNEL'))
    nccl = [(end - start) for name, start, end in kernels if "nccl" in str(strings.get(name, name)).lower()]
    counts["nccl_kernels"], counts["nccl_kernels_ns"] = len(nccl), sum(nccl)
    counts["ranges"] = counts["operators"] = 0
    if "NVTX_EVENTS" in tables:
        for kind, text, text_id in database.execute("SELECT eventType, text, textId FROM NVTX_EVENTS"):
            if kind in RANGES + MARKS:
                text = text if text is not None else strings.get(text_id, "")
                is_operator = ", seq = " in text or ", op_id = " in text
                counts["operators" if is_operator else "ranges"] += 1
    pids = set()
    for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"):
        if table in tables:
            pid = "globalPid" if "globalPid" in columns(table) else "0"
            pids |= set(database.execute(f"SELECT {pid}, deviceId FROM {table}"))
    counts["ranks"] = len(pids)
    for name, value in counts.items():
        print(name, value)


if __name__ == "__main__":
    main(sys.argv[1])
