"""Fish as in snippets/gymnasium_amp, all of them at once, as an environment of Isaac Lab 2.3 returns them; for tests alone.

Like the original: types, shapes and devices of what reset and step return, the order of a step (rewards and flags belong
to the old episode, observations to the new one, the last observation is lost), memory that the next step writes again,
the attributes, and extras. The task rewards the speed that is asked for; how to swim only the reference motion shows.
"""

import math

import gymnasium
import numpy as np
import torch

THRUST, KICK = 3.0, 10.0  # m/s² of an action of 1, along and across
AMPLITUDE, OMEGA = 0.3, 2 * math.pi * 0.8  # m and rad/s of the reference motion
BANK = 1.2  # m across; a fish that gets there has ended its episode


class Namespace:
    def __init__(self, **kwargs):
        self.__dict__.update(kwargs)


class DirectFishCfg:
    observation_space, action_space, state_space = 4, 2, 5
    decimation, episode_length_s = 2, 6.0
    is_finite_horizon, seed, speed_sharpness = False, None, 4.0

    def __init__(self):
        self.sim = Namespace(dt=0.05, device="cuda:0")
        self.scene = Namespace(num_envs=4096)


class AmpFishCfg(DirectFishCfg):
    state_space = 0
    num_amp_observations, amp_observation_space = 2, 2
    reset_strategy = "random"  # to a state of the reference; "default": to one of the task


class ManagerFishCfg(DirectFishCfg):
    pass


def box(n):
    return gymnasium.spaces.Box(-np.inf, np.inf, (n,), np.float32)


class Fish(gymnasium.Env):
    """The water and the fish: what DirectFish and ManagerFish have in common."""

    is_vector_env = True

    def __init__(self, cfg, render_mode=None, **kwargs):
        self.cfg, self.render_mode = cfg, render_mode
        self.metadata = {"render_modes": [None, "human", "rgb_array"], "render_fps": 1 / self.step_dt}
        n = self.num_envs
        self.y, self.vy, self.speed, self.asked, self.x = (torch.zeros(n, device=self.device) for _ in range(5))
        self.episode_length_buf = torch.zeros(n, dtype=torch.long, device=self.device)
        self.extras = {}
        self.sums = torch.zeros(n, device=self.device)
        self.frames = 0

    num_envs = property(lambda self: self.cfg.scene.num_envs)
    device = property(lambda self: self.cfg.sim.device)
    physics_dt = property(lambda self: self.cfg.sim.dt)
    step_dt = property(lambda self: self.cfg.sim.dt * self.cfg.decimation)
    max_episode_length_s = property(lambda self: self.cfg.episode_length_s)
    max_episode_length = property(lambda self: math.ceil(self.max_episode_length_s / self.step_dt))

    def physics(self, action):
        along, across = action.to(self.device).float().clamp(-1, 1).unbind(1)
        for _ in range(self.cfg.decimation):
            force = KICK * across - 4.0 * self.y - self.vy  # left alone, a fish comes to rest on its course
            self.y = self.y + self.vy * self.physics_dt + 0.5 * force * self.physics_dt**2
            self.vy = self.vy + force * self.physics_dt
            self.speed = self.speed + (THRUST * along - self.speed) * self.physics_dt
            self.x = self.x + self.speed * self.physics_dt
        self.episode_length_buf += 1

    def place(self, ids):
        """Puts fish at the begin of an episode."""
        start = torch.rand(3, len(ids), device=self.device) - 0.5
        self.y[ids], self.vy[ids], self.speed[ids] = start
        self.asked[ids] = 0.5 + torch.rand(len(ids), device=self.device)
        self.x[ids] = 0
        self.episode_length_buf[ids] = 0
        self.sums[ids] = 0

    def on_course(self):
        return torch.exp(-self.cfg.speed_sharpness * (self.speed - self.asked) ** 2)

    def policy(self):
        return torch.stack([self.y, self.vy, self.speed, self.asked], dim=1)

    def critic(self):
        left = 1 - self.episode_length_buf / self.max_episode_length
        return torch.cat([self.policy(), left[:, None]], dim=1)

    def everyone(self, seed):
        if seed is not None:
            torch.manual_seed(seed)
            np.random.seed(seed % 2**32)
        return torch.arange(self.num_envs, device=self.device)

    def render(self, recompute=False):
        """The first fish from above, 60 pixels a metre; the first two pictures are black, as the viewport's are."""
        if self.render_mode != "rgb_array":
            return None
        self.frames += 1
        picture = np.zeros((160, 240, 3), np.uint8)
        if self.frames > 2:
            picture[:] = (20, 60, 100)
            rows, columns = np.mgrid[0:160, 0:240]
            picture[(columns + int(60 * float(self.x[0]))) % 60 < 2] = (70, 120, 160)
            tail = 80 + 60 * (float(self.y[0]) - 0.3 * float(self.vy[0]) * (120 - columns) / 60)
            picture[(abs(rows - tail) <= (columns - 80) / 6) & (columns <= 120)] = (240, 130, 40)
        return picture

    def close(self):
        pass


