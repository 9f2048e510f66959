"""Makes what the tests of package skrl compare with, by skrl itself. Run it with the Python of `make peers`.

    python agents.py KIND FOLDER [--from FILE] [--seed N] [--mini-batches N]

KIND is one of agents.json. Without --from an agent is trained for one update and saved as FOLDER/first.pt (or, stored
separately, FOLDER/policy_1.pt and so on). Then a new agent loads that file, or the one given, collects a rollout, which
is kept in FOLDER/rollout.npz, is updated once and saved as FOLDER/second.pt. The rollout's "probe" holds observations,
"before" and "after" the actions that evaluation takes for them before and after that update. skrl 2.1 shuffles rows by
its own random sequence: with one minibatch, the default, their order does not matter.
"""

import argparse
import json
import os

import gymnasium
import numpy as np
import torch

import skrl
from skrl.agents.torch.amp import AMP
from skrl.agents.torch.ppo import PPO, PPO_RNN
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from skrl.resources.preprocessors.torch import RunningStandardScaler
from skrl.resources.schedulers.torch import KLAdaptiveLR
from skrl.utils.model_instantiators.torch import categorical_model, deterministic_model, gaussian_model, shared_model

CAMERA = (6, 5, 2)  # height, width, channels
OBSERVATIONS, ACTIONS, AMP_OBSERVATIONS, ENVS, ROLLOUTS = 3, 2, 4, 4, 6
COMMON = {"rollouts": ROLLOUTS, "learning_epochs": 2, "learning_rate": 1e-3}
CLASSES = {"RunningStandardScaler": RunningStandardScaler, "KLAdaptiveLR": KLAdaptiveLR}


def box(size):
    return gymnasium.spaces.Box(-np.inf, np.inf, (size,))


def sequential(sizes):
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ELU()]
    return torch.nn.Sequential(*layers)


class OwnPolicy(GaussianMixin, Model):
    """As users write them: names of their own, the output layer apart."""

    def __init__(self, observations, actions, hidden):
        Model.__init__(self, observation_space=observations, action_space=actions, device="cpu")
        GaussianMixin.__init__(self)
        self.body = sequential([OBSERVATIONS, *hidden])
        self.mean_layer = torch.nn.Linear(hidden[-1], ACTIONS)
        self.log_std = torch.nn.Parameter(torch.zeros(ACTIONS))

    def compute(self, inputs, role):
        return self.mean_layer(self.body(inputs["observations"])), {"log_std": self.log_std}


class OwnValue(DeterministicMixin, Model):
    def __init__(self, observations, actions, hidden):
        Model.__init__(self, observation_space=observations, action_space=actions, device="cpu")
        DeterministicMixin.__init__(self)
        self.features = sequential([OBSERVATIONS, *hidden])
        self.out = torch.nn.Linear(hidden[-1], 1)

    def compute(self, inputs, role):
        return self.out(self.features(inputs["observations"])), {}


class Memory(Model):
    """A recurrent layer and a perceptron, with the names that skrl's examples give them."""

    def __init__(self, observations, actions, kind):
        Model.__init__(self, observation_space=observations, action_space=actions, device="cpu")
        self.kind = kind["recurrent"]
        hidden, layers = self.kind["hidden_size"], self.kind["num_layers"]
        layer = getattr(torch.nn, self.kind["kind"].upper())(OBSERVATIONS, hidden, layers, batch_first=True)
        setattr(self, self.kind["kind"], layer)

    def get_specification(self):
        hidden, layers = self.kind["hidden_size"], self.kind["num_layers"]
        sizes = [(layers, ENVS, hidden)] * (2 if self.kind["kind"] == "lstm" else 1)
        return {"rnn": {"sequence_length": self.kind["sequence_length"], "sizes": sizes}}

    def recall(self, inputs):
        """The layer's results and its states: of one step, or in training of whole sequences."""
        layer, lstm = getattr(self, self.kind["kind"]), self.kind["kind"] == "lstm"
        x, states = inputs["observations"], list(inputs["rnn"])
        steps = self.kind["sequence_length"] if self.training else 1
        x = x.view(-1, steps, x.shape[-1])
        states = [h[:, ::steps].contiguous() for h in states]
        ended = inputs["terminated"].view(-1, steps) if self.training else None
        results = []
        for i in range(steps):
            out, after = layer(x[:, i : i + 1], tuple(states) if lstm else states[0])
            states = list(after) if lstm else [after]
            if ended is not None:
                states = [h * ~ended[None, :, i : i + 1] for h in states]
            results.append(out)
        return torch.cat(results, dim=1).flatten(0, 1), states


class MemoryPolicy(GaussianMixin, Memory):
    def __init__(self, observations, actions, kind):
        Memory.__init__(self, observations, actions, kind)
        GaussianMixin.__init__(self)
        self.net = sequential([self.kind["hidden_size"], *kind["hidden"]])
        self.net.append(torch.nn.Linear(kind["hidden"][-1], ACTIONS))
        self.log_std_parameter = torch.nn.Parameter(torch.full((ACTIONS,), float(kind["initial_log_std"])))

    def compute(self, inputs, role):
        x, states = self.recall(inputs)
        return self.net(x), {"log_std": self.log_std_parameter, "rnn": states}


