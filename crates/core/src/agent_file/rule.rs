//! The shape of a permission rule (mission M9.1-syntax); what it means is decided in `permission`.

/// Tells whether `text` is written as a rule: `Tool` or `Tool(pattern)`, `Tool` of letters, digits, `_`, `.`, `-`.
pub fn is_rule(text: &str) -> bool {
    let tool = match text.split_once('(') {
        None => text,
        Some((tool, rest)) => match rest.strip_suffix(')') {
            Some(pattern) if !pattern.trim().is_empty() => tool,
            _ => return false,
        },
    };
    !tool.is_empty() && tool.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

#[cfg(test)]
mod tests {
    use super::is_rule;

    #[test]
    fn only_a_tool_and_an_optional_pattern() {
        for good in [
            "Read",
            "Bash(git *)",
            "Bash(echo (a))",
            "Mcp(key,tool)",
            "mcp__a__b",
            "my.tool-2",
            "WebFetch(domain:x)",
        ] {
            assert!(is_rule(good), "{good}");
        }
        for bad in [
            "",
            "(x)",
            "Bash(",
            "Bash(git *",
            "Bash()",
            "Bash( )",
            "Bash git",
            "Bash(x) y",
            "Outil é",
            " Read",
        ] {
            assert!(!is_rule(bad), "{bad}");
        }
    }
}
