"""Times the updates of skrl_update.py and of skrl_networks.py's gru, each as one compiled JAX program.

    python benchmarks/jax_update.py small|medium|large|gru [--repeats N] [--threads N]
    python benchmarks/jax_update.py check BEFORE AFTER SETTINGS

Prints JSON lines as skrl_update.py does; compile is how many seconds XLA took to compile the update. check makes the
update of one of gorl's agents. BEFORE and AFTER are its snapshots, as safetensors, SETTINGS are its settings, as JSON.
BEFORE also holds what the update drew. The output is the largest difference from AFTER for each array, relative to the
array's largest value. Parameters have the names of gorl's snapshots. Weights are [inputs, outputs], which is faster in
XLA. Run it with jax/bin/python of `make peers`.
"""

import argparse
import functools
import itertools
import json
import os
import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

# gorl's defaults, and what the sizes set otherwise.
COMMON = dict(
    discount_factor=0.99, gae_lambda=0.95, ratio_clip=0.2, value_clip=0.2, value_loss_scale=2.5, entropy_loss_scale=0.0,
    sequence_length=0, task_reward_scale=0.0, style_reward_scale=2.0, learning_rate=[5e-5], grad_norm_clip=[1.0],
)  # fmt: skip
SMALL = dict(
    COMMON, envs=16, observations=17, actions=6, amp_observations=34, hidden=[64, 64], rollouts=32, learning_epochs=8,
    mini_batches=8, repeats=20,
)  # fmt: skip
SIZES = {
    "small": SMALL,
    "medium": dict(SMALL, envs=256, repeats=5),
    "large": SMALL | dict(
        envs=256, observations=105, actions=28, amp_observations=210, hidden=[1024, 512], rollouts=16,
        learning_epochs=6, mini_batches=2, repeats=5,
    ),
    "gru": dict(
        COMMON, envs=64, observations=32, actions=6, gru=64, hidden=[64, 32], rollouts=32, sequence_length=16,
        learning_epochs=4, mini_batches=4, learning_rate=[1e-3], grad_norm_clip=[0.5], repeats=10,
    ),
}  # fmt: skip
SCALERS = {"observation": "observation", "value": "value", "amp_observation": "amp"}  # by their names in snapshots
GRU = ["gru.weight_ih_l0", "gru.weight_hh_l0", "gru.bias_ih_l0", "gru.bias_hh_l0"]


def linears(p, net):
    """The names of a network's linear layers, in order."""
    return [n.removesuffix(".weight") for n in sorted(p) if n.startswith(net + "/net.") and n.endswith(".weight")]


def recurrent(p, net, x, state, ended):
    """The outputs [L, B, H] of a GRU for rows [L, B, I] from states [B, H], which are zeros behind ended [L, B, 1]."""
    w_in, w_state, b_in, b_state = (p[net + "/" + n] for n in GRU)

    def step(h, row):
        gates, end = row
        r, z, n = jnp.split(gates, 3, -1)
        r_state, z_state, n_state = jnp.split(h @ w_state + b_state, 3, -1)
        z = jax.nn.sigmoid(z + z_state)
        n = jnp.tanh(n + jax.nn.sigmoid(r + r_state) * n_state)
        out = n + z * (h - n)
        return out * (1 - end), out

    return lax.scan(step, state, (x @ w_in + b_in, ended))[1]


def forward(p, net, x, state=None, ended=None):
    if state is not None:
        x = recurrent(p, net, x, state, ended)
    *hidden, last = linears(p, net)
    for name in hidden:
        x = jax.nn.relu(x @ p[name + ".weight"] + p[name + ".bias"])
    return x @ p[last + ".weight"] + p[last + ".bias"]


def log_prob(mean, log_std, actions):
    each = -0.5 * ((actions - mean) * jnp.exp(-log_std)) ** 2 - log_std - 0.5 * np.log(2 * np.pi)
    return each.sum(-1, keepdims=True)


# Running standard scalers are (mean, variance, count), or None.
def learn(scaler, x):
    if scaler is None:
        return None
    mean, variance, count = scaler
    x = x.reshape(-1, x.shape[-1])
    own, spread, n, total = x.mean(0), x.var(0), len(x), count + len(x)
    delta = own - mean
    variance = (variance * count + spread * n + delta**2 * (count * n / total)) / total
    return mean + delta * (n / total), variance, total


