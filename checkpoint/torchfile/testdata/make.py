"""Makes the files in this folder. Run it with the Python of `make peers`, in this folder."""

import collections

import numpy as np
import torch

torch.manual_seed(0)
base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
shared = torch.arange(5, dtype=torch.int64)
torch.save(
    {
        "contiguous": base.clone(), "transposed": base.clone().t(), "columns": base.clone()[1:3, 1:5:2], "row": base.clone()[2],
        "scalar": torch.tensor(2.5), "empty": torch.zeros(0, 3), "shared": [shared, shared[2:], shared[::2]],
        "expanded": torch.tensor([[1.0], [2.0]]).expand(2, 3).clone().t(), "parameter": torch.nn.Parameter(torch.ones(2)),
        "f64": torch.tensor([1.5, -2.0], dtype=torch.float64), "f16": torch.tensor([1.5], dtype=torch.float16),
        "bf16": torch.tensor([1.5], dtype=torch.bfloat16), "i32": torch.tensor([-7], dtype=torch.int32),
        "i16": torch.tensor([-7], dtype=torch.int16), "i8": torch.tensor([-7], dtype=torch.int8),
        "u8": torch.tensor([200], dtype=torch.uint8), "bool": torch.tensor([True, False]), "c64": torch.tensor([1 + 2j]),
        "ordered": collections.OrderedDict(b=1, a=2), "tuple": (1, "two", None, True), "size": torch.Size([2, 3]),
        "device": torch.device("cuda", 1), "dtype": torch.bfloat16, "float": 0.1, "numbers": [0, 255, 256, 65536, -1, 2**31, -(2**63)],
        7: "an integer key", "text": "grüße", "bytes": b"\x00\xff", "numpy": [np.float64(0.5), np.float32(0.25), np.int64(-3), np.bool_(True)],
        "module": torch.nn.Linear(3, 2).state_dict(),
    },
    "values.pt",
)  # fmt: skip
for protocol in (3, 4, 5):
    torch.save({"w": torch.ones(2), "f": np.float64(0.5), "n": 2**40}, f"protocol{protocol}.pt", pickle_protocol=protocol)
torch.save({"w": torch.ones(2)}, "legacy.pt", _use_new_zipfile_serialization=False)
torch.jit.script(torch.nn.Linear(2, 1)).save("script.pt")
