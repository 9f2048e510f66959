"""Reads what TensorBoard's tabs TEXT and HPARAMS show, by their plugins: hparams.py LOGDIR

It prints JSON: for every run its table, hyperparameters, status, and the last return with its step.
"""

import json
import sys

from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard import context
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups

multiplexer = plugin_event_multiplexer.EventMultiplexer()
multiplexer.AddRunsFromDirectory(sys.argv[1])
multiplexer.Reload()
provider = data_provider.MultiplexerDataProvider(multiplexer, sys.argv[1])
backend = backend_context.Context(base_plugin.TBContext(logdir=sys.argv[1], data_provider=provider))
ctx = context.RequestContext()
experiment = backend.experiment_from_metadata(
    ctx, "", True, backend.hparams_metadata(ctx, ""), backend.hparams_from_data_provider(ctx, "", limit=100)
)
request = api_pb2.ListSessionGroupsRequest(slice_size=10, start_index=0)
for status in ("SUCCESS", "FAILURE", "RUNNING", "UNKNOWN"):
    request.allowed_statuses.append(getattr(api_pb2, "STATUS_" + status))
for metric in experiment.metric_infos:
    column = request.col_params.add()
    column.metric.CopyFrom(metric.name)
handler = list_session_groups.Handler(ctx, backend, "", request)
runs = {}
for group in handler.run().session_groups:
    for session in group.sessions:
        accumulator = EventAccumulator(f"{sys.argv[1]}/{session.name}")
        accumulator.Reload()
        table = accumulator.Tensors("hyperparameters/text_summary")[0].tensor_proto.string_val[0].decode()
        last = [v for v in session.metric_values if v.name.tag == "Episode / return"][0]
        runs[session.name] = {
            "text": table,
            "hparams": {k: getattr(v, v.WhichOneof("kind")) for k, v in group.hparams.items()},
            "status": api_pb2.Status.Name(session.status),
            "return": last.value,
            "step": last.training_step,
        }
print(json.dumps(runs))
