"""Builds skrl agents for the benchmarks (plain models, the settings given, no logging), and times them."""

import json
import statistics
import time

import gymnasium
import numpy as np
import torch

from skrl.agents.torch.amp import AMP
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from skrl.resources.preprocessors.torch import RunningStandardScaler


def box(size):
    return gymnasium.spaces.Box(-np.inf, np.inf, (size,))


def mlp(inputs, hidden, outputs, activation):
    layers = []
    for units in hidden:
        layers += [torch.nn.Linear(inputs, units), activation()]
        inputs = units
    return torch.nn.Sequential(*layers, torch.nn.Linear(inputs, outputs))


class Policy(GaussianMixin, Model):
    def __init__(self, observations, actions, hidden, activation, log_std, last_layer_scale, device):
        Model.__init__(self, observation_space=observations, action_space=actions, device=device)
        GaussianMixin.__init__(self, clip_actions=False)
        self.net = mlp(observations.shape[0], hidden, actions.shape[0], activation)
        self.log_std = torch.nn.Parameter(torch.full(actions.shape, log_std))
        with torch.no_grad():
            self.net[-1].weight.mul_(last_layer_scale)

    def compute(self, inputs, role):
        return self.net(inputs["observations"]), {"log_std": self.log_std}


class Scalar(DeterministicMixin, Model):
    """A value function or a discriminator."""

    def __init__(self, observations, actions, hidden, activation, device):
        Model.__init__(self, observation_space=observations, action_space=actions, device=device)
        DeterministicMixin.__init__(self)
        self.net = mlp(observations.shape[0], hidden, 1, activation)

    def compute(self, inputs, role):
        return self.net(inputs["observations"]), {}


def amp_agent(
    *,
    envs,
    observations,
    actions,
    amp_observations,
    hidden,
    reference,
    settings,
    activation=torch.nn.ReLU,
    log_std=0.0,
    last_layer_scale=1.0,
    motions=20_000,
    replay=100_000,
    device="cpu",
):
    """An AMP agent with all three scalers, initialised and in training mode.

    reference(n) returns n reference motions, [n, amp_observations].
    """
    observation_space, amp_space = box(observations), box(amp_observations)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (actions,))
    agent = AMP(
        models={
            "policy": Policy(observation_space, action_space, hidden, activation, log_std, last_layer_scale, device),
            "value": Scalar(observation_space, action_space, hidden, activation, device),
            "discriminator": Scalar(amp_space, action_space, hidden, activation, device),
        },
        memory=RandomMemory(memory_size=settings["rollouts"], num_envs=envs, device=device),
        observation_space=observation_space,
        action_space=action_space,
        amp_observation_space=amp_space,
        device=device,
        motion_dataset=RandomMemory(memory_size=motions, device=device),
        reply_buffer=RandomMemory(memory_size=replay, device=device),
        collect_reference_motions=reference,
        cfg={
            **settings,
            "observation_preprocessor": RunningStandardScaler,
            "observation_preprocessor_kwargs": {"size": observation_space, "device": device},
            "value_preprocessor": RunningStandardScaler,
            "value_preprocessor_kwargs": {"size": 1, "device": device},
            "amp_observation_preprocessor": RunningStandardScaler,
            "amp_observation_preprocessor_kwargs": {"size": amp_space, "device": device},
            "experiment": {"write_interval": 0, "checkpoint_interval": 0},
        },
    )
    agent.init()
    for model in agent.models.values():
        model.to(device)
    agent.enable_training_mode(True)
    return agent


def time_rounds(agent, size, observations, rewards, terminated, infos, repeats):
    """Times one update, and one rollout step (act and record), and prints one JSON line each.

    terminated is [rollouts, envs, 1]; all other tensors are the same in every step. They are on the host, as are the
    actions that a step returns. The first round warms up and is not counted.
    """
    rollouts, never = len(terminated), torch.zeros_like(terminated[0])
    device = agent.device
    steps, updates = [], []
    for round_ in range(repeats + 1):
        begin = time.perf_counter()
        with torch.no_grad():
            for step in range(rollouts):
                here = observations.to(device)
                actions, _ = agent.act(here, None, timestep=step, timesteps=10**9)
                actions.cpu()
                agent.record_transition(
                    observations=here, states=None, actions=actions, rewards=rewards.clone().to(device),
                    next_observations=observations.to(device), next_states=None, terminated=terminated[step].to(device),
                    truncated=never.to(device), infos={k: v.to(device) for k, v in infos.items()}, timestep=step,
                    timesteps=10**9,
                )  # fmt: skip
        if device.type == "cuda":
            torch.cuda.synchronize()
        middle = time.perf_counter()
        agent.enable_models_training_mode(True)
        agent.update(timestep=1, timesteps=10**9)
        agent.enable_models_training_mode(False)
        if device.type == "cuda":
            torch.cuda.synchronize()
        end = time.perf_counter()
        if round_ > 0:
            steps.append((middle - begin) / rollouts * 1e3)
            updates.append((end - middle) * 1e3)
    for measure, values in (("update", updates), ("rollout_step", steps)):
        print(json.dumps({"library": "skrl", "size": size, "measure": measure, "value": statistics.median(values)}), flush=True)


def time_training(agent, world, size, rollouts, updates, warm_up=3):
    """Times training end to end and prints the environment steps a second as one JSON line.

    world.observation is what the first actions are for; world.step(actions) returns the next observations, rewards,
    terminations and truncations, all of NumPy, infos for record_transition, and the lengths of the episodes that ended.
    """
    device, observations = agent.device, torch.from_numpy(world.observation).to(agent.device)
    lengths, stepping, updating = [], 0.0, 0.0
    begin = time.perf_counter()
    for update in range(updates + warm_up):
        if update == warm_up:
            begin, stepping, updating = time.perf_counter(), 0.0, 0.0
        with torch.no_grad():
            for step in range(rollouts):
                actions, _ = agent.act(observations, None, timestep=step, timesteps=10**9)
                start = time.perf_counter()
                following, rewards, terminated, truncated, infos, ended = world.step(actions.cpu().numpy())
                stepping += time.perf_counter() - start
                lengths.extend(ended.tolist())
                following = torch.from_numpy(following).to(device)
                agent.record_transition(
                    observations=observations, states=None, actions=actions,
                    rewards=torch.from_numpy(rewards)[:, None].to(device), next_observations=following, next_states=None,
                    terminated=torch.from_numpy(terminated)[:, None].to(device),
                    truncated=torch.from_numpy(truncated)[:, None].to(device),
                    infos={k: torch.from_numpy(v).to(device) for k, v in infos.items()}, timestep=step, timesteps=10**9,
                )  # fmt: skip
                observations = following
        start = time.perf_counter()
        agent.enable_models_training_mode(True)
        agent.update(timestep=update, timesteps=10**9)
        agent.enable_models_training_mode(False)
        updating += time.perf_counter() - start
    seconds = time.perf_counter() - begin
    print(json.dumps({
        "library": "skrl", "size": size, "measure": "steps_per_second", "value": len(observations) * rollouts * updates / seconds,
        "stepping_share": stepping / seconds, "update_share": updating / seconds,
        "episode_length": float(np.mean(lengths[-200:])) if lengths else None,
    }), flush=True)  # fmt: skip
