"""Makes skills.json: losses and gradients of one minibatch of ASE and of CALM, and ASE's returns of a rollout.

Run it with the Python of `make peers`, in this folder. The formulas are written here after the authors' papers and
programs, in plain PyTorch and float64; nothing of gorl takes part.
"""

import json

import torch
from torch import nn
from torch.nn.functional import normalize, softplus

SEED, STREAM = 7, 0x5851F42D4C957F2D  # of gorl's agent, and what it mixes into the seed of its generator
BODY, LATENT, MOTION, STATE, ACTIONS, HIDDEN = 2, 2, 3, 1, 2, 5
ROWS, JUDGED = 6, 4  # of the minibatch, and those of them that discriminator and encoder see
LOW, HIGH = torch.tensor([-0.5, -1.0]), torch.tensor([1.5, 3.0])
EPSILON, CLIP = 1e-8, 5.0  # of the scalers

CASES = {
    "ase": {"calm": False, "shared": True, "masked": [], "mismatched": False, "states": False, "penalty": 0.7,
            "scales": {"value": 2.0, "discriminator": 3.0, "encoder": 5.0, "diversity": 0.4, "logits": 0.02, "decay": 0.01}},
    "ase_separate": {"calm": False, "shared": False, "masked": [1], "mismatched": False, "states": True, "penalty": 0.7,
                     "scales": {"value": 2.0, "discriminator": 1.0, "encoder": 2.0, "diversity": 1.0, "logits": 0.0, "decay": 0.01}},
    "calm": {"calm": True, "shared": False, "masked": [], "mismatched": False, "states": False, "penalty": 0.7,
             "scales": {"value": 2.0, "discriminator": 5.0, "encoder": 0.1, "diversity": 0.0, "logits": 0.01, "decay": 0.0001}},
    "calm_mismatched": {"calm": True, "shared": False, "masked": [1], "mismatched": True, "states": True, "penalty": 0.0,
                        "scales": {"value": 1.0, "discriminator": 1.0, "encoder": 3.0, "diversity": 0.0, "logits": 0.0, "decay": 0.0}},
}  # fmt: skip


class Skills(nn.Module):
    def __init__(self, c):
        super().__init__()

        def perceptron(inputs, outputs):
            return nn.Sequential(nn.Linear(inputs, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, outputs))

        self.c = c
        self.policy = perceptron(BODY + LATENT, ACTIONS)
        self.log_std = nn.Parameter(torch.full((ACTIONS,), -0.3))
        self.value = perceptron((STATE if c["states"] else BODY) + LATENT, 1)
        self.discriminator = perceptron(MOTION + (LATENT if c["calm"] else 0), 1)
        self.encoder = nn.Linear(HIDDEN, LATENT) if c["shared"] else perceptron(MOTION, LATENT)
        with torch.no_grad():
            self.policy[2].weight.mul_(6)  # so that means lie within bounds and beyond
        self.double()
        self.scalers = {}
        for name, width in (("observation_preprocessor", BODY + LATENT), ("state_preprocessor", STATE + LATENT), ("amp_observation_preprocessor", MOTION)):
            self.scalers[name] = (0.3 * torch.randn(width, dtype=torch.float64), 0.5 + torch.rand(width, dtype=torch.float64))

    def scale(self, name, x, columns=slice(None)):
        mean, variance = self.scalers[name]
        return ((x - mean[columns]) / (variance[columns].sqrt() + EPSILON)).clamp(-CLIP, CLIP)

    def seen(self, motion):  # as discriminator and encoder read it: scaled before, without what is masked
        keep = torch.ones(MOTION, dtype=torch.float64)
        keep[self.c["masked"]] = 0
        return motion * keep

    def encode(self, motion):
        trunk = self.discriminator[:2] if self.c["shared"] else nn.Identity()
        return normalize(self.encoder(trunk(self.seen(motion))), dim=-1)

    def judge(self, motion, z=None):
        x = self.seen(motion)
        return self.discriminator(x if z is None else torch.cat([x, z], -1))

    def named(self, of):
        found = {"policy/log_std_parameter": self.log_std}
        for name, net in (("policy", self.policy), ("value", self.value), ("discriminator", self.discriminator), ("encoder", self.encoder)):
            layer = "branch." if isinstance(net, nn.Linear) else "net."
            found.update({f"{name}/{layer}{key}": p for key, p in net.named_parameters()})
        return {name: tensor(of(p)) for name, p in found.items()}


