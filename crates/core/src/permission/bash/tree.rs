//! The second reading of a command line: tree-sitter's tolerant grammar, used closed.
//!
//! - Asked by `survey.rs` once the strict grammar took the line; an error node, a missing node or a kind
//!   that is not named here means that there is no reading, and so no allow.
//! - Owns one parser a thread: making it costs more than using it.

use std::cell::RefCell;
use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::outline::{Outline, Part};
use super::split;
use super::word::Word;

/// Nodes above which nothing is allowed (SAFETY 1).
const MAX_NODES: usize = 10_000;
/// Reports of progress after which parsing ends: it reports by operations done, not by time, so the same
/// text always ends at the same place. 64 KB of plain commands take about 2,000.
const MAX_PROGRESS: usize = 8_000;
/// Nodes within each other that are walked.
const MAX_DEPTH: usize = 400;

thread_local! {
    static PARSER: RefCell<Option<Parser>> = const { RefCell::new(None) };
}

/// Reads `line`; `None` for anything that is not wholly understood.
pub(super) fn read(line: &str) -> Option<Outline> {
    let tree = PARSER.with_borrow_mut(|parser| parse(parser, line))?;
    let root = tree.root_node();
    if root.has_error() || root.descendant_count() > MAX_NODES {
        return None;
    }
    let mut walk = Walk { line, out: Outline::default() };
    walk.statements(root, 0)?;
    Some(walk.out)
}

fn parse(slot: &mut Option<Parser>, line: &str) -> Option<Tree> {
    if slot.is_none() {
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
        *slot = Some(parser);
    }
    let parser = slot.as_mut()?;
    let mut progress = 0;
    let mut on_progress = |_: &ParseState| {
        progress += 1;
        if progress > MAX_PROGRESS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let bytes = line.as_bytes();
    let tree = parser.parse_with_options(
        &mut |at, _| bytes.get(at..).unwrap_or_default(),
        None,
        Some(ParseOptions::new().progress_callback(&mut on_progress)),
    );
    // A parser that was stopped would go on with the old text.
    parser.reset();
    tree
}

struct Walk<'a> {
    line: &'a str,
    out: Outline,
}

impl<'a> Walk<'a> {
    fn text(&self, node: Node<'_>) -> Option<&'a str> {
        self.line.get(node.byte_range())
    }

    /// Walks the statements among the children of `node`.
    fn statements(&mut self, node: Node<'_>, depth: usize) -> Option<()> {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.statement(child, depth + 1)?;
        }
        Some(())
    }

