"""Makes recipes.json: what two updates of CleanRL's and of Stable-Baselines3's PPO do to given networks and rollouts.

Run it with the Python of `make peers`, in this folder. The update is written here after the two projects' documentation
and papers, in plain PyTorch; nothing of gorl takes part.
"""

import json

import torch
from torch import nn
from torch.distributions import Categorical, Normal

SEED, STREAM = 7, 0x5851F42D4C957F2D  # of gorl's agent, and what it mixes into the seed of its generator
STEPS, ENVS, OBSERVATIONS, ACTIONS, HIDDEN = 16, 2, 3, 2, 8
UPDATES, TOTAL_UPDATES = 2, 4

CASES = {
    # ppo_continuous_action.py; the clip of gradients is low enough to be felt, the coefficients are not the defaults of 0.
    "cleanrl_continuous": {
        "discrete": False, "epochs": 4, "minibatches": 4, "lr": 3e-3, "anneal": True, "gamma": 0.99, "lambda": 0.95, "clip": 0.2,
        "value_clip": 0.2, "half": True, "vf_coef": 0.5, "ent_coef": 0.01, "max_grad_norm": 0.5, "eps": 1e-5, "betas": [0.9, 0.999],
        "bootstrap": False, "normalize": "minibatch",
    },
    "cleanrl_discrete": {
        "discrete": True, "epochs": 4, "minibatches": 4, "lr": 2.5e-3, "anneal": True, "gamma": 0.99, "lambda": 0.95, "clip": 0.2,
        "value_clip": 0.2, "half": True, "vf_coef": 0.5, "ent_coef": 0.01, "max_grad_norm": 0.5, "eps": 1e-5, "betas": [0.9, 0.999],
        "bootstrap": False, "normalize": "minibatch",
    },
    # Stable-Baselines3's PPO: no clip of values, truncated episodes count the value of their last observation.
    "sb3": {
        "discrete": False, "epochs": 3, "minibatches": 8, "lr": 3e-3, "anneal": False, "gamma": 0.99, "lambda": 0.95, "clip": 0.2,
        "value_clip": None, "half": False, "vf_coef": 0.5, "ent_coef": 0.0, "max_grad_norm": 0.5, "eps": 1e-5, "betas": [0.9, 0.999],
        "bootstrap": True, "normalize": "minibatch",
    },
    # As skrl normalises.
    "rollout": {
        "discrete": False, "epochs": 2, "minibatches": 4, "lr": 1e-3, "anneal": False, "gamma": 0.99, "lambda": 0.95, "clip": 0.2,
        "value_clip": 0.2, "half": False, "vf_coef": 2.0, "ent_coef": 0.0, "max_grad_norm": 0.5, "eps": 1e-8, "betas": [0.9, 0.999],
        "bootstrap": True, "normalize": "rollout",
    },
    # Other betas, one of them 0, and advantages as they are.
    "betas": {
        "discrete": False, "epochs": 2, "minibatches": 2, "lr": 1e-3, "anneal": False, "gamma": 0.9, "lambda": 0.8, "clip": 0.1,
        "value_clip": None, "half": False, "vf_coef": 1.0, "ent_coef": 0.0, "max_grad_norm": 10.0, "eps": 1e-3, "betas": [0.0, 0.95],
        "bootstrap": True, "normalize": "none",
    },
    # Stable-Baselines3 with the learning rate falling linearly: the progress is updated before the update.
    "sb3_linear": {
        "discrete": False, "epochs": 3, "minibatches": 8, "lr": 3e-3, "anneal": True, "start": 1, "gamma": 0.99, "lambda": 0.95,
        "clip": 0.2, "value_clip": None, "half": False, "vf_coef": 0.5, "ent_coef": 0.0, "max_grad_norm": 0.5, "eps": 1e-5,
        "betas": [0.9, 0.999], "bootstrap": True, "normalize": "minibatch",
    },
}  # fmt: skip