def tensor(x):
    return {"shape": list(x.shape), "data": x.detach().flatten().tolist()}


def latents(n, draws):
    return normalize(torch.randn(n, LATENT, generator=draws), dim=-1).double()


def rounded(*shape, draws):  # numbers that float32 has exactly
    return torch.randn(*shape, generator=draws).double()


def uniformity(z):
    return (-2 * torch.pdist(z).square()).exp().mean().log()


def minibatch(c, draws):
    m, scales, name = Skills(c), c["scales"], "amp_observation_preprocessor"
    body, states = rounded(ROWS, BODY, draws=draws), rounded(ROWS, STATE, draws=draws)
    z, actions = latents(ROWS, draws), rounded(ROWS, ACTIONS, draws=draws)
    motion, windows = rounded(ROWS, MOTION, draws=draws), rounded(ROWS, MOTION, draws=draws)
    replay, replayed = rounded(JUDGED, MOTION, draws=draws), rounded(JUDGED, MOTION, draws=draws)
    demo, overlapping = rounded(JUDGED, MOTION, draws=draws), rounded(JUDGED, MOTION, draws=draws)
    advantages, returns, before = (rounded(ROWS, 1, draws=draws) for _ in range(3))
    inputs = {"observations": torch.cat([body, z], 1), "states": torch.cat([states, z], 1), "actions": actions, "motion": motion,
              "windows": windows, "replay": torch.cat([replay, replayed], 1), "demo": torch.cat([demo, overlapping], 1),
              "advantages": advantages, "returns": returns, "log_prob": 0.1 * before - 3}  # fmt: skip

    def observed(rows, scaler, z):  # z may have a gradient
        return m.scale(scaler, torch.cat([rows, z], 1))

    scaled = {k: m.scale(name, x) for k, x in (("motion", motion), ("windows", windows), ("replay", replay), ("replayed", replayed), ("demo", demo), ("overlapping", overlapping))}
    told = m.encode(scaled["windows"]) if c["calm"] else z
    mean = m.policy(observed(body, "observation_preprocessor", told))
    log_prob = torch.distributions.Normal(mean, m.log_std.exp()).log_prob(actions).sum(1, keepdim=True)
    ratio = (log_prob - inputs["log_prob"]).exp()
    losses = {"policy": torch.max(-advantages * ratio, -advantages * ratio.clamp(0.8, 1.2)).mean()}
    value = m.value(observed(states, "state_preprocessor", told) if c["states"] else observed(body, "observation_preprocessor", told))
    losses["value"] = scales["value"] * (value - returns).square().mean()

    first, demonstrated = scaled["motion"][:JUDGED], scaled["demo"].clone().requires_grad_(True)
    if c["calm"]:
        with torch.no_grad():
            own, earlier = m.encode(scaled["demo"]), m.encode(scaled["replayed"])
        fake = [m.judge(first, told[:JUDGED].detach()), m.judge(scaled["replay"], earlier)]
        if c["mismatched"]:
            fake.append(m.judge(scaled["demo"], told[:JUDGED].detach()))
        real = m.judge(demonstrated, own)
        losses["encoder"] = (m.encode(scaled["demo"]) - m.encode(scaled["overlapping"])).square().sum(1).mean() + 0.5 * uniformity(m.encode(scaled["demo"]))
    else:
        fake, real = [m.judge(first), m.judge(scaled["replay"])], m.judge(demonstrated)
        losses["encoder"] = -(m.encode(first) * z[:JUDGED]).sum(1).mean()
    (slope,) = torch.autograd.grad(real.sum(), demonstrated, create_graph=True)
    losses["penalty"] = slope.square().sum(1).mean()
    weights = [m.discriminator[0].weight, m.discriminator[2].weight]
    judged = 0.5 * (softplus(torch.cat(fake)).mean() + softplus(-real).mean()) + c["penalty"] * losses["penalty"]
    judged = judged + scales["logits"] * weights[1].square().sum() + scales["decay"] * sum(w.square().sum() for w in weights)
    losses["discriminator"] = scales["discriminator"] * judged

    losses["diversity"] = torch.zeros(())
    if scales["diversity"]:
        other = normalize(torch.randn(ROWS, LATENT, generator=torch.Generator().manual_seed(SEED ^ STREAM)), dim=-1).double()

        def limited(x):
            return ((x - (LOW + HIGH) / 2) / ((HIGH - LOW) / 2)).clamp(-1, 1)

        moved = limited(m.policy(observed(body, "observation_preprocessor", other))) - limited(mean)
        bonus = moved.square().mean(1) / (0.5 - 0.5 * (other * z).sum(1) + 1e-5)
        losses["diversity"] = (1 - bonus).square().mean()
    total = losses["policy"] + losses["value"] + losses["discriminator"] + scales["encoder"] * losses["encoder"] + scales["diversity"] * losses["diversity"]
    parameters = m.named(lambda p: p.clone())
    total.backward()
    return {"settings": c, "parameters": parameters, "gradients": m.named(lambda p: p.grad), "inputs": {k: tensor(x) for k, x in inputs.items()},
            "scalers": {k: {"mean": tensor(mean), "variance": tensor(variance)} for k, (mean, variance) in m.scalers.items()},
            "losses": {k: x.item() for k, x in losses.items()}}  # fmt: skip


