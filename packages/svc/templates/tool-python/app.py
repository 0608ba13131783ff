"""A tool that greets somebody: the model calls it with a name and reads the greeting."""

import json

from wit_world import exports
from wit_world.exports.run import Input, Output, Status


class Run(exports.Run):
    def run(self, input: Input) -> Output:
        """One call. The arguments have passed the input_schema of svc.yaml."""
        who = json.loads(input.arguments)["who"]
        return Output(Status.PASSED, f"Hello, {who}!", truncated=False)