def scale(scaler, x):
    return x if scaler is None else jnp.clip((x - scaler[0]) / (jnp.sqrt(scaler[1]) + 1e-8), -5, 5)


def unscale(scaler, x):
    return x if scaler is None else jnp.sqrt(scaler[1]) * jnp.clip(x, -5, 5) + scaler[0]


def advantages(rewards, values, following, rollout, cfg):
    cut = jnp.maximum(rollout["terminated"], rollout["truncated"])
    following = jnp.where(cut > 0.5, rollout["final_values"], following)
    errors = rewards + cfg["discount_factor"] * following * (1 - rollout["terminated"]) - values

    def step(after, row):
        error, chain = row
        after = error + cfg["discount_factor"] * cfg["gae_lambda"] * chain * after
        return after, after

    return lax.scan(step, jnp.zeros_like(errors[0]), (errors, 1 - cut), reverse=True)[1]


def store(ring, rows):
    """Adds rows to a memory, which has room for as many behind its end."""
    data, at, length = ring
    n, capacity = len(rows), len(data) - len(rows)
    data = lax.dynamic_update_slice(data, rows, (at, 0))
    beyond = (jnp.arange(n) < at + n - capacity)[:, None]
    data = data.at[:n].set(jnp.where(beyond, data[capacity:], data[:n]))
    return data, (at + n) % capacity, jnp.minimum(length + n, capacity)


def judge(p, b):
    """The discriminator's loss on the policy's rows, now and earlier, and the reference's, with the default scales."""
    fake = forward(p, "discriminator", jnp.concatenate([b["policy"], b["replay"]]))
    real, pull = jax.vjp(lambda x: forward(p, "discriminator", x), b["motion"])
    (slope,) = pull(jnp.ones_like(real))
    loss = 0.5 * (jax.nn.softplus(fake).mean() + jax.nn.softplus(-real).mean())
    squares = [(p[name + ".weight"] ** 2).sum() for name in linears(p, "discriminator")]
    return 5 * (loss + 5 * (slope**2).sum(-1).mean() + 1e-4 * sum(squares) + 0.05 * squares[-1])


def losses(p, b, cfg):
    mean = forward(p, "policy", b["observations"], b.get("policy_state"), b.get("ended"))
    value = forward(p, "value", b["observations"], b.get("value_state"), b.get("ended"))
    log_std = jnp.clip(p["policy/log_std_parameter"], -20, 2)
    moved = log_prob(mean, log_std, b["actions"]) - b["log_prob"]
    ratio, clip = jnp.exp(moved), cfg["ratio_clip"]
    policy_loss = -jnp.minimum(ratio * b["advantages"], jnp.clip(ratio, 1 - clip, 1 + clip) * b["advantages"]).mean()
    near = b["values"] + jnp.clip(value - b["values"], -cfg["value_clip"], cfg["value_clip"])
    value_loss = cfg["value_loss_scale"] * jnp.maximum((b["returns"] - value) ** 2, (b["returns"] - near) ** 2).mean()
    entropy = (log_std + 0.5 + 0.5 * np.log(2 * np.pi)).sum()
    loss = policy_loss + value_loss - cfg["entropy_loss_scale"] * entropy
    clipped, kl = (jnp.abs(ratio - 1) > clip).mean(), (ratio - 1 - moved).mean()
    figures = dict(policy=policy_loss, value=value_loss, entropy=entropy, kl=kl, clipped=clipped)
    if "motion" in b:
        figures["discriminator"] = judge(p, b)
        loss += figures["discriminator"]
    return loss, figures


