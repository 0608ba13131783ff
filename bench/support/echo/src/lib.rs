// A tool that answers with its arguments, for the world of svc or, with the feature `murmur`, for that of Murmur. The folder `wit` is
// put beside this one when it is built.
wit_bindgen::generate!({ path: "wit", world: "tool", generate_all });

struct Tool;

#[cfg(not(feature = "murmur"))]
use exports::svc::tool::run::{Guest, Input, Output, Status};

#[cfg(not(feature = "murmur"))]
impl Guest for Tool {
    fn run(input: Input) -> Output {
        Output { status: Status::Passed, content: input.arguments, truncated: false }
    }
}

#[cfg(feature = "murmur")]
use exports::murmur::tool::run::{Guest, Status, ToolInput, ToolResult};

#[cfg(feature = "murmur")]
impl Guest for Tool {
    fn run(input: ToolInput) -> ToolResult {
        ToolResult {
            status: Status::Passed,
            summary: None,
            data: input.data,
            data_path: None,
            truncated: false,
            metadata: vec![],
        }
    }
}

export!(Tool);
