"""Writes ppo_full.json and amp_full.json: two rollouts and updates of skrl 2.0.0 with every scaler, beside this file.

    pip install skrl==2.0.0 torch numpy
    python make.py
"""

import json
import pathlib

import gymnasium
import numpy
import torch
import torch.nn.functional as functional
from skrl.agents.torch.amp import AMP
from skrl.agents.torch.ppo import PPO
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from skrl.resources.preprocessors.torch import RunningStandardScaler
from skrl.resources.schedulers.torch import KLAdaptiveLR

OBSERVATIONS, ACTIONS, MOTION, ENVS, STEPS = 3, 2, 4, 4, 4
SCALERS = ["observation", "value", "amp_observation"]


def box(size):
    return gymnasium.spaces.Box(-numpy.inf, numpy.inf, (size,))


def layers(inputs, hidden, outputs):
    modules = []
    for width in hidden:
        modules += [torch.nn.Linear(inputs, width), torch.nn.ELU()]
        inputs = width
    return torch.nn.Sequential(*modules, torch.nn.Linear(inputs, outputs))


class Policy(GaussianMixin, Model):
    def __init__(self):
        Model.__init__(self, observation_space=box(OBSERVATIONS), action_space=box(ACTIONS), device="cpu")
        GaussianMixin.__init__(self)
        self.log_std_parameter = torch.nn.Parameter(torch.full((ACTIONS,), -0.5))
        self.net_container = layers(OBSERVATIONS, [5], ACTIONS)

    def compute(self, inputs, role):
        return self.net_container(inputs["observations"]), {"log_std": self.log_std_parameter}


class Critic(DeterministicMixin, Model):
    def __init__(self, inputs, hidden):
        Model.__init__(self, observation_space=box(inputs), action_space=box(ACTIONS), device="cpu")
        DeterministicMixin.__init__(self)
        self.net_container = layers(inputs, hidden, 1)

    def compute(self, inputs, role):
        return self.net_container(inputs["observations"]), {}


def array(x):
    x = torch.as_tensor(x).detach()
    return {"shape": list(x.shape), "data": x.double().flatten().tolist()}


def parameters(models):
    return {role: {name: array(p) for name, p in model.named_parameters()} for role, model in models.items()}


def scalers(agent):
    names = [f"{which}_preprocessor" for which in SCALERS]
    states = {name: getattr(agent, "_" + name).state_dict() for name in names if hasattr(agent, "_" + name)}
    return {name: {key: array(x) for key, x in state.items()} for name, state in states.items()}


class Trace:
    """Records every optimizer step: its losses and the norm of its gradient."""

    def __init__(self, agent):
        self.agent, self.steps, self.bce, self.mse = agent, [], [], None
        self.original = functional.mse_loss, torch.nn.BCEWithLogitsLoss.forward
        self.clip, self.backward = torch.nn.utils.clip_grad_norm_, torch.Tensor.backward

    def __enter__(self):
        def mse(a, b):
            loss = self.original[0](a, b)
            self.mse = loss.item()
            return loss

        def bce(module, a, b):
            loss = self.original[1](module, a, b)
            self.bce.append(loss.item())
            return loss

        def backward(loss, *args, **kwargs):
            step = {"value_mse": self.mse, "total_loss": loss.item()}
            if self.bce:
                step["bce"], self.bce = self.bce, []
            self.steps.append(step)
            return self.backward(loss, *args, **kwargs)

        def clip(params, most):
            norm = self.clip(params, most)
            self.steps[-1]["grad_norm_before_clip"] = norm.item()
            return norm

        functional.mse_loss, torch.nn.BCEWithLogitsLoss.forward = mse, bce
        torch.nn.utils.clip_grad_norm_, torch.Tensor.backward = clip, backward
        return self.steps

    def __exit__(self, *_):
        functional.mse_loss, torch.nn.BCEWithLogitsLoss.forward = self.original
        torch.nn.utils.clip_grad_norm_, torch.Tensor.backward = self.clip, self.backward


