"""Batches for the tests of the bridge to simulators; no one makes them of single environments."""

import fcntl
import os
import subprocess
import sys
import time

import numpy as np
from gymnasium import spaces


class Count:
    """A batch whose every number can be foretold: episodes of environment i have 3 + i % 4 steps.

    mode is what it does when an episode ends, finals how it keeps last observations ("rows" as gymnasium.vector does, "batch" as
    ManiSkill, None not at all), kind what its arrays are: numpy, torch, or card, tensors that say they lie on one.
    """

    def __init__(self, num_envs, seed, mode="same_step", finals="rows", kind="numpy", silent=False, bad="", flags="bool"):
        self.num_envs, self.mode, self.finals, self.kind, self.bad, self.flags = num_envs, mode, finals, kind, bad, flags
        self.metadata = {} if silent else {"autoreset_mode": mode.upper()}
        place = spaces.Box(-np.inf, np.inf, (2,), np.float64)
        policy = spaces.Dict({"place": place, "camera": spaces.Box(0, 255, (2, 2, 1), np.uint8), "door": spaces.Discrete(5, start=3)})
        self.single_observation_space = spaces.Dict({"policy": policy, "critic": spaces.Box(-np.inf, np.inf, (1,), np.float32), "debug": spaces.Box(0, 1, (9,))})
        self.single_action_space = spaces.Box(-1, 1, (2,), np.float32)
        self.amp_observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.seeds, self.steps, self.over = [seed], 0, np.zeros(num_envs, bool)
        self.returned, self.scale, self.level = [], {"bonus": 1.0}, 0
        if kind == "card":
            pretend()

    def give(self, x):
        """x as the arrays of this kind; all of them are written over in the next call, as some simulators do."""
        if isinstance(x, dict):
            return {k: self.give(v) for k, v in x.items()}
        if self.kind != "numpy" and x.dtype != object:
            import torch

            x = torch.from_numpy(np.array(x))
            if self.kind == "card" and x.dtype != torch.int64:  # the doors stay with the processor
                x = x.as_subclass(card())
        self.returned.append(x)
        return x

    def spoil(self):
        for x in self.returned:
            if x.dtype != object:
                x[...] = 77
        self.returned = []

    def observe(self, k, episode):
        i = np.arange(self.num_envs)
        pixels = (16 * i + k)[:, None] + np.arange(4)
        policy = {
            "place": np.stack([i + 0.5, k + 100.0 * episode], 1),
            "camera": pixels.astype(np.uint8).reshape(-1, 2, 2, 1),
            "door": (i + k) % 5 + 3,
        }
        if self.bad == "shape" and self.steps == 7:
            policy["place"] = policy["place"][:, :1]
        if self.bad == "type" and self.steps == 7:
            policy["place"] = policy["place"].astype(int)
        if self.bad == "nan" and self.steps == 7:
            policy["place"][1, 1] = np.nan
        return {"policy": policy, "critic": (10.0 * k + i).astype(np.float32)[:, None], "debug": np.zeros((self.num_envs, 9), np.float32)}

    def reset(self, seed=None, options=None):
        if options is not None:  # of rows
            mask = options.pop("reset_mask")
            assert (mask == self.over).all() and mask.any(), (mask, self.over)
            self.k[mask], self.over = 0, np.zeros(self.num_envs, bool)
            self.episode[mask] += 1
            self.spoil()
            return self.give(self.observe(self.k, self.episode)), {"log": {"resets": mask.sum()}}
        self.spoil()
        self.seeds.append(seed)
        self.k, self.episode, self.over = np.zeros(self.num_envs, int), np.zeros(self.num_envs, int), np.zeros(self.num_envs, bool)
        return self.give(self.observe(self.k, self.episode)), {"first": self.give(np.zeros(self.num_envs))}

    def amp(self, k):
        return np.stack([np.arange(self.num_envs), k], 1).astype(np.float32)

    def step(self, actions):
        if self.kind != "numpy":
            assert type(actions).__module__ == "torch", type(actions)
            actions = actions.numpy()
        assert actions.shape == (self.num_envs, 2) and actions.dtype == np.float32
        self.misbehave()
        self.spoil()
        n, i = self.num_envs, np.arange(self.num_envs)
        self.steps += 1
        self.k = self.k + 1
        reward = self.scale["bonus"] * (actions[:, 0] + 10.0 * actions[:, 1])
        if self.mode == "disabled":
            assert not self.over.any()
        again = self.over & (self.mode == "next_step")
        self.k[again], reward[again] = 0, 0
        self.episode[again] += 1
        ended = self.k >= 3 + i % 4
        terminated, truncated = ended & (i % 2 == 0), ended & (i % 2 == 1)
        infos = {"speed": self.k * 2.0, "_speed": ~again, "nested": {"even": i % 2 == 0}, "amp_obs": self.amp(self.k), "word": np.array(["x"] * n, object)}
        self.over = ended
        if self.bad == "log":
            infos["log"] = {"Episode_Reward/x": float(self.steps), "text": "no", "array": np.zeros(3)}
        if self.mode == "same_step" and ended.any():
            last, amp = self.observe(self.k, self.episode), infos["amp_obs"]
            rows = np.full(n, None, object)
            for r in np.flatnonzero(ended):
                rows[r] = {"policy": {k: v[r] for k, v in last["policy"].items()}, "critic": last["critic"][r], "debug": last["debug"][r]}
            speed = infos["speed"]
            self.k[ended] = 0
            self.episode[ended] += 1
            infos["amp_obs"], infos["speed"] = np.where(ended[:, None], -1, amp).astype(np.float32), np.where(ended, -1, speed)
            if self.finals == "rows":
                infos.update(final_obs=rows, _final_obs=ended, final_info={"speed": speed, "_speed": ended, "amp_obs": amp, "_amp_obs": ended})
            elif self.finals == "batch":
                infos.update(final_observation=last, final_info={"speed": speed, "amp_obs": amp})
        flag = np.float32 if self.flags == "float32" else bool
        result = self.observe(self.k, self.episode), reward, terminated.astype(flag), truncated.astype(flag)
        if self.bad == "rewards" and self.steps == 7:
            result = result[0], reward[:-1], result[2], result[3]
        if self.steps == 7 and self.bad in ("terminated", "truncated"):
            flags = np.array([0, 1, 0.5 if self.bad == "truncated" else np.nan, 0], np.float32)
            result = (*result[:2], flags, result[3]) if self.bad == "terminated" else (*result[:3], flags)
        if self.steps == 8 and self.bad == "long mask":
            infos["_final_obs"] = np.resize(ended, n + 1)
        if self.steps == 8 and self.bad == "rows":
            infos["final_obs"] = np.append(rows, rows[:1])
        if self.steps == 8 and self.bad == "log mask":
            infos["final_info"]["_speed"] = np.ones(n + 1, bool)
        if self.bad == "four" and self.steps == 7:
            return result
        infos = {k: self.give(v) if k not in ("word", "log", "final_info") else v for k, v in infos.items()}
        return (*(self.give(x) for x in result), infos)

    def misbehave(self):
        if self.steps != 7:
            return
        if self.bad == "hang":
            time.sleep(3600)
        elif self.bad == "print":
            for _ in range(1 << 14):  # a gigabyte
                os.write(1, b"x" * (1 << 16))
            os.write(1, b"\nthe end of a gigabyte\n")
            os._exit(9)
        elif self.bad == "escape":
            raise RuntimeError("\x1b[2J\x1b]0;owned\x07\u202e" + "x" * 100_000 + " the end")
        elif self.bad == "linger":  # what it starts holds the lock
            fd = os.open(os.environ["GORL_FAKE_LOCK"], os.O_RDWR | os.O_CREAT)
            fcntl.flock(fd, fcntl.LOCK_SH)
            for alone in (False, True):
                subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=alone, pass_fds=[fd])
            if os.fork() == 0:
                time.sleep(3600)
        elif self.bad == "fork":
            for alone in (False, True):
                subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=alone)
            print("the simulator has children")
            os._exit(9)

    def close(self):
        pass

    def render(self):
        picture = np.zeros((self.num_envs, 2, 3, 3), np.uint8)
        picture[:, 1, 2, 0] = np.arange(self.num_envs) + 100
        return picture

    def collect_reference_motions(self, n):
        rows = np.tile(np.float32([1, 2]), (n, 1))
        if self.kind == "numpy":
            return rows
        import torch

        return torch.from_numpy(rows)

    def reward_shaping(self):
        return dict(self.scale)

    def set_reward_shaping(self, values):
        if values["bonus"] < 0:
            raise ValueError("a bonus below 0")
        self.scale = dict(values)

    def curriculum_state(self):
        return {"level": self.level, "seeds": self.seeds}

    def set_curriculum_state(self, state):
        self.level = state["level"]


