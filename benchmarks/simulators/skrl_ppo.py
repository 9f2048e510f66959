"""Trains skrl's PPO on a simulator that is a batch by itself, with the settings of `gorl train --example`; prints JSON.

    python skrl_ppo.py envpool|mjlab SEED [TIMESTEPS]

Every batch step of the training loop is skrl's: act, record_transition, post_interaction. The wrappers below hand over
what the simulator returns, and count returns and lengths of episodes themselves.
"""

import json
import sys
import time
from collections import deque

import gymnasium
import numpy as np
import torch
from skrl.agents.torch.ppo import PPO
from skrl.envs.wrappers.torch import Wrapper
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from skrl.resources.preprocessors.torch import RunningStandardScaler
from skrl.resources.schedulers.torch import KLAdaptiveLR
from skrl.utils import set_seed

simulator, seed = sys.argv[1], int(sys.argv[2])
settings = {
    "envpool": dict(id="HalfCheetah-v4", envs=64, timesteps=31_250, activation=torch.nn.Tanh, rollouts=64, mini_batches=8, learning_rate=3e-4, grad_norm_clip=0.5),
    "mjlab": dict(id="Mjlab-Cartpole-Balance", envs=256, timesteps=2100, activation=torch.nn.ELU, rollouts=32, mini_batches=4, learning_rate=1e-3, grad_norm_clip=1.0),
}[simulator]
if len(sys.argv) > 3:
    settings["timesteps"] = int(sys.argv[3])
torch.set_num_threads(1)
set_seed(seed)


class Batch(Wrapper):
    """A simulator as skrl wants it, and the returns of its last 100 episodes."""

    state_space = None

    def __init__(self, env):
        super().__init__(env)
        self.returns, self.lengths = np.zeros(env.num_envs), np.zeros(env.num_envs, int)
        self.ended, self.episodes, self.last = deque(maxlen=100), 0, None

    def count(self, rewards, over):
        self.returns += rewards
        self.lengths += 1
        for i in np.flatnonzero(over):
            self.ended.append((float(self.returns[i]), int(self.lengths[i])))
            self.episodes += 1
        self.returns[over], self.lengths[over] = 0, 0

    def state(self):
        return None

    def render(self, *args, **kwargs):
        return None

    def close(self):
        self._env.close()


class EnvPool(Batch):
    observation_space = property(lambda self: self._env.single_observation_space)
    action_space = property(lambda self: self._env.single_action_space)
    num_envs = property(lambda self: self._env.num_envs)

    def reset(self):
        if self.last is None:
            self.last = torch.as_tensor(self._env.reset()[0], dtype=torch.float32)
        return self.last, {}

    def step(self, actions):
        observations, rewards, terminated, truncated, info = self._env.step(np.clip(actions.numpy().astype(np.float64), -1, 1))
        # The step after an episode's last only resets. skrl stores it like any other; as a part of an episode it does not count.
        real = info["elapsed_step"] > 0
        self.lengths[~real] -= 1
        self.count(rewards, terminated | truncated)
        self.last = torch.as_tensor(observations, dtype=torch.float32)
        column = lambda values, dtype: torch.as_tensor(values, dtype=dtype).view(-1, 1)
        return self.last, column(rewards, torch.float32), column(terminated, torch.bool), column(truncated, torch.bool), {}


class Mjlab(Batch):
    observation_space = property(lambda self: unbounded(self._env.single_observation_space.spaces["actor"].shape))
    action_space = property(lambda self: unbounded(self._env.single_action_space.shape))

    def reset(self):
        if self.last is None:
            self.last = self._env.reset(seed=seed)[0]["actor"]
            # random_episode_lengths of the example
            self._env.episode_length_buf[:] = torch.randint(self._env.max_episode_length, (self.num_envs,))
        return self.last, {}

    def step(self, actions):
        observations, rewards, terminated, truncated, _ = self._env.step(actions)
        self.count(rewards.numpy(), (terminated | truncated).numpy())
        self.last = observations["actor"]
        # The simulator writes the memory of these again in its next step.
        return self.last, rewards.clone().view(-1, 1), terminated.clone().view(-1, 1), truncated.clone().view(-1, 1), {}