def perceptron(outputs, gain):
    layers = []
    for inputs, width, g in ((OBSERVATIONS, HIDDEN, 2**0.5), (HIDDEN, HIDDEN, 2**0.5), (HIDDEN, outputs, gain)):
        linear = nn.Linear(inputs, width)
        nn.init.orthogonal_(linear.weight, g)
        nn.init.constant_(linear.bias, 0.1)
        layers += [linear, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


class Agent(nn.Module):
    def __init__(self, discrete):
        super().__init__()
        self.policy, self.value, self.discrete = perceptron(ACTIONS, 0.5), perceptron(1, 1.0), discrete
        self.log_std = None if discrete else nn.Parameter(torch.full((ACTIONS,), -0.3))

    def judge(self, observations, actions):
        out = self.policy(observations)
        if self.discrete:
            d = Categorical(logits=out)
            return d.log_prob(actions[:, 0].long()), d.entropy(), self.value(observations)[:, 0]
        d = Normal(out, self.log_std.exp())
        return d.log_prob(actions).sum(1), d.entropy().sum(1), self.value(observations)[:, 0]

    def named(self):
        found = {} if self.discrete else {"policy/log_std_parameter": self.log_std}
        for name, net in (("policy", self.policy), ("value", self.value)):
            found.update({f"{name}/net.{key}": p for key, p in net.named_parameters()})
        return {name: {"shape": list(p.shape), "data": p.detach().flatten().tolist()} for name, p in found.items()}


def rollout(discrete, draws):
    obs = torch.randn(STEPS + 1, ENVS, OBSERVATIONS, generator=draws)
    actions = torch.randn(STEPS, ENVS, ACTIONS, generator=draws)
    if discrete:
        actions = torch.randint(0, ACTIONS, (STEPS, ENVS, 1), generator=draws).float()
    rewards = torch.randn(STEPS, ENVS, generator=draws)
    terminated, truncated = torch.zeros(STEPS, ENVS), torch.zeros(STEPS, ENVS)
    terminated[4, 0] = terminated[15, 1] = truncated[9, 1] = truncated[11, 0] = 1
    final = torch.randn(STEPS, ENVS, OBSERVATIONS, generator=draws)  # of episodes that ended
    return obs, actions, rewards, terminated, truncated, final


def update(agent, optimizer, c, data, order):
    obs, actions, rewards, terminated, truncated, final = data
    flat_obs, flat_actions = obs[:-1].reshape(-1, OBSERVATIONS), actions.reshape(STEPS * ENVS, -1)
    with torch.no_grad():
        old_log_prob, _, _ = agent.judge(flat_obs, flat_actions)
        values = agent.value(obs)[..., 0]
        done = torch.maximum(terminated, truncated)
        if c["bootstrap"]:  # the value of the last observation is added to the reward
            rewards = rewards + c["gamma"] * agent.value(final)[..., 0] * truncated * (1 - terminated)
        advantages, last = torch.zeros_like(rewards), 0
        for t in reversed(range(STEPS)):
            delta = rewards[t] + c["gamma"] * values[t + 1] * (1 - done[t]) - values[t]
            last = delta + c["gamma"] * c["lambda"] * (1 - done[t]) * last
            advantages[t] = last
        old_values, advantages = values[:-1].reshape(-1), advantages.reshape(-1)
        returns = advantages + old_values
        if c["normalize"] == "rollout":
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    size = STEPS * ENVS // c["minibatches"]
    for _ in range(c["epochs"]):
        rows = torch.randperm(STEPS * ENVS, generator=order)
        yield rows.tolist()
        for start in range(0, STEPS * ENVS, size):
            i = rows[start : start + size]
            log_prob, entropy, value = agent.judge(flat_obs[i], flat_actions[i])
            ratio = (log_prob - old_log_prob[i]).exp()
            a = advantages[i]
            if c["normalize"] == "minibatch":
                a = (a - a.mean()) / (a.std() + 1e-8)
            policy_loss = torch.max(-a * ratio, -a * ratio.clamp(1 - c["clip"], 1 + c["clip"])).mean()
            value_loss = (value - returns[i]) ** 2
            if c["value_clip"] is not None:
                clipped = old_values[i] + (value - old_values[i]).clamp(-c["value_clip"], c["value_clip"])
                value_loss = torch.max(value_loss, (clipped - returns[i]) ** 2)
            value_loss = value_loss.mean() * (0.5 if c["half"] else 1.0)
            loss = policy_loss - c["ent_coef"] * entropy.mean() + c["vf_coef"] * value_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), c["max_grad_norm"])
            optimizer.step()


def main():
    out = {}
    for number, (name, c) in enumerate(CASES.items()):
        torch.manual_seed(number)
        draws, order = torch.Generator().manual_seed(100 + number), torch.Generator().manual_seed(SEED ^ STREAM)
        agent = Agent(c["discrete"])
        optimizer = torch.optim.Adam(agent.parameters(), lr=c["lr"], eps=c["eps"], betas=c["betas"])
        case = {"settings": c, "steps": STEPS, "envs": ENVS, "total_updates": TOTAL_UPDATES, "seed": SEED, "init": agent.named(), "updates": []}
        for k in range(1, UPDATES + 1):
            if c["anneal"]:
                optimizer.param_groups[0]["lr"] = (1 - (k - 1 + c.get("start", 0)) / TOTAL_UPDATES) * c["lr"]
            data = rollout(c["discrete"], draws)
            orders = list(update(agent, optimizer, c, data, order))
            names = ("observations", "actions", "rewards", "terminated", "truncated", "final_observations")
            case["updates"].append({
                "learning_rate": optimizer.param_groups[0]["lr"], "orders": orders, "parameters": agent.named(),
                "rollout": {n: x.flatten().tolist() for n, x in zip(names, data)},
            })  # fmt: skip
        out[name] = case
    with open("recipes.json", "w") as f:
        json.dump(out, f, separators=(",", ":"))
        f.write("\n")


main()
