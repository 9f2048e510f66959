# Writes spread.json: what simple_spread_v3 of mpe2 1.1.1 did from given states with given actions.
import json
import numpy as np
from mpe2 import simple_spread_v3

out = {"mpe2": "1.1.1", "episodes": []}
for seed in (1, 2, 3):
    env = simple_spread_v3.parallel_env()
    env.reset(seed=seed)
    world = env.unwrapped.world
    rng = np.random.default_rng(seed)
    points = lambda what, things: [[float(x) for x in getattr(t.state, what)] for t in things]
    episode = {"agents": points("p_pos", world.agents), "landmarks": points("p_pos", world.landmarks), "steps": []}
    for step in range(25):
        if seed < 3:
            actions = [int(a) for a in rng.integers(0, 5, 3)]
        else:  # everyone to the middle: agents touch
            actions = [int({0: 2 if a.state.p_pos[0] < 0 else 1, 1: 4 if a.state.p_pos[1] < 0 else 3}[step % 2]) for a in world.agents]
        observations, rewards, _, truncations, _ = env.step({f"agent_{i}": a for i, a in enumerate(actions)})
        line = {"actions": actions, "rewards": [float(rewards[f"agent_{i}"]) for i in range(3)],
                "agents": points("p_pos", world.agents), "truncated": bool(truncations["agent_0"])}
        if step % 8 == 7:
            line["state"] = [float(x) for x in env.state()]
        episode["steps"].append(line)
    out["episodes"].append(episode)
print(json.dumps(out))