def unbounded(shape):
    return gymnasium.spaces.Box(-np.inf, np.inf, shape)


def make():
    if simulator == "envpool":
        import envpool

        return EnvPool(envpool.make(settings["id"], env_type="gymnasium", num_envs=settings["envs"], seed=seed))
    import mjlab.tasks  # registers
    from mjlab.envs import ManagerBasedRlEnv
    from mjlab.tasks.registry import load_env_cfg

    cfg = load_env_cfg(settings["id"])
    cfg.scene.num_envs, cfg.seed, cfg.episode_length_s = settings["envs"], seed, 5
    return Mjlab(ManagerBasedRlEnv(cfg=cfg, device="cpu"))


env = make()
spaces = dict(observation_space=env.observation_space, action_space=env.action_space, device="cpu")


def perceptron(outputs):
    layer, activation = torch.nn.Linear, settings["activation"]
    inputs = env.observation_space.shape[0]
    return torch.nn.Sequential(layer(inputs, 64), activation(), layer(64, 64), activation(), layer(64, outputs))


class Policy(GaussianMixin, Model):
    def __init__(self):
        Model.__init__(self, **spaces)
        GaussianMixin.__init__(self)
        self.net = perceptron(self.num_actions)
        self.log_std_parameter = torch.nn.Parameter(torch.zeros(self.num_actions))

    def compute(self, inputs, role):
        return self.net(inputs["observations"]), {"log_std": self.log_std_parameter}


class Value(DeterministicMixin, Model):
    def __init__(self):
        Model.__init__(self, **spaces)
        DeterministicMixin.__init__(self)
        self.net = perceptron(1)

    def compute(self, inputs, role):
        return self.net(inputs["observations"]), {}


agent = PPO(
    models={"policy": Policy(), "value": Value()},
    memory=RandomMemory(memory_size=settings["rollouts"], num_envs=env.num_envs, device="cpu"),
    cfg={
        "rollouts": settings["rollouts"], "learning_epochs": 5, "mini_batches": settings["mini_batches"],
        "discount_factor": 0.99, "gae_lambda": 0.95, "learning_rate": settings["learning_rate"],
        "learning_rate_scheduler": KLAdaptiveLR, "learning_rate_scheduler_kwargs": {"kl_threshold": 0.01},
        "ratio_clip": 0.2, "value_clip": 0.2, "value_loss_scale": 1.0, "entropy_loss_scale": 0.0,
        "grad_norm_clip": settings["grad_norm_clip"], "time_limit_bootstrap": True,
        "observation_preprocessor": RunningStandardScaler,
        "observation_preprocessor_kwargs": {"size": env.observation_space, "device": "cpu"},
        "value_preprocessor": RunningStandardScaler, "value_preprocessor_kwargs": {"size": 1, "device": "cpu"},
        "experiment": {"write_interval": 0, "checkpoint_interval": 0},
    },
    **spaces,
)
agent.init()
agent.enable_training_mode(True)
agent.enable_models_training_mode(False)

timesteps, curve = settings["timesteps"], []
observations, _ = env.reset()
start = time.perf_counter()
for t in range(timesteps):
    agent.pre_interaction(timestep=t, timesteps=timesteps)
    with torch.no_grad():
        actions, _ = agent.act(observations, None, timestep=t, timesteps=timesteps)
        following, rewards, terminated, truncated, infos = env.step(actions)
        agent.record_transition(
            observations=observations, states=None, actions=actions, rewards=rewards, next_observations=following, next_states=None,
            terminated=terminated, truncated=truncated, infos=infos, timestep=t, timesteps=timesteps,
        )
    agent.post_interaction(timestep=t, timesteps=timesteps)
    observations = following
    if env.ended and ((t + 1) % (timesteps // 100 or 1) == 0 or t + 1 == timesteps):
        curve.append([t + 1, float(np.mean([r for r, _ in env.ended]))])
end = time.perf_counter()
print(json.dumps({"episodes": env.episodes, "curve": curve, "training_s": end - start}))