def card():
    """The type of tensors that say they lie on a card."""
    import torch

    if not hasattr(torch, "Card"):
        torch.Card = type("Card", (torch.Tensor,), {"is_cuda": True})
    return torch.Card


def pretend():
    """Gives torch the functions that the bridge calls for a card, where there is none."""
    import types

    import torch

    def register(address, size, flags):
        assert address % 4096 == 0 and size % 4096 == 0 and flags == 0, (address, size, flags)

    torch.cuda.cudart = lambda: types.SimpleNamespace(cudaHostRegister=register)
    torch.cuda.current_stream = lambda device: types.SimpleNamespace(synchronize=lambda: None)


class Bare(Count):
    """Says nothing of its AMP observations."""

    def __init__(self, num_envs, seed):
        super().__init__(num_envs, seed)
        del self.amp_observation_space


class Short(Count):
    """Environment 0 has episodes of one step from the second on."""

    def step(self, actions):
        observations, rewards, terminated, truncated, infos = super().step(actions)
        terminated[0] = self.steps > 1
        return observations, rewards, terminated, truncated, infos


def vector(num_envs, name, how, mode):
    """Single environments, an id or module:factory, in a vector environment of Gymnasium."""
    import importlib

    import gymnasium

    def create():
        if ":" not in name:
            return gymnasium.make(name)
        module, factory = name.split(":")
        return getattr(importlib.import_module(module), factory)()

    kind = {"sync": gymnasium.vector.SyncVectorEnv, "async": gymnasium.vector.AsyncVectorEnv}[how]
    return kind([create] * num_envs, autoreset_mode=gymnasium.vector.AutoresetMode[mode.upper()])


