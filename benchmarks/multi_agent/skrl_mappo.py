"""Trains skrl's MAPPO on copies of a game of PettingZoo, with the settings that it is given as JSON; prints JSON.

    python skrl_mappo.py SETTINGS

skrl's own wrapper of PettingZoo has one copy and fails at the end of its first episode. The one below has as many as the
settings say, which it resets in the step in which they end. The training loop is skrl's.
"""

import importlib
import json
import sys
import time
from collections import deque

import numpy as np
import torch
from skrl.envs.wrappers.torch import MultiAgentEnvWrapper
from skrl.memories.torch import RandomMemory
from skrl.models.torch import CategoricalMixin, DeterministicMixin, Model
from skrl.multi_agents.torch.mappo import MAPPO, MAPPO_CFG
from skrl.resources.preprocessors.torch import RunningStandardScaler
from skrl.trainers.torch import SequentialTrainer
from skrl.utils import set_seed

settings = json.loads(sys.argv[1])
seed, n = settings["seed"], settings["num_envs"]
torch.set_num_threads(1)
set_seed(seed)


class Copies(MultiAgentEnvWrapper):
    """Copies of a game as skrl wants them, and the returns of their last 100 episodes, summed over the agents."""

    def __init__(self):
        module = importlib.import_module(settings["id"])
        self.copies = [module.parallel_env() for _ in range(n)]
        super().__init__(self.copies[0])
        agents = self.copies[0].possible_agents
        self.spaces = {a: self.copies[0].observation_space(a) for a in agents}, {a: self.copies[0].action_space(a) for a in agents}
        self.seen = [env.reset(seed=seed + i)[0] for i, env in enumerate(self.copies)]
        self.returns, self.ended, self.curve, self.steps = np.zeros(n), deque(maxlen=100), [], 0

    num_envs = property(lambda self: n)
    agents = property(lambda self: self.copies[0].possible_agents)
    possible_agents = agents
    num_agents = property(lambda self: len(self.possible_agents))
    observation_spaces = property(lambda self: self.spaces[0])
    action_spaces = property(lambda self: self.spaces[1])
    state_spaces = property(lambda self: {a: self.copies[0].state_space for a in self.possible_agents})

    def observations(self):
        return {a: torch.as_tensor(np.stack([seen[a] for seen in self.seen]), dtype=torch.float32) for a in self.possible_agents}

    def reset(self):
        return self.observations(), {}

    def state(self):
        state = torch.as_tensor(np.stack([env.state() for env in self.copies]), dtype=torch.float32)
        return {a: state for a in self.possible_agents}

    def step(self, actions):
        agents = self.possible_agents
        rewards, terminated, truncated = np.zeros((3, len(agents), n), np.float32)
        for i, env in enumerate(self.copies):
            self.seen[i], reward, over, cut, _ = env.step({a: int(actions[a][i]) for a in agents})
            for j, a in enumerate(agents):
                rewards[j, i], terminated[j, i], truncated[j, i] = reward[a], over[a], cut[a]
            self.returns[i] += sum(reward.values())
            if not env.agents:
                self.ended.append(self.returns[i])
                self.returns[i] = 0
                self.seen[i] = env.reset()[0]
        self.steps += 1
        if self.steps % settings["every"] == 0:
            self.curve.append([self.steps * n, float(np.mean(self.ended))])
        column = lambda values: {a: torch.as_tensor(values[j]).view(-1, 1) for j, a in enumerate(agents)}
        flags = lambda values: {a: value.bool() for a, value in column(values).items()}
        return self.observations(), column(rewards), flags(terminated), flags(truncated), {}

    def render(self, *args, **kwargs):
        return None

    def close(self):
        pass


def perceptron(inputs, outputs):
    layers, width = [], inputs
    for units in settings["network"]:
        layers += [torch.nn.Linear(width, units), torch.nn.Tanh()]
        width = units
    return torch.nn.Sequential(*layers, torch.nn.Linear(width, outputs))


class Policy(CategoricalMixin, Model):
    def __init__(self, **spaces):
        Model.__init__(self, device="cpu", **spaces)
        CategoricalMixin.__init__(self)
        self.net = perceptron(self.num_observations, self.num_actions)

    def compute(self, inputs, role):
        return self.net(inputs["observations"]), {}


class Value(DeterministicMixin, Model):
    """Reads the shared state, which is what makes it MAPPO."""

    def __init__(self, **spaces):
        Model.__init__(self, device="cpu", **spaces)
        DeterministicMixin.__init__(self)
        self.net = perceptron(self.num_states, 1)

    def compute(self, inputs, role):
        return self.net(inputs["states"]), {}


env = Copies()
agents, models, memories = env.possible_agents, {}, {}
for a in agents:
    spaces = dict(observation_space=env.observation_spaces[a], state_space=env.state_spaces[a], action_space=env.action_spaces[a])
    models[a] = {"policy": Policy(**spaces), "value": Value(**spaces)}
    memories[a] = RandomMemory(memory_size=settings["agent"]["rollouts"], num_envs=n, device="cpu")
config = {k: v for k, v in settings["agent"].items() if not k.endswith("preprocessor")}
agent = MAPPO(
    possible_agents=agents,
    models=models,
    memories=memories,
    observation_spaces=env.observation_spaces,
    state_spaces=env.state_spaces,
    action_spaces=env.action_spaces,
    device="cpu",
    cfg=MAPPO_CFG(
        **config,
        # An empty dictionary of these would count as one of values by agent, in which all agents are missing.
        learning_rate_scheduler_kwargs=({}, {}),
        observation_preprocessor=RunningStandardScaler,
        observation_preprocessor_kwargs={a: {"size": env.observation_spaces[a], "device": "cpu"} for a in agents},
        state_preprocessor=RunningStandardScaler,
        state_preprocessor_kwargs={a: {"size": env.state_spaces[a], "device": "cpu"} for a in agents},
        value_preprocessor=RunningStandardScaler,
        value_preprocessor_kwargs={"size": 1, "device": "cpu"},
        experiment={"write_interval": 0, "checkpoint_interval": 0},
    ),
)
trainer = SequentialTrainer(env=env, agents=agent, cfg={"timesteps": settings["timesteps"], "headless": True, "disable_progressbar": True})
start = time.perf_counter()
trainer.train()
print(json.dumps({"curve": env.curve, "seconds": time.perf_counter() - start}))