def optimize(p, moments, gradients, cfg):
    """Adam on gradients whose norm is clipped."""
    first, second, steps = moments[0], moments[1], moments[2] + 1
    norm = jnp.sqrt(sum((g**2).sum() for g in gradients.values()))
    factor = jnp.minimum(1, cfg["grad_norm_clip"][0] / (norm + 1e-6))
    root = jnp.sqrt(1 - 0.999**steps)
    size = cfg["learning_rate"][0] * root / (1 - 0.9**steps)
    first = {k: 0.9 * m + 0.1 * factor * gradients[k] for k, m in first.items()}
    second = {k: 0.999 * v + 0.001 * (factor * gradients[k]) ** 2 for k, v in second.items()}
    p = {k: x - size * first[k] / (jnp.sqrt(second[k]) + 1e-8 * root) for k, x in p.items()}
    return p, (first, second, steps), norm


def update(state, rollout, draws, cfg):
    """One whole update. The rollout's fields are [T, N, width], under the names of gorl's snapshots.

    draws has the order of rows (of sequences, for networks with memory) in every epoch, [E, n], and for AMP fresh
    reference motion and the indices of rows of both memories: scaler [T·N], motion and replay [E, minibatches, rows].
    """
    p, scalers, steps, envs = state["params"], dict(state["scalers"]), *rollout["rewards"].shape[:2]
    length, amp, with_memory = cfg["sequence_length"], "motions" in state, "ended" in rollout
    rewards, x = rollout["rewards"], scale(scalers["observation"], rollout["observations"])
    following = scale(scalers["observation"], rollout["next_observations"])
    if amp:
        shown = rollout["amp_observations"].reshape(steps * envs, -1)
        motions, replay = store(state["motions"], draws["fresh"]), state["replay"]
        scalers["amp"] = learn(scalers["amp"], jnp.concatenate([shown, motions[0][draws["scaler"]]]))
        shown = scale(scalers["amp"], shown)
        style = -jnp.log(jnp.maximum(1 - jax.nn.sigmoid(forward(p, "discriminator", shown)), 1e-4))
        rewards = cfg["task_reward_scale"] * rewards + cfg["style_reward_scale"] * style.reshape(steps, envs, 1)
    if with_memory:
        values = rollout["values"]
        last = forward(p, "value", following[None], rollout["hidden/value"], jnp.zeros((1, envs, 1)))[0]
    else:
        values, last = unscale(scalers["value"], forward(p, "value", x)), forward(p, "value", following)
    after = jnp.concatenate([values[1:], unscale(scalers["value"], last)[None]])
    estimates = advantages(rewards, values, after, rollout, cfg)
    returns = estimates + values
    scalers["value"] = learn(scalers["value"], returns)
    estimates = (estimates - estimates.mean()) / (estimates.std(ddof=1) + 1e-8)
    rows = dict(observations=x, actions=rollout["actions"], log_prob=rollout["log_prob"], advantages=estimates)
    rows |= dict(values=scale(scalers["value"], values), returns=scale(scalers["value"], returns))
    if with_memory:  # sequences [S, L, width], which minibatches show step by step
        rows["ended"] = rollout["ended"]
        rows = {k: v.reshape(-1, length, *v.shape[1:]).swapaxes(1, 2) for k, v in rows.items()}
        rows = {k: v.reshape(-1, length, v.shape[-1]) for k, v in rows.items()}
        for net in "policy", "value":
            rows[net + "_state"] = rollout["sequences/" + net].reshape(len(rows["ended"]), -1)
    else:
        rows = {k: v.reshape(steps * envs, -1) for k, v in (rows | ({"policy": shown} if amp else {})).items()}

    def minibatch(carry, b):
        p, moments = carry
        if with_memory:
            b = {k: v.swapaxes(0, 1) if v.ndim == 3 else v for k, v in b.items()}
        if amp:
            b["motion"] = scale(scalers["amp"], motions[0][b["motion"]])
            b["replay"] = jnp.where(replay[2] > 0, scale(scalers["amp"], replay[0][b["replay"]]), b["policy"])
        gradients, figures = jax.grad(losses, has_aux=True)(p, b, cfg)
        p, moments, figures["norm"] = optimize(p, moments, gradients, cfg)
        return (p, moments), figures

    def epoch(carry, drawn):
        order = drawn.pop("order").reshape(cfg["mini_batches"], -1)
        return lax.scan(minibatch, carry, {k: v[order] for k, v in rows.items()} | drawn)

    each_epoch = {k: draws[k] for k in ("order", "motion", "replay") if k in draws}
    (p, moments), figures = lax.scan(epoch, (p, state["moments"]), each_epoch)
    scalers["observation"] = learn(scalers["observation"], rollout["observations"])
    state = dict(state, params=p, moments=moments, scalers=scalers)
    if amp:
        state |= dict(motions=motions, replay=store(replay, rollout["amp_observations"].reshape(steps * envs, -1)))
    return state, {k: v.mean() for k, v in figures.items()}


