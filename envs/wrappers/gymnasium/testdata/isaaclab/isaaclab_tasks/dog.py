"""A quadruped as a ManagerBasedRLEnv of Isaac Lab 2.3 that is put into states of a clip, one a step; for tests alone.

GORL_TEST_FRAMES is a JSON file as in mjlab_frames.py. Joints are in PhysX's order, level by level. Each episode begins in the
first state and has as many steps as there are further states. Without the file it stands upright and its joints are anywhere.
"""

import json
import os

import gymnasium
import torch
from isaaclab import managers
from isaaclab.envs import mdp

from isaaclab_tasks.fish import DirectFishCfg, Namespace, box

LEGS = "FR", "FL", "RR", "RL"
JOINTS = [f"{leg}_{part}" for part in ("hip", "thigh", "calf") for leg in LEGS]
HIPS = [[x, y, 0] for x in (0.183, -0.183) for y in (-0.047, 0.047)]
CENTER = [0.02, -0.01, 0.03]  # of mass, in the root's frame


class Groups:
    def __init__(self):
        self.policy = managers.ObservationGroupCfg()
        self.policy.joints = managers.ObservationTermCfg(func=mdp.joint_pos_rel)
        self.policy.actions = managers.ObservationTermCfg(func=mdp.last_action)


class ManagerDogCfg(DirectFishCfg):
    def __init__(self):
        super().__init__()
        self.observations = Groups()


class OwnGroupDogCfg(ManagerDogCfg):
    """Has the group amp by itself; term is the function of its second term."""

    term = "base_pos_z"

    def __init__(self):
        super().__init__()
        self.observations.amp = managers.ObservationGroupCfg(enable_corruption=True)
        self.observations.amp.joints = managers.ObservationTermCfg(func=mdp.joint_pos, params={"asset_cfg": managers.SceneEntityCfg("robot", joint_names=[".*_calf", ".*_hip"])})
        self.observations.amp.height = managers.ObservationTermCfg(func=mdp.base_pos_z)


def turned(rotation, vectors, back=False):
    axis = rotation[..., 1:].expand_as(vectors) * (-1 if back else 1)
    twice = 2 * torch.linalg.cross(axis, vectors)
    return vectors + rotation[..., :1] * twice + torch.linalg.cross(axis, twice)


class ManagerDog(gymnasium.Env):
    is_vector_env = True

    def __init__(self, cfg, render_mode=None, **kwargs):
        self.cfg, self.num_envs, self.device, self.step_dt = cfg, cfg.scene.num_envs, cfg.sim.device, 0.02
        if isinstance(cfg, OwnGroupDogCfg):
            cfg.observations.amp.height.func = getattr(mdp, cfg.term)
        n, frames, path = len(JOINTS), {"joints": JOINTS}, os.environ.get("GORL_TEST_FRAMES")
        if path:
            with open(path) as file:
                frames = json.load(file)
        else:
            upright = torch.tensor([0, 0, 0.3, 1.0, *[0] * 9]).repeat(20, self.num_envs, 1)
            frames["steps"] = torch.cat([upright, torch.randn(20, self.num_envs, 2 * n)], -1).tolist()
        self.states, order = torch.tensor(frames["steps"]), [frames["joints"].index(name) for name in JOINTS]
        self.order = [*range(13), *(13 + k for k in order), *(13 + n + k for k in order)]
        self.action, self.at = torch.zeros(self.num_envs, n), torch.zeros(self.num_envs, dtype=torch.long)
        data = Namespace(default_joint_pos=torch.linspace(-1, 1, n).repeat(self.num_envs, 1), default_joint_vel=torch.zeros(self.num_envs, n))
        self.robot = Namespace(joint_names=JOINTS, body_names=["trunk", *(f"{leg}_hip" for leg in LEGS)], data=data)

        class Scene(dict):
            env_origins = torch.zeros(self.num_envs, 3)

        self.scene, self.extras = Scene(robot=self.robot), {}
        self.place()
        self.observation_manager = managers.ObservationManager(cfg.observations, self)
        shapes = {group: x.shape[1:] for group, x in self.observe(torch.ones(self.num_envs, dtype=torch.bool)).items()}
        self.single_observation_space = gymnasium.spaces.Dict({k: gymnasium.spaces.Box(-float("inf"), float("inf"), tuple(s)) for k, s in shapes.items()})
        self.single_action_space = box(n)

    def place(self):
        state = self.states[self.at, torch.arange(self.num_envs)][:, self.order]
        state[:, :3] += self.scene.env_origins
        data, rotation = self.robot.data, state[:, 3:7]
        data.root_link_pos_w, data.root_link_quat_w = state[:, :3], rotation
        data.root_com_pos_w = state[:, :3] + turned(rotation, torch.tensor([CENTER]).repeat(self.num_envs, 1))
        data.root_com_ang_vel_b = turned(rotation, state[:, 10:13], True)
        data.root_com_lin_vel_b = turned(rotation, state[:, 7:10], True) + torch.linalg.cross(data.root_com_ang_vel_b, torch.tensor([CENTER]))
        data.projected_gravity_b = turned(rotation, torch.tensor([[0.0, 0.0, -1.0]]).repeat(self.num_envs, 1), True)
        bodies = torch.tensor([[0.0, 0.0, 0.0], *HIPS]).repeat(self.num_envs, 1, 1)
        data.body_link_pos_w = state[:, None, :3] + turned(rotation[:, None], bodies)
        data.joint_pos, data.joint_vel = state[:, 13:].chunk(2, 1)

    def observe(self, fresh):
        return self.observation_manager.compute(fresh)

    def reset(self, seed=None, options=None):
        self.at[:] = 0
        self.place()
        return self.observe(torch.ones(self.num_envs, dtype=torch.bool)), self.extras

    def step(self, action):
        self.action, self.at = action, self.at + 1
        over = self.at >= len(self.states)
        self.at[over] = 0
        self.place()
        return self.observe(over), torch.ones(self.num_envs), torch.zeros_like(over), over, self.extras
