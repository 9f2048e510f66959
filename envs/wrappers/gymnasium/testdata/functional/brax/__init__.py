"""An environment with Brax's functions, states and types, for tests of the bridge: it counts its steps."""

import types

import numpy as np


class State:
    def __init__(self, obs, reward, done, metrics, info):
        self.obs, self.reward, self.done, self.metrics, self.info = obs, reward, done, metrics, info
        self.pipeline_state = obs

    def map(self, f):
        return State(f(self.obs), f(self.reward), f(self.done), {k: f(v) for k, v in self.metrics.items()}, {k: f(v) for k, v in self.info.items()})


class Counting:
    """Row i is done after 3 + i steps, and truncated after limit: done says both, as a float; then it is in its first state again."""

    observation_size, action_size = 2, 1

    def __init__(self, n, limit):
        self.n, self.limit = n, limit

    def reset(self, key):
        start = np.random.default_rng(key).normal(size=self.n).astype(np.float32)
        zero = np.zeros(self.n, np.float32)
        obs = np.stack([start, zero], 1)
        return State(obs, zero, zero, {"far": zero}, {"truncation": zero, "first": obs, "steps": zero})

    def step(self, state, action):
        steps = np.where(state.done == 1, 0, state.info["steps"]) + 1
        done, cut = steps >= 3 + np.arange(self.n), steps >= self.limit
        over = (done | cut).astype(np.float32)
        obs = np.where(over[:, None] == 1, state.info["first"], np.stack([state.obs[:, 0], steps], 1)).astype(np.float32)
        obs.flags.writeable = False  # as what jax returns
        info = dict(state.info, steps=steps.astype(np.float32), truncation=(cut & ~done).astype(np.float32), amp=np.stack([steps, -steps], 1))
        return State(obs, action[:, 0], over, {"far": 2.0 * steps}, info)

    def render(self, states):
        return [np.full((2, 2, 3), int(abs(obs[1])), np.uint8) for obs in states]


envs = types.SimpleNamespace(create=lambda name, episode_length=1000, batch_size=None: Counting(batch_size, episode_length))