def beginning(size, rng):
    """The state before the first update, with random parameters."""
    amp, memory = "amp_observations" in size, size.get("gru")
    shapes = {"policy/log_std_parameter": (size["actions"],)}
    heads = {"policy": size["actions"], "value": 1} | ({"discriminator": 1} if amp else {})
    for net, outputs in heads.items():
        width = size["amp_observations" if net == "discriminator" else "observations"]
        if memory:
            gates, names = 3 * memory, (f"{net}/{name}" for name in GRU)
            shapes |= zip(names, [(width, gates), (memory, gates), (gates,), (gates,)])
            width = memory
        for i, (n, units) in enumerate(itertools.pairwise([width, *size["hidden"], outputs])):
            shapes |= {f"{net}/net.{2 * i}.weight": (n, units), f"{net}/net.{2 * i}.bias": (units,)}
    p = {k: rng.uniform(-1, 1, s).astype(np.float32) / np.sqrt(s[0]) for k, s in shapes.items()}
    first, second = ({k: np.zeros_like(v) for k, v in p.items()} for _ in range(2))
    new = lambda n: (np.zeros(n, np.float32), np.ones(n, np.float32), np.float32(1))
    state = dict(params=p, moments=(first, second, np.float32(0)), scalers=dict(observation=None, value=None))
    if amp:
        width, rows = size["amp_observations"], size["envs"] * size["rollouts"]
        state["scalers"] = dict(observation=new(size["observations"]), value=new(1), amp=new(width))
        state["motions"] = (rng.standard_normal((20_000 + 512, width), np.float32), np.int32(0), np.int32(20_000))
        state["replay"] = (np.zeros((100_000 + rows, width), np.float32), np.int32(0), np.int32(0))
    return jax.device_put(state)


