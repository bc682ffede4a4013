//! Plays a whole session without a runtime: journal, gateway, executors, locks, broker, supervisors.
//!
//! What is possible at a moment is a list of [`Action`]s; a seed picks. An agent has one append under way at a time, and
//! looks at what happened to it when that is committed and delivered, as the actor Agent does.

use std::collections::{BTreeMap, HashSet, VecDeque};

use maia_core::locks::Table;
use maia_core::owners::owners;
use maia_core::question::Queue;
use maia_core::session::Session;
use maia_core::turn::{self, Effect, Input, State};
use maia_protocol::model::ChatRequest;
use maia_protocol::permission::{AnsweredBy, Sandbox};
use maia_protocol::record::{AskedAgain, SessionOpened};
use maia_protocol::{ActorPath, Body, CallId, Decision, Mode, NewRecord, Record, Seq};

use crate::check;
use crate::effects::{Job, lock_key};
use crate::world::{World, moment};

/// A session that is being played.
pub struct Tree {
    pub world: World,
    pub journal: Vec<Record>,
    pub machines: BTreeMap<ActorPath, Machine>,
    /// Sub-agents that have ended.
    pub gone: BTreeMap<ActorPath, State>,
    /// Requests as sent, in order.
    pub requests: Vec<(ActorPath, ChatRequest)>,
    /// Calls in the order in which they began to run, with the number of their intent.
    pub runs: Vec<(CallId, Seq)>,
    /// Timers as ordered, in milliseconds.
    pub timers: Vec<u64>,
    pub session: Session,
    /// Whether commits are delivered before anything else happens.
    pub prompt: bool,
    /// Whether the person answers questions.
    pub answers: bool,
    /// Actions taken so far.
    pub ticks: usize,
    orders: Vec<(usize, ActorPath, Order)>,
    pub(crate) batches: Vec<(Option<ActorPath>, Vec<NewRecord>)>,
    pub(crate) jobs: Vec<Job>,
    pub(crate) executors: HashSet<CallId>,
    pub(crate) locks: Table<CallId>,
    questions: Queue,
    answered: HashSet<CallId>,
    pub(crate) spawned: u32,
    /// Agents to be started beside the turn.
    pub(crate) waiting: Vec<(ActorPath, CallId)>,
    random: u64,
}

/// An agent's worker.
pub struct Machine {
    pub state: State,
    pub(crate) inbox: Vec<Input>,
    pub(crate) under_way: bool,
    /// Committed and not delivered; whether the batch is its own.
    pub(crate) mailbox: VecDeque<(Vec<Record>, bool)>,
    pub(crate) preparing: HashSet<CallId>,
}

/// What somebody wants of an agent.
#[derive(Clone, Debug)]
pub enum Order {
    Cancel,
    Tell(String),
    AskAgain(String),
}

enum Action {
    Commit(usize),
    Deliver(ActorPath),
    Job(usize),
    Answer(CallId),
}

impl Tree {
    /// A new session whose first turn asks `request`.
    pub fn new(world: World, seed: u64, request: &str) -> Self {
        let mut tree = Self::empty(world, seed);
        let snapshot = Body::SnapshotTaken(Box::new(tree.world.snapshot.clone()));
        let message = Body::UserMessage { turn: 1, text: request.to_owned() };
        let opening = [tree.opening(Vec::new()), snapshot, message];
        tree.commit(None, opening.map(|body| NewRecord::new(ActorPath::main(), body)).into());
        tree.start(ActorPath::main());
        tree
    }

    /// A session that goes on after a crash left `journal`.
    pub fn resume(world: World, seed: u64, journal: &[Record]) -> Self {
        let mut tree = Self::empty(world, seed);
        tree.journal = journal.to_vec();
        for record in journal {
            tree.session.step(record);
            tree.questions.step(record);
        }
        tree.spawned = tree.session.spawned;
        let mut resumes = vec![ActorPath::main()];
        resumes.extend(tree.session.open_agents.clone());
        let snapshot = Body::SnapshotTaken(Box::new(tree.world.snapshot.clone()));
        let opening = [tree.opening(resumes), snapshot];
        tree.commit(None, opening.map(|body| NewRecord::new(ActorPath::main(), body)).into());
        tree.start(ActorPath::main());
        tree
    }

