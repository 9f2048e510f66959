"""A batch that returns at once, with as many numbers as an Isaac Lab humanoid has: what its steps cost is the bridge's."""

import numpy as np
from gymnasium import spaces


def box(n):
    return spaces.Box(-np.inf, np.inf, (n,), np.float32)


class Batch:
    metadata = {"autoreset_mode": "same_step"}

    def __init__(self, num_envs=4096, observations=105, amp_observations=210, actions=28, **settings):
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = box(observations), box(actions)
        self.amp_observation_space = box(amp_observations)
        rng = np.random.default_rng(1)
        self.observations = rng.standard_normal((num_envs, observations), np.float32)
        self.infos = {"amp_obs": rng.standard_normal((num_envs, amp_observations), np.float32)}
        self.rewards, self.never = np.ones(num_envs, np.float32), np.zeros(num_envs, bool)

    def reset(self, seed=None, options=None):
        return self.observations, self.infos

    def step(self, actions):
        return self.observations, self.rewards, self.never, self.never, self.infos

    def collect_reference_motions(self, n):
        return np.zeros((n, self.amp_observation_space.shape[0]), np.float32)

    def close(self):
        pass