def returns(draws):
    """A rollout whose latents change within episodes and with them: what follows a step is judged by the latent of the step."""
    c = dict(CASES["ase"])
    m, steps, envs, gamma, trace = Skills(c), 6, 2, 0.9, 0.8
    weights = {"task": 0.5, "style": 0.25, "encoder": 3.0}
    body = rounded(steps + 1, envs, BODY, draws=draws)
    z = latents((steps + 1) * envs, draws).reshape(steps + 1, envs, LATENT)
    for t, env in ((1, 0), (3, 1), (4, 1)):  # held
        z[t, env] = z[t - 1, env]
    motion, rewards = rounded(steps, envs, MOTION, draws=draws), rounded(steps, envs, draws=draws)
    final = rounded(steps, envs, BODY, draws=draws)
    terminated, truncated = torch.zeros(steps, envs), torch.zeros(steps, envs)
    terminated[1, 0] = truncated[3, 1] = 1
    with torch.no_grad():
        values = m.value(torch.cat([body, z], -1))[:-1, :, 0]
        follows = torch.where(truncated[..., None] > 0, final, body[1:])
        following = m.value(torch.cat([follows, z[:-1]], -1))[..., 0] * (1 - terminated)
        logits = m.judge(motion)[..., 0]
        style = -torch.log(torch.clamp(1 - torch.sigmoid(logits), min=1e-4))
        skill = (m.encode(motion) * z[:-1]).sum(-1).clamp(min=0)
        combined = weights["task"] * rewards + weights["style"] * style + weights["encoder"] * skill
        advantages, last = torch.zeros_like(rewards), 0
        for t in reversed(range(steps)):
            delta = combined[t] + gamma * following[t] - values[t]
            last = delta + gamma * trace * (1 - torch.maximum(terminated[t], truncated[t])) * last
            advantages[t] = last
    x = {"observations": torch.cat([body, z], -1), "final": torch.cat([final, z[:-1]], -1), "motion": motion, "rewards": rewards,
         "terminated": terminated, "truncated": truncated, "returns": advantages + values}  # fmt: skip
    return {"parameters": m.named(lambda p: p.clone()), "weights": weights, "gamma": gamma, "lambda": trace, "arrays": {k: tensor(v) for k, v in x.items()}}


def main():
    out = {"minibatches": {}}
    for number, (name, c) in enumerate(CASES.items()):
        torch.manual_seed(10 + number)
        out["minibatches"][name] = minibatch(c, torch.Generator().manual_seed(200 + number))
    torch.manual_seed(50)
    out["returns"] = returns(torch.Generator().manual_seed(150))
    with open("skills.json", "w") as f:
        json.dump(out, f, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main()
