//! Reads AGENT.md: bytes in, an agent's definition and a list of faults out (mission M20.1, SPEC 3).
//!
//! - Asked by the binary, which finds the files, and by `maia agents check`.
//! - Owns nothing. It never reads a disk, and no input makes it panic.
//!
//! The header is read by hand (`header`, `flow`, `scalar`), not by a YAML library. The contract takes values that
//! YAML refuses: `description: For: a, b` is accepted whole, tabs indent, keys ignore case, `Bash(a, b)` is one item
//! of a list. What it adds to that subset means what it means in YAML: quotes, folded and literal blocks, lists and
//! tables in flow form. What can be read in two ways is refused with its line, since a list of tools or a `deny`
//! that is dropped without a word grants rights.

mod body;
mod fault;
mod fields;
mod flow;
mod header;
mod rule;
mod scalar;
mod split;
mod tools;

use maia_protocol::AgentDefinition;

pub use fault::Fault;
pub use fields::valid_name;
pub use rule::is_rule;
pub use tools::{KNOWN_TOOLS, resolve_tools};

/// What came out of one AGENT.md.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The definition, or why the agent is refused (mission M20.1-invalid).
    pub definition: Result<AgentDefinition, Fault>,
    /// What was passed over, defaulted or looks like a slip; also filled when the agent is refused.
    pub warnings: Vec<Fault>,
}

/// Parses the AGENT.md that lies in the folder `folder_name`; the name of an agent is its folder's (mission M20.1-name).
///
/// Kinds of refusal: `not_utf8`, `frontmatter_missing`, `frontmatter_unclosed`, `yaml_syntax`, `duplicate_key:<key>`,
/// `permissions_not_a_table`, `permissions_not_a_list:<list>`, `rule_malformed:<rule>` (in `ask` and `deny`),
/// `tools_not_a_list`, `skills_not_a_list`, `name_invalid`, `name_mismatch`, `description_missing`,
/// `section_missing:<section>`. Kinds of warning: `unknown_key:<key>`, `name_missing`, `empty_value:<key>`,
/// `unknown_effort:<value>`, `unknown_boolean:<key>`, `rule_malformed:<rule>` (in `allow`),
/// `duplicate_section:<section>`.
pub fn parse(folder_name: &str, bytes: &[u8]) -> Parsed {
    let mut warnings = Vec::new();
    let definition = read(folder_name, bytes, &mut warnings);
    Parsed { definition, warnings }
}

fn read(folder_name: &str, bytes: &[u8], warnings: &mut Vec<Fault>) -> Result<AgentDefinition, Fault> {
    let text = split::decode(bytes)?;
    let file = split::split(&text)?;
    let entries = header::read(&file.header, file.header_line)?;
    let fields = fields::read(folder_name, entries, file.header_line, warnings)?;
    let sections = body::read(&file.body, file.body_line, warnings)?;
    Ok(AgentDefinition {
        name: fields.name,
        description: fields.description,
        model: fields.model,
        tools: fields.tools,
        permissions: fields.permissions,
        effort: fields.effort,
        skills: fields.skills,
        omit_md: fields.omit_md,
        trace: fields.trace,
        sections,
    })
}