class Nameless:
    """A batch without spaces."""

    num_envs, metadata = 5, {"autoreset_mode": "same_step"}

    def reset(self):
        return np.zeros((5, 1)), {}

    def step(self, actions):
        return np.zeros((5, 1)), np.zeros(5), np.zeros(5, bool), np.zeros(5, bool), {}


class Timed:
    """Environments with a time limit of 10 steps that shows how far they are, as Isaac Lab's and mjlab's keep it."""

    metadata, max_episode_length = {"autoreset_mode": "same_step"}, 10

    def __init__(self, num_envs):
        self.num_envs = num_envs
        self.single_observation_space = spaces.Box(0, 10, (1,), np.float32)
        self.single_action_space = spaces.Box(-1, 1, (2,), np.float32)
        self.episode_length_buf = np.zeros(num_envs, np.int64)
        self.none = np.zeros(num_envs, bool)

    def seen(self):
        return self.episode_length_buf[:, None].astype(np.float32)

    def reset(self, seed=None):
        self.episode_length_buf[:] = 0
        return self.seen(), {}

    def step(self, actions):
        self.episode_length_buf += 1
        over = self.episode_length_buf >= self.max_episode_length
        self.episode_length_buf[over] = 0
        return self.seen(), np.ones(self.num_envs, np.float32), self.none, over, {}

    def close(self):
        pass


