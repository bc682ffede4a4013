//! Carries out what machines call for: the part of [`Tree`] that gateway, executors and supervisors have in a session.

use std::collections::HashSet;

use maia_core::turn::{self, Call, CallState, Context, Effect, Input, SpawnPlan};
use maia_protocol::model::FailureKind;
use maia_protocol::tool::{LockMode, WriteIntent};
use maia_protocol::{ActorPath, Body, CallId, NewRecord, Record, ToolOutput};

use crate::check;
use crate::driver::Tree;
use crate::world::{Asked, failure, hash_after, moment, target};

/// Something that was begun and has not told its end.
pub enum Job {
    Model { agent: ActorPath, step: u32, attempt: u32, closing: bool },
    StoppedModel { agent: ActorPath, step: u32, attempt: u32 },
    Timer { agent: ActorPath, step: u32 },
    Prepare(Call),
    Run(Call),
    Interrupted(CallId),
}

pub fn lock_key(call: &Call) -> String {
    call.lock_key().unwrap_or_else(|| format!("call:{}", call.id))
}

impl Tree {
    pub(crate) fn carry_out(&mut self, path: &ActorPath, effect: Effect) {
        match effect {
            Effect::AskModel { step, attempt, closing } => self.send(path, step, attempt, closing),
            Effect::StopModel => {
                let own = |job: &Job| matches!(job, Job::Model { agent, .. } if agent == path);
                if let Some(index) = self.jobs.iter().position(own)
                    && let Job::Model { agent, step, attempt, .. } = self.jobs.remove(index)
                {
                    self.jobs.push(Job::StoppedModel { agent, step, attempt });
                }
            }
            Effect::StartTimer { step, wait_ms } => {
                self.timers.push(wait_ms);
                self.jobs.push(Job::Timer { agent: path.clone(), step });
            }
            Effect::Run { call } => self.execute(path, &call),
            Effect::SpawnBeside { child, call } => {
                let machine = self.machines.get(&child);
                let now = machine.and_then(|machine| machine.state.setup.as_ref()?.call.as_ref());
                if now != Some(&call) {
                    self.waiting.push((child, call));
                    self.start_waiting();
                }
            }
            Effect::SpawnChild { child, .. } => {
                self.spawned += 1;
                if !self.machines.contains_key(&child) && !self.gone.contains_key(&child) {
                    self.start(child);
                }
            }
            Effect::StopChild { child } => self.input(&child, Input::Cancel { by: path.to_string() }),
            Effect::StopCall { call } => self.stop_call(path, &call),
            Effect::CallEnded { call } => {
                self.executors.remove(&call);
                self.jobs.retain(|job| !job.is_of(&call));
                self.locks.release(&call);
            }
            Effect::Ended => {
                if *path != ActorPath::main()
                    && let Some(machine) = self.machines.remove(path)
                {
                    assert!(!self.gone.contains_key(path), "{path} ended twice");
                    self.gone.insert(path.clone(), machine.state);
                    self.start_waiting();
                }
            }
        }
    }

    fn send(&mut self, path: &ActorPath, step: u32, attempt: u32, closing: bool) {
        let answered = |record: &Record| {
            record.actor == *path
                && matches!(&record.body, Body::ModelAnswered(answered) if answered.step == step)
        };
        assert!(!self.journal.iter().any(answered), "{path} asks step {step} again");
        let state = &self.machines[path].state;
        check::conversation(state);
        let request = turn::request(state, &self.world.snapshot, Some(1_000));
        assert_eq!(request.tools_usable, !closing);
        check::request(&request);
        self.requests.push((path.clone(), request));
        self.jobs.push(Job::Model { agent: path.clone(), step, attempt, closing });
    }

    fn execute(&mut self, path: &ActorPath, id: &CallId) {
        let call = self.machines[path].state.call(id).expect("a call that runs").clone();
        let intent = check::permitted(id, &self.journal);
        if turn::is_file_tool(&call.name) {
            let key = lock_key(&call);
            assert!(self.locks.holders(&key).any(|holder| holder == id), "{id} runs without its lock");
        }
        let running =
            self.jobs.iter().filter(|job| matches!(job, Job::Run(call) if call.id.agent() == *path));
        assert!(running.count() < 8, "more than 8 calls of {path} run");
        self.runs.push((id.clone(), intent));
        self.executors.insert(id.clone());
        self.jobs.push(Job::Run(call));
    }

    fn stop_call(&mut self, path: &ActorPath, id: &CallId) {
        let at = self.jobs.iter().position(|job| job.is_of(id));
        match at.map(|at| &self.jobs[at]) {
            // A change that has begun is let go on.
            Some(Job::Run(call)) if turn::is_file_tool(&call.name) => {}
            Some(Job::Run(_) | Job::Prepare(_)) => {
                self.jobs.retain(|job| !job.is_of(id));
                self.jobs.push(Job::Interrupted(id.clone()));
            }
            _ if self.executors.contains(id) => {}
            _ => self.probe(path, id),
        }
    }

