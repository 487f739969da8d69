"""Reads a CSV file with pandas and polars, whichever are installed, and prints seconds as JSON.

python read_csv.py FILE RUNS

For each: all columns, as a script on a profile usually starts; and only the columns that `timeline` reads. The best of
RUNS, after one that is not counted.
"""

import json
import sys
import time

COLUMNS = [
    "Device_id", "Task ID", "Stream ID", "Name", "Type", "Accelerator Core", "Start Time(us)", "Duration(us)", "Block Dim",
    "Mix Block Dim", "Input Shapes", "Input Data Types", "Output Shapes", "Output Data Types", "aicore_time(us)",
    "aiv_time(us)",
]  # fmt: skip


def best(runs, read):
    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        read()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def main(path, runs):
    found = {}
    try:
        import pandas

        found["pandas"] = best(runs, lambda: pandas.read_csv(path))
        found["pandas_columns"] = best(runs, lambda: pandas.read_csv(path, usecols=COLUMNS))
    except ImportError:
        pass
    try:
        import polars

        options = {"null_values": ["N/A"], "infer_schema_length": 10_000}
        found["polars"] = best(runs, lambda: polars.read_csv(path, **options))
        found["polars_columns"] = best(runs, lambda: polars.read_csv(path, columns=COLUMNS, **options))
    except ImportError:
        pass
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
