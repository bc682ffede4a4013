//! Which of the known tools a definition asks for (mission M20.1-tools, M20.3-init, SPEC 2).

use maia_protocol::AgentDefinition;

use super::fault::Fault;

/// Every built-in tool: those of mission M8-order in their order, then those of delegation and skills (SPEC 2).
pub const KNOWN_TOOLS: &[&str] = &[
    "Read",
    "Glob",
    "Grep",
    "Write",
    "Edit",
    "Bash",
    "TodoWrite",
    "WebFetch",
    "CurrentModel",
    "Agent",
    "Delegate",
    "AgentOutput",
    "Skill",
];

/// Returns the tools that `definition` gets among `known`, in its order, and a warning for each one that it does not.
///
/// Names ignore case. Without a list it gets all but `Agent` and `Delegate`: an agent delegates only when its list
/// names `Agent`. `Skill` goes when the agent has no skill at all. A name with a pattern, `Bash(git status)`, is not
/// a name: it never grants the whole tool.
pub fn resolve_tools(definition: &AgentDefinition, known: &[&str]) -> (Vec<String>, Vec<Fault>) {
    let no_skills = definition.skills.as_ref().is_some_and(Vec::is_empty);
    let Some(wanted) = &definition.tools else {
        let all = known.iter().filter(|tool| !matches!(**tool, "Agent" | "Delegate"));
        return (
            all.filter(|tool| !(no_skills && **tool == "Skill")).map(|tool| tool.to_string()).collect(),
            Vec::new(),
        );
    };
    let mut resolved: Vec<String> = Vec::new();
    let mut warnings = Vec::new();
    for name in wanted {
        match known.iter().find(|tool| tool.to_lowercase() == name.to_lowercase()) {
            Some(tool) if resolved.iter().any(|got| got == tool) => {}
            Some(tool) if no_skills && *tool == "Skill" => {}
            Some(tool) => resolved.push(tool.to_string()),
            None => warnings.push(not_found(name)),
        }
    }
    let agent = resolved.iter().any(|tool| tool == "Agent");
    if !agent && resolved.iter().any(|tool| tool == "Delegate") {
        resolved.retain(|tool| tool != "Delegate");
        warnings.push(Fault::new(
            "delegate_needs_agent",
            "`Delegate` is left out: an agent delegates only when its `tools` names `Agent` too",
        ));
    }
    (resolved, warnings)
}

fn not_found(name: &str) -> Fault {
    let mend = if name.contains('(') {
        "`tools` takes plain names: name the tool, and put the pattern under `permissions`"
    } else {
        "check the spelling; the tool of a server or of the person must be there when the agent is started"
    };
    Fault::new(
        format!("tool_not_found:{name}"),
        format!("no tool is called `{name}`, so the agent does not get it: {mend}"),
    )
}
