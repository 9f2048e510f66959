"""Checks every model of a folder, runs it on <name>.in, and writes each output to <name>.<output>.out.

A model with memory goes through its rows in steps of so many environments as the second argument says, from states of
zeros; a model with action masks reads those of <name>.masks; where <name>.ended has a 1 the state behind the row is zero.
"""

import glob
import os
import sys

import numpy as np
import onnx
import onnxruntime

for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.onnx"))):
    base = path[: -len(".onnx")]
    onnx.checker.check_model(onnx.load(path), full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    given, *memory = session.get_inputs()
    masked = {m.name: np.fromfile(base + ".masks", dtype=np.float32).reshape(-1, m.shape[1]) for m in memory if m.name == "action_mask"}
    memory = [m for m in memory if m.name not in masked]
    assert given.name == "observations" and given.shape[0] == "batch", (given.name, given.shape)
    assert [m.name for m in memory] in ([], ["hidden_in"]), memory
    rows = np.fromfile(base + ".in", dtype=np.float32).reshape(-1, given.shape[1])
    names = [o.name for o in session.get_outputs() if o.name != "hidden_out"]
    if memory:
        n, size = int(sys.argv[2]), memory[0].shape[1]
        alive = 1 - np.fromfile(base + ".ended", dtype=np.uint8).astype(np.float32)
        hidden, steps = np.zeros((n, size), np.float32), []
        for at in range(0, len(rows), n):
            *values, hidden = session.run(names + ["hidden_out"], {"observations": rows[at : at + n], "hidden_in": hidden})
            assert hidden.shape == (n, size) and np.abs(hidden).max() > 0, hidden
            hidden = hidden * alive[at : at + n, None]
            steps.append(values)
        outputs = [np.concatenate(values) for values in zip(*steps)]
        one = session.run(names, {"observations": rows[:1], "hidden_in": np.zeros((1, size), np.float32)})
    else:
        outputs = session.run(names, {"observations": rows, **masked})
        one = session.run(names, {"observations": rows[:1], **{k: v[:1] for k, v in masked.items()}})
    for name, first, values in zip(names, one, outputs):
        assert values.shape[0] == len(rows) and first.shape == (1,) + values.shape[1:], (name, values.shape)
        assert values.dtype == (np.int64 if name == "actions" and "logits" in names else np.float32), (name, values.dtype)
        values.astype(np.float32).tofile(f"{base}.{name}.out")