class Allowed:
    """A batch of bridge_environments.Allowed whose masks are in the infos or in action_masks. An ended row allows nothing."""

    def __init__(self, num_envs, mode, method=False):
        self.num_envs, self.mode, self.k = num_envs, mode, 0
        self.metadata = {"autoreset_mode": mode.upper()}
        self.single_observation_space, self.single_action_space = spaces.Box(-9, 9, (1,), np.float32), spaces.MultiDiscrete([3, 2])
        if method:
            self.action_masks = self.masks

    def masks(self):
        row = np.concatenate([np.arange(3) == self.k % 3, np.arange(2) == self.k % 2]) & (self.k < 4)
        return np.repeat(row[None], self.num_envs, 0)

    def show(self):
        return np.full((self.num_envs, 1), self.k, np.float32), {} if hasattr(self, "action_masks") else {"action_mask": self.masks()}

    def reset(self, **_):
        self.k = 0
        return self.show()

    def step(self, actions):
        nothing, again = np.zeros(self.num_envs, bool), self.k == 4
        assert again or (actions == [self.k % 3, self.k % 2]).all(), (actions, self.k)
        self.k = 0 if again else self.k + 1
        over = np.full(self.num_envs, self.k == 4)
        if self.k == 4 and self.mode == "same_step":
            self.k = 0
        observations, infos = self.show()
        return observations, np.ones(self.num_envs), over, nothing, infos

    def close(self):
        pass


class Team:
    """Two agents in every environment, as in Isaac Lab's DirectMARLEnv: a cart with a pole of its own.

    Environment i has 4 + i % 3 steps. In odd ones the pole falls in step 2, and the cart fails in step 3. With forget the pole
    does not say again that it has fallen, so that Isaac Lab would never reset.
    """

    possible_agents = ["cart", "pole"]

    def __init__(self, num_envs, forget=False, missing=False, mode=None):
        self.num_envs, self.forget, self.missing, self.extras = num_envs, forget, missing, {"cart": {}, "pole": {}}
        self.metadata = {"autoreset_mode": mode} if mode else {}
        self.observation_spaces = {"cart": spaces.Box(-np.inf, np.inf, (2,)), "pole": spaces.Box(-np.inf, np.inf, (1,))}
        self.action_spaces = {"cart": spaces.Box(-1, 1, (1,)), "pole": spaces.Discrete(3)}
        self.state_space = spaces.Box(-np.inf, np.inf, (3,))

    def observe(self):
        k = self.k.astype(np.float32)
        return {"cart": np.stack([k, np.arange(self.num_envs)], 1).astype(np.float32), "pole": (0 - k)[:, None]}

    def state(self):
        observations = self.observe()
        return np.concatenate([observations["cart"], observations["pole"]], 1)

    def reset(self, seed=None, options=None):
        self.k = np.zeros(self.num_envs, int)
        return self.observe(), self.extras

    def step(self, actions):
        cart, pole = actions["cart"], actions["pole"]
        assert cart.shape == (self.num_envs, 1) and cart.dtype == np.float32 and pole.reshape(-1).dtype == np.int64
        self.k = k = self.k + 1
        i = np.arange(self.num_envs)
        fallen = (i % 2 == 1) & ((k == 2) if self.forget else (k >= 2))
        failed = (i % 2 == 1) & (k >= 3)
        late = k >= 4 + i % 3
        self.reset_buf = (fallen & failed) | late
        rewards = {"cart": k + cart[:, 0], "pole": pole.reshape(self.num_envs, -1) * 10.0}
        terminated, late = {"cart": failed, "pole": fallen}, {"cart": late, "pole": late}
        self.extras["log"] = {"resets": float(self.reset_buf.sum())}
        self.k[self.reset_buf] = 0
        observations = self.observe()
        if self.missing:
            del observations["pole"]
        return observations, rewards, terminated, late, self.extras

    def close(self):
        pass
