"""Puts mjlab's robots into states of a clip, one a step, instead of simulating them; for tests alone.

GORL_TEST_FRAMES is a JSON file: joints, their names, and steps, of states one for each environment. A state is the root's
position, rotation (w first), velocity and angular velocity, all of the world, then the joints' positions and velocities.
"""

import json
import os

import torch
from mjlab.envs import ManagerBasedRlEnv

with open(os.environ["GORL_TEST_FRAMES"]) as file:
    frames = json.load(file)
states = iter(frames["steps"])


def step(self, action):
    robot, n = self.scene["robot"], len(frames["joints"])
    state = torch.tensor(next(states), dtype=torch.float32, device=self.device)
    state[:, :3] += self.scene.env_origins
    robot.write_root_state_to_sim(state[:, :13])
    joints = [robot.joint_names.index(name) for name in frames["joints"]]
    robot.write_joint_state_to_sim(state[:, 13 : 13 + n], state[:, 13 + n :], joint_ids=torch.tensor(joints, device=self.device))
    self.sim.forward()
    self.obs_buf = self.observation_manager.compute(update_history=True)
    no = torch.zeros(self.num_envs, dtype=torch.bool, device=self.device)
    return self.obs_buf, no.float(), no, no.clone(), self.extras


ManagerBasedRlEnv.step = step