class MemoryValue(DeterministicMixin, Memory):
    def __init__(self, observations, actions, kind):
        Memory.__init__(self, observations, actions, kind)
        DeterministicMixin.__init__(self)
        self.net = sequential([self.kind["hidden_size"], *kind["hidden"]])
        self.net.append(torch.nn.Linear(kind["hidden"][-1], 1))

    def compute(self, inputs, role):
        x, states = self.recall(inputs)
        return self.net(x), {"rnn": states}


class MemoryBoth(GaussianMixin, DeterministicMixin, Memory):
    """Policy and value on one trunk; what the policy computed is the value's, too, as in skrl's examples."""

    def __init__(self, observations, actions, kind):
        Memory.__init__(self, observations, actions, kind)
        GaussianMixin.__init__(self, role="policy")
        DeterministicMixin.__init__(self, role="value")
        self.net = sequential([self.kind["hidden_size"], *kind["hidden"]])
        self.mean_layer = torch.nn.Linear(kind["hidden"][-1], ACTIONS)
        self.value_layer = torch.nn.Linear(kind["hidden"][-1], 1)
        self.log_std_parameter = torch.nn.Parameter(torch.full((ACTIONS,), float(kind["initial_log_std"])))

    def act(self, inputs, *, role=""):
        return (GaussianMixin if role == "policy" else DeterministicMixin).act(self, inputs, role=role)

    def compute(self, inputs, role):
        x, states = self.recall(inputs)
        if role == "policy":
            return self.mean_layer(self.net(x)), {"log_std": self.log_std_parameter, "rnn": states}
        return self.value_layer(self.net(x)), {"rnn": states}


def models(kind, observations, actions):
    hidden = kind["hidden"]
    if kind.get("recurrent") and kind.get("shared"):
        both = MemoryBoth(observations, actions, kind)
        return {"policy": both, "value": both}
    if kind.get("recurrent"):
        return {"policy": MemoryPolicy(observations, actions, kind), "value": MemoryValue(observations, actions, kind)}
    if kind.get("own_names"):
        return {"policy": OwnPolicy(observations, actions, hidden), "value": OwnValue(observations, actions, hidden)}
    network = [{"name": "net", "input": "OBSERVATIONS", "layers": hidden, "activations": "elu"}]
    if kind.get("camera"):
        network[0]["input"] = "cnn"
        network.insert(0, {
            "name": "cnn", "input": "permute(OBSERVATIONS, (0, 3, 1, 2)) / 255", "activations": "relu",
            "layers": [{"conv2d": {"out_channels": 3, "kernel_size": 2, "stride": [2, 1]}}, {"conv2d": [2, 2, 1, 1]}, "flatten"],
        })  # fmt: skip
    spaces = dict(observation_space=observations, action_space=actions, device="cpu")
    log_std = dict(initial_log_std=kind.get("initial_log_std", 0), fixed_log_std=kind.get("fixed_log_std", False))
    if kind.get("shared"):
        shared = shared_model(
            **spaces, structure=["GaussianMixin", "DeterministicMixin"], roles=["policy", "value"],
            parameters=[{"network": network, "output": "ACTIONS", **log_std}, {"network": network, "output": "ONE"}],
        )  # fmt: skip
        out = {"policy": shared, "value": shared}
    else:
        policy = (
            categorical_model(**spaces, network=network, output="ACTIONS")
            if kind.get("discrete")
            else gaussian_model(**spaces, network=network, output="ACTIONS", **log_std)
        )
        out = {"policy": policy, "value": deterministic_model(**spaces, network=network, output="ONE")}
    if kind["algorithm"] == "AMP":
        amp_spaces = {**spaces, "observation_space": box(AMP_OBSERVATIONS)}
        out["discriminator"] = deterministic_model(**amp_spaces, network=network, output="ONE")
    for role, model in out.items():
        model.init_state_dict(role=role)
    return out


def observed(kind, rows):
    """Random observations, of a camera bytes."""
    if kind.get("camera"):
        return torch.randint(0, 256, (rows, int(np.prod(CAMERA)))).float()
    return torch.randn(rows, OBSERVATIONS)


