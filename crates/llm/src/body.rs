//! Writes a request as OpenAI's chat format wants it (mission M7.1-body, M7.1-map).
//!
//! - Asked by the client for every request.
//! - Owns nothing.
//! - The same conversation gives the same bytes, and a longer one begins with them: what changes from step to step
//!   (messages, then the limits) is written last, so that a provider's prefix cache holds (W-eng-tools-sorted).

use maia_protocol::model::ChatRequest;
use maia_protocol::{Block, Message, Role};
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Entry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Entry<'a> {
    System {
        content: &'a str,
    },
    User {
        content: String,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    /// JSON as a text: an object here is refused by most servers (R011).
    arguments: String,
}

/// Returns the body of `request`.
///
/// # Errors
/// None in practice: everything in it is plain data.
pub(crate) fn write(request: &ChatRequest) -> Result<Vec<u8>, serde_json::Error> {
    let tools: Vec<Tool<'_>> = request
        .tools
        .iter()
        .map(|tool| Tool {
            r#type: "function",
            function: Function {
                name: &tool.name,
                description: &tool.description,
                parameters: &tool.input_schema,
            },
        })
        .collect();
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        messages.push(Entry::System { content: &request.system });
    }
    for message in &request.messages {
        add(message, &mut messages);
    }
    serde_json::to_vec(&Body {
        model: &request.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        tool_choice: (!request.tools_usable && !tools.is_empty()).then_some("none"),
        tools,
        messages,
        max_tokens: request.max_tokens,
    })
}

/// Writes one message: results of tools before the text beside them.
fn add<'a>(message: &'a Message, messages: &mut Vec<Entry<'a>>) {
    let mut text = String::new();
    let mut calls = Vec::new();
    for block in &message.content {
        match block {
            Block::Text { text: piece } if text.is_empty() => text.push_str(piece),
            Block::Text { text: piece } => {
                text.push_str("\n\n");
                text.push_str(piece);
            }
            Block::ToolUse { id, name, input } => calls.push(Call {
                id,
                r#type: "function",
                function: Called { name, arguments: input.to_string() },
            }),
            Block::ToolResult { tool_use_id, content, .. } => {
                messages.push(Entry::Tool { tool_call_id: tool_use_id, content });
            }
        }
    }
    match message.role {
        Role::User if text.is_empty() => {}
        Role::User => messages.push(Entry::User { content: text }),
        Role::Assistant if calls.is_empty() => {
            messages.push(Entry::Assistant { content: Some(text), tool_calls: calls });
        }
        Role::Assistant => {
            let content = (!text.is_empty()).then_some(text);
            messages.push(Entry::Assistant { content, tool_calls: calls });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use maia_protocol::ToolSpec;
    use serde_json::json;
    use std::sync::Arc;

    fn request(messages: Vec<Message>) -> ChatRequest {
        ChatRequest {
            model: "m".to_owned(),
            system: "be brief".into(),
            messages: messages.into_iter().map(Arc::new).collect(),
            tools: Arc::new(vec![ToolSpec {
                name: "Read".to_owned(),
                description: "reads".to_owned(),
                input_schema: json!({"type": "object"}),
            }]),
            tools_usable: true,
            max_tokens: None,
        }
    }

    fn conversation() -> Vec<Message> {
        let text = |text: &str| Block::Text { text: text.to_owned() };
        let call =
            |id: &str| Block::ToolUse { id: id.to_owned(), name: "Read".to_owned(), input: json!({"p": 1}) };
        let result = |id: &str| Block::ToolResult {
            tool_use_id: id.to_owned(),
            content: format!("result of {id}"),
            is_error: false,
        };
        vec![
            Message::user("hello"),
            Message { role: Role::Assistant, content: vec![text("I look."), call("a"), call("b")] },
            Message { role: Role::User, content: vec![text("go on"), result("a"), result("b"), text("now")] },
            Message { role: Role::Assistant, content: vec![call("c")] },
            Message { role: Role::User, content: vec![result("c")] },
            Message::assistant("done"),
        ]
    }

    #[test]
    fn blocks_become_openai_messages() {
        let body = write(&request(conversation())).expect("plain data");
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "Read", "arguments": "{\"p\":1}"}});
        let expected = json!({
            "model": "m", "stream": true, "stream_options": {"include_usage": true},
            "tools": [{"type": "function", "function":
                {"name": "Read", "description": "reads", "parameters": {"type": "object"}}}],
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": "I look.", "tool_calls": [call("a"), call("b")]},
                {"role": "tool", "tool_call_id": "a", "content": "result of a"},
                {"role": "tool", "tool_call_id": "b", "content": "result of b"},
                {"role": "user", "content": "go on\n\nnow"},
                {"role": "assistant", "content": null, "tool_calls": [call("c")]},
                {"role": "tool", "tool_call_id": "c", "content": "result of c"},
                {"role": "assistant", "content": "done"},
            ],
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn closing_requests_keep_their_tools_and_forbid_them() {
        let mut request = request(vec![Message::user("hello")]);
        request.tools_usable = false;
        request.max_tokens = Some(4000);
        let body: Value = serde_json::from_slice(&write(&request).expect("plain data")).expect("JSON");
        assert_eq!((&body["tool_choice"], &body["max_tokens"]), (&json!("none"), &json!(4000)));
        assert!(body["tools"].is_array());
        request.tools = Arc::default();
        let body: Value = serde_json::from_slice(&write(&request).expect("plain data")).expect("JSON");
        assert_eq!((body.get("tool_choice"), body.get("tools")), (None, None));
    }

    #[test]
    fn a_longer_conversation_begins_with_the_bytes_of_the_shorter() {
        let all = conversation();
        let whole = write(&request(all.clone())).expect("plain data");
        for n in 1..all.len() {
            let mut shorter = request(all[..n].to_vec());
            shorter.max_tokens = Some(9);
            let shorter = write(&shorter).expect("plain data");
            let end = shorter.windows(3).rposition(|three| three == b"}],").expect("the end of the messages");
            assert!(whole.starts_with(&shorter[..=end]), "{n} messages");
        }
    }
}