    /// Looks at what a call left that nobody runs.
    pub(crate) fn probe(&mut self, path: &ActorPath, id: &CallId) {
        let call = self.machines[path].state.call(id);
        let Some(call) = call.filter(|call| call.state == CallState::Begun) else { return };
        let found = call.write.as_ref().map(|_| (self.world.found)(id));
        self.input(path, Input::Probed { call: id.clone(), found });
    }

    /// What came of a job is told to its agent.
    pub(crate) fn finish(&mut self, job: Job) {
        let (agent, input) = match job {
            Job::Model { agent, step, attempt, closing } => {
                let sent = self.requests.iter().rev().find(|(path, _)| *path == agent);
                let (_, request) = sent.expect("a request that was sent");
                let asked = Asked { agent: &agent, step, attempt, closing, request };
                let input = match (self.world.model)(&asked) {
                    Ok(answer) => Input::Answered {
                        step,
                        targets: answer.calls.iter().map(target).collect(),
                        answer,
                        cost_micros: Some(7),
                        first_token_ms: None,
                        duration_ms: 1,
                    },
                    Err(failure) => Input::Failed { step, attempt, failure },
                };
                (agent, input)
            }
            Job::StoppedModel { agent, step, attempt } => {
                let mut failure = failure(FailureKind::Cancelled, false);
                failure.text = "half a".to_owned();
                (agent, Input::Failed { step, attempt, failure })
            }
            Job::Timer { agent, step } => (agent, Input::TimerFired { step }),
            Job::Prepare(call) => {
                let write = call.target.clone().filter(|_| call.name != "Read").map(|target| WriteIntent {
                    target,
                    before: None,
                    after: hash_after(&call.id),
                    temporary: "/projects/.tmp".into(),
                });
                (call.id.agent(), Input::Prepared { call: call.id, write })
            }
            Job::Run(call) => {
                let output = (self.world.tool)(&call);
                (call.id.agent(), Input::Done { call: call.id, output, duration_ms: 5 })
            }
            Job::Interrupted(call) => {
                let output = ToolOutput::error("printed so far; interrupted by the person");
                (call.agent(), Input::Done { call, output, duration_ms: 5 })
            }
        };
        self.input(&agent, input);
    }

    /// Tells an agent something; nobody at that path: nothing happens.
    pub(crate) fn input(&mut self, path: &ActorPath, input: Input) {
        if let Some(machine) = self.machines.get_mut(path) {
            machine.inbox.push(input);
            self.decide(path);
        }
    }

    /// Plans and appends what is due, as long as nothing is under way.
    pub(crate) fn decide(&mut self, path: &ActorPath) {
        let Some(machine) = self.machines.get_mut(path).filter(|machine| !machine.under_way) else { return };
        let inputs = std::mem::take(&mut machine.inbox);
        let records = self.plan(path.as_str(), &inputs);
        let Some(machine) = self.machines.get_mut(path) else { return };
        if !records.is_empty() {
            machine.under_way = true;
            self.batches.push((Some(path.clone()), records));
            return;
        }
        let files = turn::startable(&machine.state).into_iter().filter(|call| turn::is_file_tool(&call.name));
        let fresh: Vec<Call> = files.filter(|call| !machine.preparing.contains(&call.id)).cloned().collect();
        for call in fresh {
            machine.preparing.insert(call.id.clone());
            self.executors.insert(call.id.clone());
            let mode = if call.name == "Read" { LockMode::Read } else { LockMode::Write };
            self.locks.acquire(&lock_key(&call), call.id.clone(), mode);
            self.jobs.push(Job::Prepare(call));
        }
    }

    /// What an agent would append when these things happened to it at once.
    pub fn plan(&self, path: &str, inputs: &[Input]) -> Vec<NewRecord> {
        let state = &self.machines[&ActorPath::new(path)].state;
        let context = Context {
            judge: &*self.world.judge,
            spawn: SpawnPlan {
                snapshot: &self.world.snapshot,
                snapshot_seq: state.setup.as_ref().map_or(0, |setup| setup.snapshot),
                limits: self.world.limits,
                spawned: self.spawned,
            },
            holds_place: true,
            now: moment(60_000),
        };
        turn::plan(state, &context, inputs)
    }

    /// Calls whose intent is recorded and whose result is not.
    pub fn running(&self) -> HashSet<CallId> {
        let jobs = self.jobs.iter().filter_map(|job| match job {
            Job::Run(call) => Some(call.id.clone()),
            _ => None,
        });
        jobs.collect()
    }
}

impl Job {
    fn is_of(&self, id: &CallId) -> bool {
        match self {
            Self::Prepare(call) | Self::Run(call) => call.id == *id,
            Self::Interrupted(call) => call == id,
            _ => false,
        }
    }
}
