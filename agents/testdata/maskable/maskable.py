"""Writes maskable.json: what sb3-contrib's MaskablePPO makes of two rollouts with action masks.

    python maskable.py            # needs sb3-contrib; the numbers are of sb3-contrib 2.9.2

Each case has an initial network, a rollout of T steps of N environments (observations, masks, the actions that it drew
with their log-probabilities, rewards, ends), deterministic actions for the first observations, and the losses and
parameters after each update. A minibatch is the whole rollout, so no order matters.
"""

import json

import gymnasium
import numpy as np
import torch as th
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import DummyVecEnv

N, T, O = 3, 8, 4
SETTINGS = dict(n_steps=T, batch_size=N * T, n_epochs=3, gamma=0.97, gae_lambda=0.9, clip_range=0.2, ent_coef=0.03, vf_coef=0.5, max_grad_norm=0.5, learning_rate=0.02)


class Scripted(gymnasium.Env):
    """Shows given observations, whatever is done."""

    def __init__(self, action_space, observations, masks, rewards, dones):
        self.action_space, self.observation_space = action_space, gymnasium.spaces.Box(-np.inf, np.inf, (O,), np.float32)
        self.observations, self.masks, self.rewards, self.dones, self.t = observations, masks, rewards, dones, 0

    def reset(self, *, seed=None, options=None):
        return self.observations[self.t], {}

    def step(self, action):
        self.t += 1
        return self.observations[self.t], float(self.rewards[self.t - 1]), bool(self.dones[self.t - 1]), False, {}

    def action_masks(self):
        return self.masks[self.t]


def case(action_space, nvec, seed):
    r = np.random.default_rng(seed)
    observations = r.normal(size=(N, T + 1, O)).astype(np.float32)
    masks = r.random((N, T + 1, sum(nvec))) < 0.6
    for row in masks.reshape(-1, sum(nvec)):
        at = 0
        for n in nvec:
            row[at + r.integers(n)] = True
            at += n
    rewards, dones = r.normal(size=(N, T)).astype(np.float32), r.random((N, T)) < 0.15
    env = DummyVecEnv([lambda i=i: Scripted(action_space, observations[i], masks[i], rewards[i], dones[i]) for i in range(N)])
    model = MaskablePPO("MlpPolicy", env, seed=seed, policy_kwargs=dict(net_arch=dict(pi=[8], vf=[8])), **SETTINGS)
    policy = model.policy
    layers = [policy.mlp_extractor.policy_net[0], policy.action_net, policy.mlp_extractor.value_net[0], policy.value_net]

    def parameters():
        return [p.detach().flatten().tolist() for layer in layers for p in (layer.weight, layer.bias)]

    with th.no_grad():
        for layer in layers:
            for p in (layer.weight, layer.bias):
                p.copy_(th.from_numpy(0.7 * r.normal(size=tuple(p.shape))))
    out = {"nvec": nvec, "initial": parameters(), "rewards": rewards.T.tolist(), "dones": dones.T.tolist()}
    out["observations"] = observations.transpose(1, 0, 2).tolist()
    out["masks"] = masks.transpose(1, 0, 2).astype(int).tolist()
    out["deterministic"] = model.predict(observations[:, 0], deterministic=True, action_masks=masks[:, 0])[0].reshape(N, -1).tolist()
    losses = {}
    model.set_logger(configure(None, []))
    _, callback = model._setup_learn(N * T, None)
    model.collect_rollouts(env, callback, model.rollout_buffer, T, True)
    buffer = model.rollout_buffer
    out["actions"] = buffer.actions.astype(int).tolist()
    out["log_prob"] = buffer.log_probs.tolist()
    model.train()
    names = {"entropy_loss": "entropy", "policy_gradient_loss": "policy", "value_loss": "value"}
    for key, name in names.items():
        losses[name] = float(model.logger.name_to_value[f"train/{key}"])
    return {**out, "losses": losses, "updated": parameters()}


spaces = gymnasium.spaces
cases = [case(spaces.Discrete(5), [5], 1), case(spaces.MultiDiscrete([3, 2, 4]), [3, 2, 4], 2)]
with open("maskable.json", "w") as f:
    json.dump({"settings": SETTINGS, "cases": cases}, f)