def build(kind, folder):
    observations = box(OBSERVATIONS)
    if kind.get("camera"):
        observations = gymnasium.spaces.Box(0, 255, CAMERA, np.uint8)
    actions = gymnasium.spaces.Discrete(ACTIONS) if kind.get("discrete") else gymnasium.spaces.Box(-1.0, 1.0, (ACTIONS,))
    cfg = {**COMMON, **{k: CLASSES.get(v, v) if isinstance(v, str) else v for k, v in kind["config"].items()}}
    for name, size in (("observation", observations), ("value", 1), ("amp_observation", box(AMP_OBSERVATIONS))):
        if f"{name}_preprocessor" in cfg:
            cfg[f"{name}_preprocessor_kwargs"] = {"size": size, "device": "cpu"}
    cfg["experiment"] = {
        "directory": folder, "experiment_name": "run", "write_interval": 0, "checkpoint_interval": 0,
        "store_separately": kind.get("separately", False),
    }  # fmt: skip
    arguments = dict(
        models=models(kind, observations, actions), memory=RandomMemory(memory_size=ROLLOUTS, num_envs=ENVS, device="cpu"),
        observation_space=observations, action_space=actions, device="cpu", cfg=cfg,
    )  # fmt: skip
    if kind["algorithm"] == "AMP":
        # One motion only, so that it does not matter which rows are drawn.
        motion = torch.linspace(-1, 1, AMP_OBSERVATIONS)
        arguments.update(
            amp_observation_space=box(AMP_OBSERVATIONS), motion_dataset=RandomMemory(memory_size=64, device="cpu"),
            reply_buffer=RandomMemory(memory_size=256, device="cpu"), collect_reference_motions=lambda n: motion.repeat(n, 1),
        )  # fmt: skip
        agent = AMP(**{**arguments, "cfg": {"amp_batch_size": 8, **cfg}})
    else:
        agent = (PPO_RNN if kind.get("recurrent") else PPO)(**arguments)
    agent.init()
    return agent


def learn(agent, kind):
    """Collects a rollout of random observations, learns from it, and returns it."""
    agent.enable_training_mode(True)
    names = ("observations", "actions", "rewards", "terminated", "truncated", "next_observations", "amp_observations")
    rollout = {name: [] for name in names}
    observations = observed(kind, ENVS)
    for step in range(ROLLOUTS):
        with torch.no_grad():
            actions, _ = agent.act(observations, None, timestep=step, timesteps=100)
            following = observed(kind, ENVS)
            rewards = torch.randn(ENVS, 1)
            terminated, truncated = torch.rand(ENVS, 1) < 0.15, torch.rand(ENVS, 1) < 0.1
            amp_observations = torch.randn(ENVS, AMP_OBSERVATIONS)
            row = (observations, actions, rewards, terminated, truncated, following, amp_observations)
            for name, tensor in zip(names, row):
                rollout[name].append(tensor.clone())
            agent.record_transition(
                observations=observations, states=None, actions=actions, rewards=rewards, next_observations=following,
                next_states=None, terminated=terminated, truncated=truncated, infos={"amp_obs": amp_observations},
                timestep=step, timesteps=100,
            )  # fmt: skip
        observations = following
    agent.enable_models_training_mode(True)
    agent.update(timestep=1, timesteps=100)
    agent.enable_models_training_mode(False)
    return {name: torch.stack(rows).float().numpy() for name, rows in rollout.items()}


def evaluate(agent, kind, observations):
    agent.enable_training_mode(False)
    if kind.get("recurrent"):
        return evaluate_episode(agent, observations)
    with torch.no_grad():
        _, outputs = agent.act(observations, None, timestep=10**6, timesteps=10**7)
    if kind.get("discrete"):
        return outputs["net_output"].argmax(dim=-1, keepdim=True).float().numpy()
    return outputs["mean_actions"].float().numpy()


def evaluate_episode(agent, observations):
    """The actions of an episode's first steps. PPO_RNN's record_transition fails outside training, so that the states
    are handed on here, and those of training are put back."""
    kept, zeros = (agent._rnn_initial_states, agent._rnn_final_states), agent._rnn_initial_states["policy"]
    states, actions = [torch.zeros_like(h) for h in zeros], []
    for rows in observations.split(ENVS):
        agent._rnn_initial_states, agent._rnn_final_states = {"policy": states, "value": []}, {"policy": [], "value": []}
        with torch.no_grad():
            _, outputs = agent.act(rows, None, timestep=10**6, timesteps=10**7)
        states = agent._rnn_final_states["policy"]
        actions.append(outputs["mean_actions"].numpy())
    agent._rnn_initial_states, agent._rnn_final_states = kept
    return np.concatenate(actions)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind")
    parser.add_argument("folder")
    parser.add_argument("--from", dest="start", default=None)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mini-batches", type=int, default=1)
    arguments = parser.parse_args()
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "agents.json")) as file:
        kind = json.load(file)[arguments.kind]
    COMMON["mini_batches"] = arguments.mini_batches
    torch.set_num_threads(1)
    torch.manual_seed(arguments.seed)
    at = lambda name: os.path.join(arguments.folder, name)
    start = arguments.start
    if start is None:
        agent = build(kind, arguments.folder)
        learn(agent, kind)
        start = at("first.pt")
        agent.save(start)
        if kind.get("separately"):
            for name, module in agent.checkpoint_modules.items():
                torch.save(agent._get_internal_value(module), at(f"{name}_1.pt"))
    agent = build(kind, arguments.folder)
    agent.load(start)
    if kind.get("separately") and arguments.start is None:
        os.remove(start)
    probe = observed(kind, 10_000)
    before = evaluate(agent, kind, probe)
    rollout = learn(agent, kind)
    agent.save(at("second.pt"))
    np.savez(at("rollout.npz"), probe=probe.numpy(), before=before, after=evaluate(agent, kind, probe), **rollout)
    print(f"skrl {skrl.__version__}, PyTorch {torch.__version__}: {arguments.folder}")


if __name__ == "__main__":
    main()
