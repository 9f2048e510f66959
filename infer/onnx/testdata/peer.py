"""Checks every model of a folder, runs it on <name>.in, and writes each output to <name>.<output>.out."""

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
    (given,) = session.get_inputs()
    assert given.name == "observations" and given.shape[0] == "batch", (given.name, given.shape)
    rows = np.fromfile(base + ".in", dtype=np.float32).reshape(-1, given.shape[1])
    names = [o.name for o in session.get_outputs()]
    one = session.run(names, {"observations": rows[:1]})
    for name, first, values in zip(names, one, session.run(names, {"observations": rows})):
        assert values.shape[0] == len(rows) and first.shape == (1,) + values.shape[1:], (name, values.shape)
        assert values.dtype == (np.int64 if name == "actions" and "logits" in names else np.float32), (name, values.dtype)
        values.astype(np.float32).tofile(f"{base}.{name}.out")