    /// Walks one statement.
    fn statement(&mut self, node: Node<'_>, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH || node.is_missing() {
            return None;
        }
        match node.kind() {
            "comment" => Some(()),
            "list" | "pipeline" | "subshell" | "do_group" | "if_statement" | "elif_clause"
            | "else_clause" | "while_statement" => self.statements(node, depth),
            "compound_statement" => {
                // `(( ))` has the same kind as `{ }`.
                if node.child(0)?.kind() != "{" {
                    return None;
                }
                self.statements(node, depth)
            }
            "for_statement" => {
                if node.child(0)?.kind() != "for" {
                    return None;
                }
                self.statement(node.child_by_field_name("body")?, depth + 1)
            }
            "case_statement" => {
                let mut cursor = node.walk();
                for item in node.named_children(&mut cursor).filter(|child| child.kind() == "case_item") {
                    self.case_item(item, depth + 1)?;
                }
                Some(())
            }
            "function_definition" => {
                self.out.mark("the definition of a function");
                self.statement(node.child_by_field_name("body")?, depth + 1)
            }
            "negated_command" => {
                let before = self.out.parts.len();
                self.statements(node, depth)?;
                self.out.parts.get_mut(before)?.words.insert(0, Word::plain("!"));
                Some(())
            }
            "command" | "declaration_command" | "unset_command" | "variable_assignments" => {
                self.command(node)
            }
            "variable_assignment" => {
                let raw = self.text(node)?;
                let mut part = Part::default();
                self.out.add_raw(&mut part, raw);
                self.out.parts.push(part);
                Some(())
            }
            "test_command" => {
                let text = self.text(node)?;
                let mut part = Part::default();
                if text.starts_with("[[") {
                    part.words.push(Word::plain("[["));
                } else {
                    for raw in split::words(text)? {
                        self.out.add_raw(&mut part, &raw);
                    }
                }
                self.out.parts.push(part);
                Some(())
            }
            "redirected_statement" => {
                let before = self.out.parts.len();
                if let Some(body) = node.child_by_field_name("body") {
                    self.statement(body, depth + 1)?;
                }
                let mut part =
                    if self.out.parts.len() > before { self.out.parts.pop()? } else { Part::default() };
                let mut later = Vec::new();
                let mut cursor = node.walk();
                let mut end = node.child_by_field_name("body").map(|body| body.end_byte());
                for child in node.children_by_field_name("redirect", &mut cursor) {
                    // A lone `-` before a here-document is in no node: `git commit -F - <<E`.
                    if let Some(end) = end.take()
                        && self.line.get(end..child.start_byte())?.trim_matches([' ', '\t']) == "-"
                    {
                        self.out.add_raw(&mut part, "-");
                    }
                    self.redirect(child, &mut part, &mut later)?;
                }
                self.out.parts.push(part);
                for statement in later {
                    self.statement(statement, depth + 1)?;
                }
                Some(())
            }
            _ => None,
        }
    }

    fn case_item(&mut self, node: Node<'_>, depth: usize) -> Option<()> {
        let mut cursor = node.walk();
        if !cursor.goto_first_child() {
            return Some(());
        }
        loop {
            let child = cursor.node();
            if child.is_named() && cursor.field_name() != Some("value") {
                self.statement(child, depth + 1)?;
            }
            if !cursor.goto_next_sibling() {
                return Some(());
            }
        }
    }

    /// Walks a simple command, or one of the builtins that have a kind of their own.
    fn command(&mut self, node: Node<'_>) -> Option<()> {
        let mut part = Part::default();
        let mut cursor = node.walk();
        if !cursor.goto_first_child() {
            return None;
        }
        loop {
            let child = cursor.node();
            match child.kind() {
                "subshell" | "heredoc_redirect" => return None,
                "file_redirect" | "herestring_redirect" => {
                    let mut later = Vec::new();
                    self.redirect(child, &mut part, &mut later)?;
                }
                _ => {
                    let raw = self.text(child)?;
                    self.out.add_raw(&mut part, raw);
                }
            }
            if !cursor.goto_next_sibling() {
                break;
            }
        }
        self.out.parts.push(part);
        Some(())
    }

    /// Walks a redirection of `part`; statements that stand behind the mark of a here-document go to `later`.
    fn redirect<'t>(&mut self, node: Node<'t>, part: &mut Part, later: &mut Vec<Node<'t>>) -> Option<()> {
        match node.kind() {
            "file_redirect" => self.file_redirect(node, part),
            "herestring_redirect" => {
                let word = node.named_child(u32::try_from(node.named_child_count().checked_sub(1)?).ok()?)?;
                let raw = self.text(word)?;
                let word = Word::read(raw);
                self.out.note(&word);
                part.feeds.push(word.text.to_string());
                Some(())
            }
            "heredoc_redirect" => {
                let mut cursor = node.walk();
                if !cursor.goto_first_child() {
                    return None;
                }
                loop {
                    let child = cursor.node();
                    match (cursor.field_name(), child.kind()) {
                        (Some("argument"), _) => {
                            let raw = self.text(child)?;
                            self.out.add_raw(part, raw);
                        }
                        (Some("redirect"), _) => self.redirect(child, part, later)?,
                        (Some("operator" | "descriptor"), _) => {}
                        (Some("right"), _) | (_, "pipeline") => later.push(child),
                        // The strict reading took the body apart already.
                        (_, "heredoc_start" | "heredoc_body" | "heredoc_end") => {}
                        (_, _) if !child.is_named() => {}
                        _ => return None,
                    }
                    if !cursor.goto_next_sibling() {
                        return Some(());
                    }
                }
            }
            _ => None,
        }
    }

    fn file_redirect(&mut self, node: Node<'_>, part: &mut Part) -> Option<()> {
        let mut operator = "";
        let mut is_first = true;
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        for child in children {
            match child.kind() {
                "file_descriptor" => {}
                kind @ ("<" | ">" | ">>" | "&>" | "&>>" | "<&" | ">&" | ">|" | "<&-" | ">&-")
                    if operator.is_empty() =>
                {
                    operator = kind;
                }
                _ => {
                    let raw = self.text(child)?;
                    let closes = matches!(operator, "<&-" | ">&-");
                    if !is_first || closes {
                        // This grammar takes the words after a target for targets; they are arguments.
                        self.out.add_raw(part, raw);
                        continue;
                    }
                    is_first = false;
                    match operator {
                        "<" => self.out.add_goal(raw, false),
                        "<&" | ">&" => self.out.add_copy(raw, operator == ">&"),
                        ">" | ">>" | "&>" | "&>>" | ">|" => self.out.add_goal(raw, true),
                        _ => return None,
                    }
                }
            }
        }
        Some(())
    }
}
