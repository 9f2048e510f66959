"""Steps EnvPool and writes what it returned: envpool_reference.py ENVIRONMENT COPIES STEPS SEED OUT.npz"""

import sys

import envpool
import numpy as np


def main(name, copies, steps, seed, out):
    copies, steps, seed = int(copies), int(steps), int(seed)
    env = envpool.make(name, env_type="gymnasium", num_envs=copies, seed=seed)
    rng = np.random.default_rng(seed)
    observations, rewards, flags, actions = [env.reset()[0]], [], [], []
    for _ in range(steps):
        chosen = rng.uniform(-1, 1, (copies,) + env.action_space.shape).astype(np.float32)
        obs, reward, terminated, truncated, _ = env.step(chosen)
        actions.append(chosen)
        observations.append(obs)
        rewards.append(reward)
        flags.append(terminated + 2.0 * truncated)
    as_floats = {k: np.array(v, np.float32) for k, v in dict(observations=observations, rewards=rewards, flags=flags, actions=actions).items()}
    np.savez(out, **as_floats)


main(*sys.argv[1:])
