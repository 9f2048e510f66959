"""Environments for the tests of the bridge."""

import os
import signal
import time

import gymnasium
import numpy as np
from gymnasium import spaces


class Rooms(gymnasium.Env):
    """Observations of every kind, drawn from the environment's generator; episodes of random length."""

    metadata = {"render_modes": ["rgb_array"]}

    def __init__(self, render_mode=None, offset=0):
        self.render_mode, self.offset = render_mode, offset
        self.observation_space = spaces.Dict(
            {
                "pose": spaces.Box(-10.0, 10.0, (2, 2), np.float64),
                "door": spaces.Discrete(5, start=3),
                "arm": spaces.Dict({"joints": spaces.Box(-1, 1, (3,), np.float32), "grip": spaces.MultiBinary(2)}),
                "keys": spaces.Tuple((spaces.MultiDiscrete([3, 4]), spaces.Box(0, 255, (), np.uint8))),
            }
        )
        self.action_space = spaces.MultiDiscrete([3, 4])

    def observe(self):
        r = self.np_random
        return {
            "pose": r.uniform(-10, 10, (2, 2)),
            "keys": (r.integers(0, [3, 4]), np.uint8(r.integers(256))),
            "door": np.int64(3 + r.integers(5)),
            "arm": {"grip": r.integers(0, 2, 2).astype(np.int8), "joints": r.uniform(-1, 1, 3).astype(np.float32)},
        }

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.observe(), {"steps": 0}

    def step(self, action):
        assert self.action_space.contains(np.asarray(action)), action
        self.steps += 1
        reward = float(action[0] + 10 * action[1] + self.np_random.normal()) + self.offset
        ended = self.np_random.random() < 0.05
        info = {"steps": self.steps, "nested": {"double": np.float32(2 * self.steps)}, "word": f"step {self.steps}", "list": [1.5, float("nan")], "flag": np.bool_(True)}
        if self.offset:  # which Gymnasium's own vector environments do not take
            info["huge"] = 10**400
        return self.observe(), reward, ended, self.steps >= 30, info

    def render(self):
        picture = np.zeros((4, 6, 3), np.uint8)
        picture[1, 2] = (self.steps, 20, 30)
        return picture


class Faulty(gymnasium.Env):
    """Does something bad in the tenth step of its process."""

    def __init__(self, how="", marker="", index=1):
        self.observation_space = spaces.Box(-1, 1, (2,), np.float32)
        self.action_space = spaces.Discrete(2, start=5)
        self.how, self.marker, self.steps = how, marker, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        assert action in (5, 6), action
        self.steps += 1
        reward = 1.0
        if self.steps == 10 and self.turn():
            if self.how == "exit":
                print("the simulation has exploded")
                os._exit(9)
            elif self.how == "crash":
                os.kill(os.getpid(), signal.SIGSEGV)
            elif self.how == "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            elif self.how == "hang":
                time.sleep(3600)
            elif self.how == "raise":
                raise RuntimeError("the environment is cross")
            elif self.how == "none":
                reward = None
            elif self.how == "list":
                reward = [0.25] * 50
            elif self.how == "integer":
                reward = 10**400
        return np.full(2, 0.5, np.float32), reward, False, False, {}

    def turn(self):
        try:
            os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
            return True
        except FileExistsError:
            return False


class Imitator(gymnasium.Env):
    """Has AMP observations, privileged states, reward shaping, a curriculum and reference motion."""

    amp_observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)

    def __init__(self):
        self.observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self.action_space = spaces.Box(-1, 1, (2,), np.float32)
        self.scale, self.level, self.place = {"bonus": 1.0, "delay": 2}, 0, np.zeros(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = self.np_random.normal(size=2), 0
        return self.observe(), {"critic": self.state()}

    def observe(self):
        return np.array([*self.place, self.level], np.float32)

    def state(self):
        return np.array([self.steps, *self.place, 1.0])

    def step(self, action):
        self.steps += 1
        before, self.place = self.place, np.clip(self.place + 0.1 * np.asarray(action), -3, 3)
        reward = -float(np.sum(self.place**2)) + self.scale["bonus"]
        info = {"amp_obs": self.place - before, "critic": self.state(), "far": float(np.abs(self.place).max())}
        return self.observe(), reward, False, self.steps >= 20, info

    def collect_reference_motions(self, num_samples):
        return np.random.normal(0, 0.05, (num_samples, 2))

    def reward_shaping(self):
        return dict(self.scale)

    def set_reward_shaping(self, values):
        if values["bonus"] < 0:
            raise ValueError("a bonus below 0")
        self.scale = dict(values)

    def curriculum_state(self):
        return {"level": self.level}

    def set_curriculum_state(self, state):
        self.level = state["level"]


def vector(**kwargs):
    """What the bridge must refuse."""
    return gymnasium.make_vec("CartPole-v1", num_envs=2)


def nothing():
    return 5


class Camera(gymnasium.Env):
    """A picture of bytes beside joints; bad is a value that the third observation has in place of one of its bytes."""

    def __init__(self, bad=None):
        self.observation_space = spaces.Dict({"camera": spaces.Box(0, 255, (3, 2, 3), np.uint8), "joints": spaces.Box(-1, 1, (2,), np.float32)})
        self.action_space = spaces.Box(0, 255, (2,), np.uint8)
        self.bad = bad

    def observe(self):
        self.steps += 1
        camera = (np.arange(18).reshape(3, 2, 3) * 13 + self.steps).astype(np.uint8)
        if self.bad is not None and self.steps == 3:
            camera = camera.astype(np.float64)
            camera[1, 1, 2] = self.bad
        return {"camera": camera, "joints": np.full(2, self.steps / 100, np.float32)}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.observe(), {}

    def step(self, action):
        assert action.dtype == np.uint8 and action.shape == (2,), action
        return self.observe(), float(action[0]), False, False, {}


class Allowed(gymnasium.Env):
    """Step k of an episode of four allows the choice k % 3 of one index, and k % 2 of another. form says how it shows masks."""

    def __init__(self, form="info", actions=None):
        self.form, self.k = form, 0
        self.observation_space, self.action_space = spaces.Box(-9, 9, (1,), np.float32), actions or spaces.MultiDiscrete([3, 2])
        if form == "method":
            self.action_masks = self.mask

    def mask(self):
        parts = [np.arange(3) == self.k % 3, np.arange(2) == self.k % 2]
        if self.form == "empty" and self.k == 2:
            parts[1][:] = False
        return {"parts": tuple(part.astype(np.int8) for part in parts), "short": parts[0]}.get(self.form, np.concatenate(parts))

    def show(self):
        return np.array([self.k], np.float32), {} if self.form == "method" else {"action_mask": self.mask()}

    def reset(self, *, seed=None, options=None):
        self.k = 0
        return self.show()

    def step(self, action):
        assert self.form == "empty" or tuple(action) == (self.k % 3, self.k % 2), (action, self.k)
        self.k += 1
        observation, info = self.show()
        return observation, 1.0, self.k == 4, False, info


def boxed():
    return Allowed(actions=spaces.Box(-1, 1, (5,)))
