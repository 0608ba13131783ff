// A tool that greets somebody: the model calls it with a name and reads the greeting.
wit_bindgen::generate!({ path: "wit", world: "svc:worlds/tool", generate_all });

use exports::svc::tool::run::{Guest, Input, Output, Status};

struct Tool;

impl Guest for Tool {
    /// One call. The arguments have passed the `input_schema` of svc.yaml.
    fn run(input: Input) -> Output {
        let arguments: serde_json::Value = serde_json::from_str(&input.arguments).expect("arguments are JSON");
        let who = arguments["who"].as_str().unwrap_or("you");
        Output { status: Status::Passed, content: format!("Hello, {who}!"), truncated: false }
    }
}

export!(Tool);