    fn empty(world: World, seed: u64) -> Self {
        Self {
            world,
            journal: Vec::new(),
            machines: BTreeMap::new(),
            gone: BTreeMap::new(),
            requests: Vec::new(),
            runs: Vec::new(),
            timers: Vec::new(),
            session: Session::default(),
            prompt: seed.is_multiple_of(2),
            answers: true,
            ticks: 0,
            orders: Vec::new(),
            batches: Vec::new(),
            jobs: Vec::new(),
            executors: HashSet::new(),
            locks: Table::default(),
            questions: Queue::default(),
            answered: HashSet::new(),
            spawned: 0,
            waiting: Vec::new(),
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }

    fn opening(&self, resumes: Vec<ActorPath>) -> Body {
        Body::SessionOpened(SessionOpened {
            session: "s".to_owned(),
            name: "name".to_owned(),
            cwd: "/projects".into(),
            model: "m".to_owned(),
            agent: None,
            agent_hash: String::new(),
            tools: None,
            rules: Default::default(),
            iterations: self.world.iterations,
            mode: Mode::Confirm,
            sandbox: Sandbox::None,
            headless: false,
            version: "0".to_owned(),
            fold: maia_protocol::record::FOLD,
            resumed: !self.journal.is_empty(),
            resumes,
        })
    }

    /// Begins another turn; the one before has ended.
    pub fn ask(&mut self, request: &str) {
        let turn = self.session.turn + 1;
        let body = Body::UserMessage { turn, text: request.to_owned() };
        self.commit(None, vec![NewRecord::new(ActorPath::main(), body)]);
        self.run();
    }

    /// Appends a record of the main agent, as the session does.
    pub fn append(&mut self, body: Body) {
        self.batches.push((None, vec![NewRecord::new(ActorPath::main(), body)]));
    }

    /// Closes the session in good order.
    pub fn close(&mut self) {
        let body = Body::SessionClosed {
            reason: self.session.reason(),
            result: self.session.result().to_owned(),
            totals: self.session.totals,
            main: self.session.main,
        };
        self.commit(None, vec![NewRecord::new(ActorPath::main(), body)]);
        self.run();
    }

    /// Orders something of an agent at a later tick; nobody at that path then: nothing happens.
    pub fn at(&mut self, tick: usize, order: Order, agent: &str) -> &mut Self {
        self.orders.push((tick, ActorPath::new(agent), order));
        self
    }

    /// Goes on until nothing more can happen.
    pub fn run(&mut self) {
        while self.tick() {}
    }

    /// Goes on until `when` holds; fails if it never does.
    pub fn run_until(&mut self, when: impl Fn(&Self) -> bool) {
        while !when(self) {
            assert!(self.tick(), "it never came to that");
        }
    }

    /// Orders something of an agent now.
    pub fn order(&mut self, agent: &str, order: Order) {
        let input = match order {
            Order::AskAgain(text) => return self.ask_again(&ActorPath::new(agent), text),
            Order::Cancel => Input::Cancel { by: "the person".to_owned() },
            Order::Tell(text) => Input::Told { from: "the person".to_owned(), text },
        };
        self.input(&ActorPath::new(agent), input);
    }

    /// What the session does with the order: an agent that has ended is asked again, one at work is told.
    fn ask_again(&mut self, agent: &ActorPath, text: String) {
        let is_on_the_way = self
            .batches
            .iter()
            .flat_map(|(_, batch)| batch)
            .any(|record| record.actor == *agent && matches!(record.body, Body::AskedAgain(_)));
        let Some(known) = self.session.agents.get(agent).filter(|_| !is_on_the_way) else { return };
        if known.ended {
            let call = CallId::new(agent, 0, known.asked + 1);
            let body = Body::AskedAgain(AskedAgain { call, text, iterations: known.iterations });
            self.batches.push((None, vec![NewRecord::new(agent.clone(), body)]));
        } else {
            self.input(agent, Input::Told { from: "the person".to_owned(), text });
        }
    }

    /// Starts agents that were asked again and whose life before is over.
    pub(crate) fn start_waiting(&mut self) {
        let free = self.waiting.iter().position(|(child, _)| !self.machines.contains_key(child));
        if let Some(index) = free {
            let (child, call) = self.waiting.remove(index);
            let ended = self.gone.get(&child).and_then(|state| state.setup.as_ref()?.call.clone());
            if ended.as_ref() != Some(&call) {
                self.gone.remove(&child);
                self.start(child);
            }
        }
    }

    /// Does one of the things that can happen now; `false` when nothing can.
    pub fn tick(&mut self) -> bool {
        let now = self.ticks;
        let (due, later) = std::mem::take(&mut self.orders).into_iter().partition(|(tick, ..)| *tick <= now);
        self.orders = later;
        let due: Vec<_> = due;
        for (_, agent, order) in due {
            self.order(agent.as_str(), order);
        }
        let mut actions = self.possible();
        if actions.is_empty() {
            return false;
        }
        self.ticks += 1;
        assert!(self.ticks < 20_000, "it does not end");
        let picked = self.pick(actions.len());
        self.act(actions.swap_remove(picked));
        true
    }

    /// What can happen now.
    fn possible(&self) -> Vec<Action> {
        let mut actions: Vec<Action> = (0..self.batches.len()).map(Action::Commit).collect();
        let waiting = self.machines.iter().filter(|(_, machine)| !machine.mailbox.is_empty());
        actions.extend(waiting.map(|(path, _)| Action::Deliver(path.clone())));
        if self.prompt && !actions.is_empty() {
            return actions;
        }
        let ready = self.jobs.iter().enumerate().filter(|(_, job)| match job {
            Job::Prepare(call) => {
                let key = lock_key(call);
                self.locks.holders(&key).any(|holder| *holder == call.id)
            }
            _ => true,
        });
        actions.extend(ready.map(|(index, _)| Action::Job(index)));
        if self.answers {
            let open = self.questions.open().iter().map(|question| &question.asked.call);
            let open = open.filter(|call| !self.answered.contains(*call));
            actions.extend(open.map(|call| Action::Answer(call.clone())));
        }
        actions
    }

    /// Answers an open question.
    pub fn answer(&mut self, call: &CallId, decision: Decision) {
        let asker = self.questions.get(call).expect("an open question").asker.clone();
        self.answered.insert(call.clone());
        let body = Body::PermissionAnswered { call: call.clone(), decision, by: AnsweredBy::Person };
        self.batches.push((None, vec![NewRecord::new(asker, body)]));
    }

    fn pick(&mut self, of: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % of as u64) as usize
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Commit(index) => {
                let (author, batch) = self.batches.remove(index);
                self.commit(author, batch);
            }
            Action::Deliver(path) => self.deliver(&path),
            Action::Answer(call) => {
                let asked = self.questions.get(&call).expect("an open question").asked.clone();
                let decision = (self.world.person)(&asked);
                self.answer(&call, decision);
            }
            Action::Job(index) => {
                let job = self.jobs.remove(index);
                self.finish(job);
            }
        }
    }

    /// Numbers a batch, folds it for session and broker, and puts it into the mailboxes of its owners.
    fn commit(&mut self, author: Option<ActorPath>, batch: Vec<NewRecord>) {
        let mut records = Vec::new();
        for NewRecord { actor, body } in batch {
            let seq = self.journal.len() as Seq + 1;
            let record = Record { seq, time: moment(seq), actor, body };
            if let Body::PermissionAnswered { call, .. } = &record.body {
                self.answered.remove(call);
            }
            self.session.step(&record);
            self.questions.step(&record);
            self.journal.push(record.clone());
            records.push(record);
        }
        for (path, machine) in &mut self.machines {
            let own = author.as_ref() == Some(path);
            let folded = records.iter().filter(|record| owners(record).include(path));
            let folded: Vec<_> = folded.cloned().collect();
            assert!(!own || folded.len() == records.len(), "{path} waits for a record that never comes");
            if !folded.is_empty() {
                machine.mailbox.push_back((folded, own));
            }
        }
    }

    fn deliver(&mut self, path: &ActorPath) {
        let machine = self.machines.get_mut(path).expect("a machine with a mailbox");
        let (records, own) = machine.mailbox.pop_front().expect("something delivered");
        machine.under_way &= !own;
        let mut effects = Vec::new();
        for record in &records {
            if path.depth() > 0 && machine.state.phase == turn::Phase::Ended {
                // A new worker finds it in its history.
                break;
            }
            effects.extend(turn::step(&mut machine.state, record));
        }
        for effect in effects {
            self.carry_out(path, effect);
        }
        self.decide(path);
    }

    /// Builds a worker from the journal, and looks at what it had begun.
    pub(crate) fn start(&mut self, path: ActorPath) {
        let state = check::fold(&path, &self.journal);
        let open = turn::open(&state);
        let machine = Machine {
            state,
            inbox: Vec::new(),
            under_way: false,
            mailbox: VecDeque::new(),
            preparing: HashSet::new(),
        };
        self.machines.insert(path.clone(), machine);
        for effect in open {
            match effect {
                // Nobody runs it any more.
                Effect::Run { call } | Effect::StopCall { call } => self.probe(&path, &call),
                Effect::StopModel => {
                    let step = self.state(path.as_str()).step;
                    self.jobs.push(Job::StoppedModel { agent: path.clone(), step, attempt: 1 });
                }
                other => self.carry_out(&path, other),
            }
        }
        self.decide(&path);
    }

    /// The state of an agent, at work or ended.
    pub fn state(&self, path: &str) -> &State {
        let path = ActorPath::new(path);
        let at_work = self.machines.get(&path).map(|machine| &machine.state);
        at_work.or_else(|| self.gone.get(&path)).expect("an agent at this path")
    }

    /// Every agent's state, at work or ended.
    pub fn states(&self) -> impl Iterator<Item = &State> {
        self.machines.values().map(|machine| &machine.state).chain(self.gone.values())
    }
}
