//! The conversation in neutral blocks (mission M4.1): what a model is sent, whatever its endpoint.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who speaks. The system prompt is not a message; tool results are the user's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person, and results of tools.
    User,
    /// The model.
    Assistant,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Plain text.
    Text {
        /// The text itself.
        text: String,
    },
    /// The model asks for a tool.
    ToolUse {
        /// The provider's id of the call; unique within the message.
        id: String,
        /// Name of the tool.
        name: String,
        /// Arguments, a JSON object.
        input: Value,
    },
    /// The answer to a call of the assistant message before.
    ToolResult {
        /// The provider's id of the call.
        tool_use_id: String,
        /// What the tool said.
        content: String,
        /// Whether the tool failed.
        #[serde(default)]
        is_error: bool,
    },
}

/// One message of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order; tool results come before texts.
    pub content: Vec<Block>,
}

impl Message {
    /// Returns a user message of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, content: vec![Block::Text { text: text.into() }] }
    }

    /// Returns an assistant message of one text.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self { role: Role::Assistant, content: vec![Block::Text { text: text.into() }] }
    }
}
