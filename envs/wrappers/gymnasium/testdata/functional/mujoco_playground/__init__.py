"""The same as in brax beside it, as MuJoCo Playground has it: groups of observations, and a key for each environment."""

import types

import brax


class Grouped(brax.Counting):
    observation_size, scale = {"state": (2,), "privileged_state": (1,)}, 1.0

    def __init__(self, scale):
        self.scale = scale

    def wrapped(self, episode_length, action_repeat, full_reset=False):
        assert action_repeat == 1
        self.limit = episode_length
        return self

    def reset(self, keys):
        self.n = len(keys)
        return self.show(super().reset(keys[0]))

    def step(self, state, action):
        state.obs = state.info["flat"]
        return self.show(super().step(state, action))

    def show(self, state):
        state.info["flat"] = state.obs
        state.obs = {"state": state.obs, "privileged_state": self.scale * state.obs[:, 1:]}
        return state


registry = types.SimpleNamespace(
    get_default_config=lambda name: {"episode_length": 1000, "action_repeat": 1},
    load=lambda name, config, config_overrides: Grouped(**config_overrides),
)
wrapper = types.SimpleNamespace(wrap_for_brax_training=lambda env, **kwargs: env.wrapped(**kwargs))
