// A tool that greets: the model calls it with arguments and reads the answer.
#include "bindings/tool.h"

#include <stdio.h>
#include <stdlib.h>

// One call. The arguments are JSON text, which has passed the input_schema of svc.yaml: a library of yours reads it.
void exports_svc_tool_run_run(exports_svc_tool_run_input_t *input, exports_svc_tool_run_output_t *output) {
  char *text = NULL;
  if (asprintf(&text, "Hello! You said %.*s", (int)input->arguments.len, (char *)input->arguments.ptr) < 0) abort();
  output->status = EXPORTS_SVC_TOOL_RUN_STATUS_PASSED;
  output->truncated = false;
  tool_string_dup(&output->content, text);
  free(text);
  exports_svc_tool_run_input_free(input);
}
