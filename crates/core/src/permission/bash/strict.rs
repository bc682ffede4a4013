//! The first reading of a command line: brush's strict grammar.
//!
//! - Asked by `survey.rs`, for the line and for every text in it that bash would run.
//! - Every variant of the tree is named here, so a construct that is new there does not compile here.
//! - Nesting and size are measured on the tokens before the recursive parser sees them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use brush_parser::ast::{
    BinaryPredicate, Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList, ExtendedTestExpr,
    IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, Pipeline, PipelineTimed, RedirectList,
    SimpleCommand, UnaryPredicate, Word as Raw,
};
use brush_parser::{ParserOptions, Token, parse_tokens, uncached_tokenize_str};

use super::guard;
use super::outline::{Outline, Part};
use super::word::Word;

/// Tokens above which nothing is allowed (SAFETY 1).
const MAX_TOKENS: usize = 10_000;
/// Brackets and blocks within each other: the parser recurses, and 64 of them fit a small stack six times over.
const MAX_NESTING: usize = 60;
/// Steps that the parser may take for all texts of one command line.
///
/// Where a text turns out invalid, each bracket and each `case` around the fault doubles what it takes to see
/// that; a step is about 50 ns.
const STEPS: u64 = 1 << 21;

/// What is left of the work that one command line is worth.
#[derive(Debug)]
pub(super) struct Budget {
    steps: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { steps: STEPS }
    }
}

impl Budget {
    /// Takes off what reading `tokens` may cost at worst; `false` when that is more than is left.
    fn spend(&mut self, tokens: usize, doublings: usize) -> bool {
        let factor = u32::try_from(doublings).ok().and_then(|n| 1_u64.checked_shl(n)).unwrap_or(u64::MAX);
        let cost = factor.saturating_mul(tokens as u64);
        match self.steps.checked_sub(cost) {
            Some(left) => {
                self.steps = left;
                true
            }
            None => false,
        }
    }
}

/// Why there is no reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// More than the analysis takes on.
    TooMuch,
    /// Not valid, as this grammar sees it.
    Invalid,
}

/// Reads `line`, within `budget`.
pub(super) fn read(line: &str, budget: &mut Budget) -> Result<Outline, Unread> {
    if !guard::is_safe(line) {
        return Err(Unread::Invalid);
    }
    // The tokenizer recurses into these, wherever they stand.
    let openers = line.matches("$(").count()
        + line.matches("${").count()
        + line.matches('`').count()
        + line.matches("<(").count()
        + line.matches(">(").count();
    if openers > MAX_NESTING {
        return Err(Unread::TooMuch);
    }
    let options = ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() };
    // A panic of the parser is one more way of not understanding: the verdict is doubt, never allow.
    let parsed = catch_unwind(AssertUnwindSafe(|| {
        let tokens =
            uncached_tokenize_str(line, &options.tokenizer_options()).map_err(|_| Unread::Invalid)?;
        let (nesting, doublings) = nesting(&tokens);
        if tokens.len() > MAX_TOKENS || nesting > MAX_NESTING || !budget.spend(tokens.len(), doublings) {
            return Err(Unread::TooMuch);
        }
        parse_tokens(&tokens, &options).map_err(|_| Unread::Invalid)
    }));
    let program = parsed.unwrap_or(Err(Unread::Invalid))?;
    let mut outline = Outline::default();
    for list in &program.complete_commands {
        walk_list(list, &mut outline);
    }
    Ok(outline)
}

/// Returns a number that nesting does not exceed, and one for what doubles the work.
fn nesting(tokens: &[Token]) -> (usize, usize) {
    let (mut words, mut cases) = (0, 0);
    let (mut depth, mut deepest, mut brackets): (usize, usize, usize) = (0, 0, 0);
    for token in tokens {
        match token.to_str() {
            "(" => {
                brackets += 1;
                depth += 1;
                deepest = deepest.max(depth);
            }
            ")" => depth = depth.saturating_sub(1),
            "case" => cases += 1,
            "if" | "while" | "until" | "for" | "select" | "{" | "coproc" | "!" | "function" | "[["
            | "time" => words += 1,
            _ => {}
        }
    }
    // The `)` after a pattern of `case` closes nothing, so with one the brackets are only counted.
    let doublings = cases + if cases > 0 { brackets } else { deepest };
    (words + doublings, doublings)
}