def rollout(agent, random, amp):
    steps = []
    observations = random(ENVS, OBSERVATIONS)
    for t in range(STEPS):
        with torch.no_grad():
            actions, outputs = agent.act(observations, None, timestep=t, timesteps=STEPS)
        following, rewards = random(ENVS, OBSERVATIONS), random(ENVS, 1)
        terminated, truncated = torch.zeros(2, ENVS, 1, dtype=torch.bool)
        terminated[1, 0], truncated[2, 0] = t == 1, t == 2
        step = {
            "observations": array(observations),
            "actions": array(actions),
            "log_prob": array(outputs["log_prob"]),
            "values": array(agent._current_values),
            "rewards": array(rewards),
            "next_observations": array(following),
            "terminated": terminated.flatten().double().tolist(),
            "truncated": truncated.flatten().double().tolist(),
        }
        infos = {}
        if amp:
            infos["amp_obs"] = random(ENVS, MOTION)
            step["amp_obs"] = array(infos["amp_obs"])
        with torch.no_grad():
            agent.record_transition(
                observations=observations, states=None, actions=actions, rewards=rewards, next_observations=following,
                next_states=None, terminated=terminated, truncated=truncated, infos=infos, timestep=t, timesteps=STEPS,
            )
        steps.append(step)
        observations = following
    return steps


def case(kind):
    amp = kind == "amp"
    torch.manual_seed(5)
    models = {"policy": Policy(), "value": Critic(OBSERVATIONS, [5])}
    cfg = {
        "rollouts": STEPS, "learning_epochs": 2, "mini_batches": 2, "learning_rate": 1e-3,
        "learning_rate_scheduler": KLAdaptiveLR, "learning_rate_scheduler_kwargs": {"kl_threshold": 0.008},
        "observation_preprocessor": RunningStandardScaler,
        "observation_preprocessor_kwargs": {"size": OBSERVATIONS, "device": "cpu"},
        "value_preprocessor": RunningStandardScaler, "value_preprocessor_kwargs": {"size": 1, "device": "cpu"},
        "entropy_loss_scale": 0.01, "time_limit_bootstrap": True, "value_clip": 0.2, "grad_norm_clip": 1.0,
    }
    common = {
        "models": models, "memory": RandomMemory(memory_size=STEPS, num_envs=ENVS, device="cpu"), "device": "cpu",
        "observation_space": box(OBSERVATIONS), "action_space": box(ACTIONS),
    }
    generator = torch.Generator().manual_seed(7)
    random = lambda *shape: torch.randn(*shape, generator=generator) * 1.5 + 0.5
    if amp:
        models["discriminator"] = Critic(MOTION, [6, 5])
        cfg |= {
            "amp_observation_preprocessor": RunningStandardScaler,
            "amp_observation_preprocessor_kwargs": {"size": MOTION, "device": "cpu"},
            "task_reward_scale": 0.5, "style_reward_scale": 2.0, "amp_batch_size": 8, "discriminator_batch_size": 6,
        }
        motions, replies = RandomMemory(memory_size=16, device="cpu"), RandomMemory(memory_size=64, device="cpu")
        agent = AMP(
            **common, cfg=dict(cfg), amp_observation_space=box(MOTION), motion_dataset=motions, reply_buffer=replies,
            collect_reference_motions=lambda n: random(n, MOTION),
        )
    else:
        agent = PPO(**common, cfg=dict(cfg))
    agent.init()
    agent.enable_training_mode(True)
    agent.write_checkpoint = agent.write_tracking_data = lambda *_, **__: None
    out = {
        "skrl": "2.0.0", "torch": torch.__version__, "kind": kind, "variant": "full",
        "cfg": {key: str(v) if isinstance(v, (type, dict)) else v for key, v in cfg.items()},
        "init": parameters(models) | scalers(agent), "updates": [],
    }
    for _ in range(2):
        u = {"rollout": rollout(agent, random, amp)}
        names = ["rewards", "values"] + ["next_values"] * amp
        u["memory_before"] = {name: array(agent.memory.get_tensor_by_name(name)) for name in names}
        agent.tracking_data.clear()
        with Trace(agent) as u["trace"]:
            agent.enable_models_training_mode(True)
            agent.update(timestep=0, timesteps=STEPS)
            agent.enable_models_training_mode(False)
        for key, name in [("returns", "returns"), ("values_after", "values"), ("advantages", "advantages")]:
            u[key] = array(agent.memory.get_tensor_by_name(name))
        if amp:
            known = len(out["updates"]) > 0
            u["motion_dataset"] = array(motions.get_tensor_by_name("observations"))
            u["motion_indexes"] = [int(i) for i in motions.get_sampling_indexes()]
            u["reply_indexes"] = [int(i) for i in replies.get_sampling_indexes()] if known else None
        u["lr"] = [agent.scheduler.get_last_lr()[0]]
        u["tracked"] = {tag: list(map(float, values)) for tag, values in agent.tracking_data.items()}
        out["updates"].append(u | {"params": parameters(models), "scalers": scalers(agent)})
    path = pathlib.Path(__file__).with_name(f"{kind}_full.json")
    path.write_text(json.dumps(out) + "\n")


torch.set_num_threads(1)
for kind in ["ppo", "amp"]:
    case(kind)
