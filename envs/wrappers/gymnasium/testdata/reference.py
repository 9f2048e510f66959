"""Steps Gymnasium's own vector environment and writes what it returned: reference.py ENVIRONMENT COPIES STEPS SEED OUT.npz

The environment is an id, or module:factory. Actions are drawn at random and written as well, as rows of float32.
"""

import importlib
import sys

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv


def flat(space, value):
    """A value as a row of numbers: Dict by sorted key, Tuple in order, discrete ones from 0 on."""
    if isinstance(space, gymnasium.spaces.Dict):
        return np.concatenate([flat(space[k], value[k]) for k in sorted(space.spaces)])
    if isinstance(space, gymnasium.spaces.Tuple):
        return np.concatenate([flat(s, v) for s, v in zip(space.spaces, value)])
    return (np.asarray(value) - getattr(space, "start", 0)).reshape(-1).astype(np.float32)


def row(space, batch, i):
    """Row i of a batch."""
    if isinstance(space, gymnasium.spaces.Dict):
        return {k: row(s, batch[k], i) for k, s in space.spaces.items()}
    if isinstance(space, gymnasium.spaces.Tuple):
        return tuple(row(s, b, i) for s, b in zip(space.spaces, batch))
    return batch[i]


class Last(gymnasium.Wrapper):
    """Keeps the last observation of a step."""

    def step(self, action):
        result = self.env.step(action)
        self.last = result[0]
        return result


def main(name, copies, steps, seed, out):
    copies, steps, seed = int(copies), int(steps), int(seed)

    def create():
        if ":" not in name:
            return Last(gymnasium.make(name))
        module, factory = name.split(":")
        return Last(getattr(importlib.import_module(module), factory)())

    envs = SyncVectorEnv([create] * copies, autoreset_mode=AutoresetMode.SAME_STEP)
    single, act = envs.single_observation_space, envs.single_action_space
    rng = np.random.default_rng(seed)
    first, _ = envs.reset(seed=seed)
    observations = [[flat(single, row(single, first, i)) for i in range(copies)]]
    finals, rewards, flags, actions = [], [], [], []
    for _ in range(steps):
        if isinstance(act, gymnasium.spaces.Box):
            chosen = rng.uniform(-1, 1, (copies,) + act.shape).astype(np.float32)
        elif isinstance(act, gymnasium.spaces.Discrete):
            chosen = rng.integers(act.start, act.start + act.n, copies)
        else:
            chosen = rng.integers(0, act.nvec, (copies,) + act.shape)
        obs, reward, terminated, truncated, _ = envs.step(chosen)
        actions.append((chosen - getattr(act, "start", 0)).reshape(copies, -1).astype(np.float32))
        observations.append([flat(single, row(single, obs, i)) for i in range(copies)])
        last = np.zeros((copies, len(observations[0][0])), np.float32)
        for i in np.flatnonzero(terminated | truncated):
            last[i] = flat(single, envs.envs[i].last)
        finals.append(last)
        rewards.append(np.asarray(reward, np.float64))
        flags.append(terminated + 2.0 * truncated)
    np.savez(out, observations=np.array(observations, np.float32), finals=np.array(finals, np.float32), rewards=np.array(rewards),
             flags=np.array(flags, np.float32), actions=np.array(actions, np.float32))


main(*sys.argv[1:])