fn walk_list(list: &CompoundList, out: &mut Outline) {
    for item in &list.0 {
        let and_or = &item.0;
        walk_pipeline(&and_or.first, out);
        for next in &and_or.additional {
            match next {
                brush_parser::ast::AndOr::And(pipeline) | brush_parser::ast::AndOr::Or(pipeline) => {
                    walk_pipeline(pipeline, out);
                }
            }
        }
    }
}

fn walk_pipeline(pipeline: &Pipeline, out: &mut Outline) {
    let before = out.parts.len();
    for command in &pipeline.seq {
        walk_command(command, out);
    }
    let mut lead = Vec::new();
    match &pipeline.timed {
        Some(PipelineTimed::Timed(_)) => lead.push(Word::plain("time")),
        Some(PipelineTimed::TimedWithPosixOutput(_)) => lead.extend([Word::plain("time"), Word::plain("-p")]),
        None => {}
    }
    if pipeline.bang {
        lead.push(Word::plain("!"));
    }
    if lead.is_empty() {
        return;
    }
    // The keywords belong to the pipeline; they are shown with its first command, as they are written.
    match out.parts.get_mut(before) {
        Some(first) => {
            first.words.splice(0..0, lead);
        }
        None => out.parts.push(Part { words: lead, feeds: Vec::new() }),
    }
}

fn walk_command(command: &Command, out: &mut Outline) {
    match command {
        Command::Simple(simple) => walk_simple(simple, out),
        Command::Compound(compound, redirects) => {
            walk_compound(compound, out);
            walk_redirects(redirects.as_ref(), out);
        }
        Command::Function(function) => {
            out.mark("the definition of a function");
            walk_compound(&function.body.0, out);
            walk_redirects(function.body.1.as_ref(), out);
        }
        Command::ExtendedTest(test, redirects) => {
            walk_test(&test.expr, out);
            out.parts.push(Part { words: vec![Word::plain("[[")], feeds: Vec::new() });
            walk_redirects(redirects.as_ref(), out);
        }
    }
}

fn walk_simple(simple: &SimpleCommand, out: &mut Outline) {
    let mut part = Part::default();
    let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
    let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
    for item in prefix {
        walk_item(item, &mut part, out);
    }
    if let Some(name) = &simple.word_or_name {
        out.add(&mut part, &name.value);
    }
    for item in suffix {
        walk_item(item, &mut part, out);
    }
    out.parts.push(part);
}

fn walk_item(item: &CommandPrefixOrSuffixItem, part: &mut Part, out: &mut Outline) {
    match item {
        CommandPrefixOrSuffixItem::IoRedirect(redirect) => walk_redirect(redirect, part, out),
        CommandPrefixOrSuffixItem::Word(word) | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
            out.add(part, &word.value);
        }
        CommandPrefixOrSuffixItem::ProcessSubstitution(_, shell) => {
            out.runs = true;
            walk_list(&shell.list, out);
        }
    }
}

fn walk_redirects(redirects: Option<&RedirectList>, out: &mut Outline) {
    let mut part = Part::default();
    for redirect in redirects.iter().flat_map(|list| &list.0) {
        walk_redirect(redirect, &mut part, out);
    }
    if !part.feeds.is_empty() {
        // What a block is fed reaches a command in it; which one does not matter for what is searched.
        match out.parts.last_mut() {
            Some(last) => last.feeds.append(&mut part.feeds),
            None => out.parts.push(part),
        }
    }
}

