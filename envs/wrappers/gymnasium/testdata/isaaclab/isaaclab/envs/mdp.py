"""Functions of observations, as in Isaac Lab 2.3: base_lin_vel is the velocity of the root's centre of mass."""

from isaaclab.managers import SceneEntityCfg

ROBOT = SceneEntityCfg("robot")


def joint_pos(env, asset_cfg=ROBOT):
    return env.scene[asset_cfg.name].data.joint_pos[:, asset_cfg.joint_ids]


def joint_pos_rel(env, asset_cfg=ROBOT):
    data = env.scene[asset_cfg.name].data
    return data.joint_pos[:, asset_cfg.joint_ids] - data.default_joint_pos[:, asset_cfg.joint_ids]


def joint_vel_rel(env, asset_cfg=ROBOT):
    data = env.scene[asset_cfg.name].data
    return data.joint_vel[:, asset_cfg.joint_ids] - data.default_joint_vel[:, asset_cfg.joint_ids]


def base_pos_z(env, asset_cfg=ROBOT):
    return env.scene[asset_cfg.name].data.root_link_pos_w[:, 2:]


def base_lin_vel(env, asset_cfg=ROBOT):
    return env.scene[asset_cfg.name].data.root_com_lin_vel_b


def base_ang_vel(env, asset_cfg=ROBOT):
    return env.scene[asset_cfg.name].data.root_com_ang_vel_b


def projected_gravity(env, asset_cfg=ROBOT):
    return env.scene[asset_cfg.name].data.projected_gravity_b


def last_action(env):
    return env.action
