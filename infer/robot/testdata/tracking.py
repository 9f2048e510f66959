"""Compares gorl_mujoco.py with states, observations and the pose error of gorl: tracking.py FOLDER MODEL DUMP."""

import json
import math
import sys

import mujoco
import numpy as np

sys.path.insert(0, sys.argv[1])
import gorl_mujoco  # noqa: E402

with open(sys.argv[3]) as f:
    dump = json.load(f)
sim = gorl_mujoco.Simulation(sys.argv[2], dump["Robot"])
sizes = {t["name"]: t["size"] for t in dump["Robot"]["observation"]}
first = np.array(dump["Rows"][0]["Observed"])
phase = first[sizes["features"] :][:2]
start = math.atan2(*phase) / (2 * math.pi) % 1 * sim.reference["duration"]
sim.reset(start)
begun = np.abs(sim.observe(None) - first)
worst, bodies = 0, []
for k, row in enumerate(dump["Rows"]):
    sim.time = start + k / sim.robot["frequency"]
    sim.data.qpos[:], sim.data.qvel[:] = row["QPos"], row["QVel"]
    mujoco.mj_forward(sim.model, sim.data)
    sim.follow()
    worst = max(worst, np.abs(sim.observe(None) - row["Observed"]).max())
    if k:
        bodies.append(np.stack([sim.data.xpos[1:], sim.now.xpos[1:]]))
    assert not sim.lost()
error = gorl_mujoco.pose_error(*np.moveaxis(np.array(bodies), 1, 0))
sim.reference["deviation"] = 1e-3
print(f"{len(dump['Rows'])} steps, observations differ by {worst:.2g} at most, at the start by {begun.max():.2g}, "
      f"pose error {error:.5f} and {dump['Error']:.5f}")  # fmt: skip
assert worst < 1e-4 and sim.lost() and abs(error - dump["Error"]) < 2e-3
