"""What starts Isaac Lab's simulator, which must be there before any task is imported."""

import os
import sys


class AppLauncher:
    """Takes what Isaac Lab's takes: a namespace or a dict of arguments, and keywords. The app talks on both outputs."""

    started = False

    def __init__(self, launcher_args=None, **kwargs):
        arguments = dict(vars(launcher_args) if hasattr(launcher_args, "__dict__") else launcher_args or {}, **kwargs)
        unknown = set(arguments) - {"headless", "livestream", "enable_cameras", "device", "verbose", "info", "experience", "rendering_mode", "kit_args"}
        if unknown:
            raise ValueError(f"AppLauncher knows no {sorted(unknown)}")
        for k in range(2000):
            os.write(1 + k % 2, b"[%d ms] [ext: omni.standin-%d] startup\n" % (k, k))
        AppLauncher.started = True
        self.app = SimulationApp()

    @staticmethod
    def add_app_launcher_args(parser):
        parser.add_argument("--headless", action="store_true")
        parser.add_argument("--enable_cameras", action="store_true")
        parser.add_argument("--device", default="cuda:0")


class SimulationApp:
    def is_running(self):
        return True

    def close(self):
        """Ends the process, as Kit's does: nothing of the program runs behind it."""
        sys.stdout.flush()
        os._exit(0)