def draw(size, rng, filled):
    """What an update draws at random; filled is how many rows the replay buffer has."""
    epochs, batches, rows = size["learning_epochs"], size["mini_batches"], size["envs"] * size["rollouts"]
    count = rows // max(size["sequence_length"], 1)
    draws = dict(order=np.stack([rng.permutation(count) for _ in range(epochs)]).astype(np.int32))
    if "amp_observations" in size:
        draws["fresh"] = rng.standard_normal((512, size["amp_observations"]), np.float32)
        draws["scaler"] = rng.integers(20_000, size=rows, dtype=np.int32)
        for name, high in ("motion", 20_000), ("replay", max(filled, 1)):
            draws[name] = rng.integers(high, size=(epochs, batches, rows // batches), dtype=np.int32)
    return draws


def rollout_of(size, rng):
    """A rollout of random numbers. The observations are the same in every step, as in gorl's benchmark."""
    steps, envs = size["rollouts"], size["envs"]
    normal = lambda width, *first: rng.standard_normal((*first, envs, width), np.float32)
    every = lambda x: np.broadcast_to(x, (steps, *x.shape))
    observations, actions = normal(size["observations"]), normal(size["actions"], steps)
    out = dict(observations=every(observations), next_observations=observations, rewards=every(normal(1)))
    out |= dict.fromkeys(("terminated", "truncated", "final_values"), np.zeros((steps, envs, 1), np.float32))
    out |= dict(actions=actions, log_prob=log_prob(0, np.zeros(size["actions"], np.float32), actions))
    if "amp_observations" in size:
        out["amp_observations"] = every(normal(size["amp_observations"]))
    else:
        out["ended"] = out["terminated"] = (rng.random((steps, envs, 1)) < 0.02).astype(np.float32)
        out |= {"values": normal(1, steps), "hidden/value": normal(size["gru"])}
        for net in "policy", "value":
            out["sequences/" + net] = normal(size["gru"], steps // size["sequence_length"])
    return jax.device_put(out)


def time_size(name, repeats):
    size = SIZES[name]
    report = lambda m, v: print(json.dumps({"library": "jax", "size": name, "measure": m, "value": v}), flush=True)
    rng, filled, times = np.random.default_rng(0), 0, []
    state, rollout = beginning(size, rng), rollout_of(size, rng)
    program, start = jax.jit(functools.partial(update, cfg=size), donate_argnums=0), time.perf_counter()
    program = program.lower(state, rollout, draw(size, rng, filled)).compile()
    report("compile", time.perf_counter() - start)
    for _ in range((repeats or size["repeats"]) + 1):
        start = time.perf_counter()
        state, figures = jax.block_until_ready(program(state, rollout, draw(size, rng, filled)))
        times.append((time.perf_counter() - start) * 1e3)
        filled = min(filled + rollout["rewards"].size, 100_000)
    if not all(np.isfinite(x) for x in figures.values()):
        raise SystemExit(f"the losses of the last update are not finite: {figures}")
    report("update", statistics.median(times[1:]))  # the first warms up


def read(path):
    """The arrays of a snapshot."""
    with open(path, "rb") as file:
        header, data = json.loads(file.read(int.from_bytes(file.read(8), "little"))), file.read()
    types = {"F32": np.float32, "F64": np.float64, "I64": np.int64, "U8": np.uint8, "BOOL": np.bool_}
    cut = lambda x: np.frombuffer(data[slice(*x["data_offsets"])], types[x["dtype"]]).reshape(x["shape"])
    return {k: cut(x).T if ".weight" in k else cut(x) for k, x in header.items() if k != "__metadata__"}


def check(before, after, settings):
    before, after, cfg = read(before), read(after), COMMON | json.loads(settings)
    under = lambda prefix: {k.removeprefix(prefix): v for k, v in before.items() if k.startswith(prefix)}
    first, draws, rows = under("optimizer/exp_avg/"), under("draws/"), before["rollout/rewards"].size
    own = "running_mean", "running_variance", "current_count"
    names = {scaler: [f"{kind}_preprocessor/{s}" for s in own] for kind, scaler in SCALERS.items()}
    scalers = {k: tuple(before[n].astype(np.float32) for n in own if n in before) or None for k, own in names.items()}
    moments = (first, under("optimizer/exp_avg_sq/"), draws.pop("steps").astype(np.float32)[0])
    state = dict(params={k: before[k] for k in first}, moments=moments, scalers=scalers)
    if "motions" in draws:  # rows of minibatches; the scaler has seen as many motions of zeros as the rollout has rows
        for memory, kind in ("motions", "motion"), ("replay", "replay"):
            table = draws.pop(memory)
            n, room = len(table), np.zeros((2 * rows, table.shape[1]), np.float32)
            state[memory] = (np.concatenate([table, room]), n, n)
            draws[kind] = np.arange(n).reshape(cfg["learning_epochs"], cfg["mini_batches"], -1)
        draws |= dict(fresh=room[:rows], scaler=n + np.arange(rows))
    state, _ = jax.jit(functools.partial(update, cfg=cfg))(state, under("rollout/"), draws)
    got = dict(state["params"])
    for scaler, own in names.items():
        got |= zip(own, state["scalers"][scaler] or ())
    print(json.dumps({k: float(np.abs(after[k] - v).max() / np.abs(after[k]).max()) for k, v in got.items()}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", choices=[*SIZES, "check"])
    parser.add_argument("check", nargs="*", metavar="BEFORE AFTER SETTINGS", help="of check")
    parser.add_argument("--repeats", type=int, help="rounds counted (default: 20 small, 10 gru, 5 others)")
    parser.add_argument("--threads", type=int, default=1, help="cores that JAX has")
    arguments = parser.parse_args()
    # XLA makes as many threads as the process has cores when it is first used; with one core, none beside the main one.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.threads])
    if arguments.threads == 1:
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    if arguments.size == "check":
        check(*arguments.check)
    else:
        time_size(arguments.size, arguments.repeats)


if __name__ == "__main__":
    main()
