"""Reads event files with TensorBoard's EventAccumulator, whole: accumulator.py LOGDIR OUT.json

It writes JSON: for every folder below LOGDIR that has event files, for every tag its values as rows
[step, wall time, value]. Floating-point numbers are written in hexadecimal, so that no digit is lost.
"""

import json
import os
import sys

from tensorboard.backend.event_processing.event_accumulator import SCALARS, EventAccumulator

logdir, runs = sys.argv[1], {}
for folder, _, files in os.walk(logdir):
    if not any("tfevents" in name for name in files):
        continue
    accumulator = EventAccumulator(folder, size_guidance={SCALARS: 0})
    accumulator.Reload()
    runs[os.path.relpath(folder, logdir)] = {
        tag: [[e.step, float(e.wall_time).hex(), float(e.value).hex()] for e in accumulator.Scalars(tag)]
        for tag in accumulator.Tags()[SCALARS]
    }
with open(sys.argv[2], "w", encoding="utf-8") as out:
    json.dump(runs, out)