fn walk_redirect(redirect: &IoRedirect, part: &mut Part, out: &mut Outline) {
    match redirect {
        IoRedirect::File(_, kind, target) => {
            let (write, copies) = match kind {
                IoFileRedirectKind::Read => (false, false),
                IoFileRedirectKind::DuplicateInput => (false, true),
                IoFileRedirectKind::DuplicateOutput => (true, true),
                IoFileRedirectKind::Write
                | IoFileRedirectKind::Append
                | IoFileRedirectKind::ReadAndWrite
                | IoFileRedirectKind::Clobber => (true, false),
            };
            match target {
                IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) if copies => {
                    out.add_copy(&word.value, write);
                }
                IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => {
                    out.add_goal(&word.value, write);
                }
                IoFileRedirectTarget::Fd(_) => {}
                IoFileRedirectTarget::ProcessSubstitution(_, shell) => {
                    out.runs = true;
                    walk_list(&shell.list, out);
                }
            }
        }
        IoRedirect::HereDocument(_, document) => {
            out.add_document(part, &document.doc.value, document.requires_expansion);
        }
        IoRedirect::HereString(_, word) => {
            let word = Word::read(&word.value);
            out.note(&word);
            part.feeds.push(word.text.to_string());
        }
        IoRedirect::OutputAndError(word, _) => out.add_goal(&word.value, true),
    }
}

fn walk_compound(compound: &CompoundCommand, out: &mut Outline) {
    match compound {
        CompoundCommand::Arithmetic(sum) => {
            out.mark("a sum as a command");
            out.note(&Word::read_document(&sum.expr.value));
        }
        CompoundCommand::ArithmeticForClause(clause) => {
            out.mark("a loop over a sum");
            for sum in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                out.note(&Word::read_document(&sum.value));
            }
            walk_list(&clause.body.list, out);
        }
        CompoundCommand::BraceGroup(group) => walk_list(&group.list, out),
        CompoundCommand::Subshell(shell) => walk_list(&shell.list, out),
        CompoundCommand::ForClause(clause) => {
            // A name in capitals, or of a proxy, may be one that programs read: `for PATH in ./x`.
            let name = &clause.variable_name;
            if name.contains("proxy")
                || !name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            {
                out.mark("a loop that sets a variable which programs may read");
            }
            note_all(clause.values.iter().flatten(), out);
            walk_list(&clause.body.list, out);
        }
        CompoundCommand::CaseClause(clause) => {
            note_all([&clause.value], out);
            for case in &clause.cases {
                note_all(&case.patterns, out);
                if let Some(list) = &case.cmd {
                    walk_list(list, out);
                }
            }
        }
        CompoundCommand::IfClause(clause) => {
            walk_list(&clause.condition, out);
            walk_list(&clause.then, out);
            for branch in clause.elses.iter().flatten() {
                if let Some(condition) = &branch.condition {
                    walk_list(condition, out);
                }
                walk_list(&branch.body, out);
            }
        }
        CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
            walk_list(&clause.0, out);
            walk_list(&clause.1.list, out);
        }
        CompoundCommand::Coprocess(clause) => {
            out.mark("a coprocess");
            walk_command(&clause.body, out);
        }
    }
}

fn note_all<'a>(words: impl IntoIterator<Item = &'a Raw>, out: &mut Outline) {
    for word in words {
        out.note(&Word::read(&word.value));
    }
}

fn walk_test(expr: &ExtendedTestExpr, out: &mut Outline) {
    match expr {
        ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
            walk_test(left, out);
            walk_test(right, out);
        }
        ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => walk_test(inner, out),
        ExtendedTestExpr::UnaryTest(predicate, word) => {
            // Asking whether a variable is set evaluates its subscript, which may hold a command.
            if matches!(
                predicate,
                UnaryPredicate::ShellVariableIsSetAndAssigned | UnaryPredicate::ShellVariableIsSetAndNameRef
            ) {
                out.mark("a test of a variable's name");
            }
            note_all([word], out);
        }
        ExtendedTestExpr::BinaryTest(predicate, left, right) => {
            if matches!(
                predicate,
                BinaryPredicate::ArithmeticEqualTo
                    | BinaryPredicate::ArithmeticNotEqualTo
                    | BinaryPredicate::ArithmeticLessThan
                    | BinaryPredicate::ArithmeticLessThanOrEqualTo
                    | BinaryPredicate::ArithmeticGreaterThan
                    | BinaryPredicate::ArithmeticGreaterThanOrEqualTo
            ) {
                out.mark("a sum in a test");
            }
            note_all([left, right], out);
        }
    }
}