class DirectFish(Fish):
    """As a DirectRLEnv."""

    def __init__(self, cfg, render_mode=None, **kwargs):
        super().__init__(cfg, render_mode, **kwargs)
        n, spaces = self.num_envs, gymnasium.spaces
        self.single_observation_space = spaces.Dict({"policy": box(cfg.observation_space)})
        self.single_action_space = box(cfg.action_space)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space["policy"], n)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, n)
        self.state_space = None
        if cfg.state_space:
            self.single_observation_space["critic"] = box(cfg.state_space)
            self.state_space = gymnasium.vector.utils.batch_space(self.single_observation_space["critic"], n)
        self.reset_terminated = torch.zeros(n, dtype=torch.bool, device=self.device)
        self.reset_time_outs = torch.zeros_like(self.reset_terminated)

    def reset(self, *, seed=None, options=None):
        self._reset_idx(self.everyone(seed))
        return self._get_observations(), self.extras

    def step(self, action):
        self.physics(action)
        self.reset_terminated[:] = self.y.abs() > BANK
        self.reset_time_outs[:] = self.episode_length_buf >= self.max_episode_length - 1
        reward = self.on_course()
        self.sums += reward
        ids = (self.reset_terminated | self.reset_time_outs).nonzero().squeeze(-1)
        if len(ids):
            self._reset_idx(ids)
        observations = self._get_observations()
        return observations, reward, self.reset_terminated, self.reset_time_outs, self.extras

    def _reset_idx(self, ids):
        length = self.episode_length_buf[ids].clamp(min=1)
        # It stays in extras until episodes end again.
        self.extras["log"] = {"Episode_Reward/speed": (self.sums[ids] / length).mean(), "Episode_Termination/bank": float(self.reset_terminated[ids].sum())}
        self.place(ids)

    def _get_observations(self):
        return {"policy": self.policy(), "critic": self.critic()} if self.cfg.state_space else {"policy": self.policy()}


class AmpFish(DirectFish):
    """As a HumanoidAmpEnv: rows of a history that begins with the newest moment, in extras that are new in every step."""

    def __init__(self, cfg, render_mode=None, **kwargs):
        super().__init__(cfg, render_mode, **kwargs)
        self.history = torch.zeros(self.num_envs, cfg.num_amp_observations, cfg.amp_observation_space, device=self.device)
        self.amp_observation_size = cfg.num_amp_observations * cfg.amp_observation_space
        self.amp_observation_space = box(self.amp_observation_size)

    def collect_reference_motions(self, num_samples, current_times=None):
        """Rows of reference motion: a tensor (num_samples, AMP observations) on the environment's device."""
        if current_times is None:
            current_times = np.random.uniform(0, 2 * math.pi / OMEGA, num_samples)
        times = np.expand_dims(current_times, 1) - self.step_dt * np.arange(self.cfg.num_amp_observations)
        rows = np.stack([AMPLITUDE * np.sin(OMEGA * times), AMPLITUDE * OMEGA * np.cos(OMEGA * times)], axis=-1)
        return torch.tensor(rows, dtype=torch.float32, device=self.device).view(num_samples, self.amp_observation_size)

    def _reset_idx(self, ids):
        super()._reset_idx(ids)
        rows = self.collect_reference_motions(len(ids)).view(len(ids), *self.history.shape[1:])
        self.history[ids] = rows
        if self.cfg.reset_strategy == "random":
            self.y[ids], self.vy[ids] = rows[:, 0, 0], rows[:, 0, 1]

    def _get_observations(self):
        for k in range(self.cfg.num_amp_observations - 1, 0, -1):
            self.history[:, k] = self.history[:, k - 1]
        self.history[:, 0] = torch.stack([self.y, self.vy], dim=1)
        self.extras = {"amp_obs": self.history.view(-1, self.amp_observation_size)}
        return super()._get_observations()


class ManagerFish(Fish):
    """As a ManagerBasedRLEnv: groups of observations, no state_space, and buffers of managers that the next step writes."""

    def __init__(self, cfg, render_mode=None, **kwargs):
        super().__init__(cfg, render_mode, **kwargs)
        n, spaces = self.num_envs, gymnasium.spaces
        self.single_observation_space = spaces.Dict({"policy": box(cfg.observation_space), "critic": box(cfg.state_space)})
        self.single_action_space = box(cfg.action_space)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, n)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, n)
        self._reward_buf = torch.zeros(n, device=self.device)
        self._terminated_buf = torch.zeros(n, dtype=torch.bool, device=self.device)
        self._truncated_buf = torch.zeros_like(self._terminated_buf)

    def reset(self, seed=None, env_ids=None, options=None):
        self._reset_idx(self.everyone(seed) if env_ids is None else env_ids)
        return {"policy": self.policy(), "critic": self.critic()}, self.extras

    def step(self, action):
        self.physics(action)
        self._terminated_buf[:] = self.y.abs() > BANK
        self._truncated_buf[:] = self.episode_length_buf >= self.max_episode_length
        self._reward_buf[:] = 0.0
        self._reward_buf += self.on_course() * self.step_dt
        self.sums += self._reward_buf
        ids = (self._terminated_buf | self._truncated_buf).nonzero().squeeze(-1)
        if len(ids):
            self._reset_idx(ids)
        return {"policy": self.policy(), "critic": self.critic()}, self._reward_buf, self._terminated_buf, self._truncated_buf, self.extras

    def _reset_idx(self, ids):
        ended = int(self._terminated_buf[ids].sum())
        self.extras["log"] = {"Episode_Reward/speed": self.sums[ids].mean() / self.max_episode_length_s, "Episode_Termination/bank": ended,
                              "Episode_Termination/time_out": len(ids) - ended}
        self.place(ids)


def make(num_envs, device="cpu", seed=None, task="Standin-Fish-AMP-Direct-v0", render_mode=None, **settings):
    """A factory, as a user writes one: launches the app and makes the task with settings of its configuration."""
    from isaaclab.app import AppLauncher

    AppLauncher(headless=True, device=device, enable_cameras=render_mode is not None)
    import isaaclab_tasks  # registers
    from isaaclab_tasks.utils import parse_env_cfg

    cfg = parse_env_cfg(task, device=device, num_envs=num_envs)
    cfg.seed = seed
    for key, value in settings.items():
        setattr(cfg, key, value)
    return gymnasium.make(task, cfg=cfg, render_mode=render_mode)
