"""Measured against predicted memory: answers of `foreshard train` and of `foreshard predict`."""

FIELDS = ("peak_allocated_bytes", "peak_reserved_bytes", "peak_active_bytes", "peak_host_bytes")


def peaks(answer):
    """{(rank, step or "run", field): bytes}"""
    return {(row["rank"], row.get("step", "run"), field): row[field]
            for table in ("ranks_memory", "steps_memory") for row in answer[table] for field in FIELDS if field in row}


def worst_difference(measured, predicted):
    """Bytes by which the most different peak differs; one that only one of them has is as different as it is large."""
    a, b = peaks(measured), peaks(predicted)
    return max((abs(a.get(key, 0) - b.get(key, 0)) for key in a.keys() | b.keys()), default=0)
