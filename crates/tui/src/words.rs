//! The interface's own words, in English and French (SPEC section 3).
//!
//! Asked by every widget; owns nothing. Words of the protocol (modes, names of tools and states in JSON) are not
//! translated: people meet them in settings and scripts too.

/// The language of the interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// French.
    Fr,
}

impl Lang {
    /// Returns the language of a locale such as `fr_CA.UTF-8`.
    pub fn of_locale(locale: &str) -> Self {
        match locale.get(..2) {
            Some(start) if start.eq_ignore_ascii_case("fr") => Self::Fr,
            _ => Self::En,
        }
    }

    /// Returns the words of this language.
    pub fn words(self) -> &'static Words {
        match self {
            Self::En => &EN,
            Self::Fr => &FR,
        }
    }
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident: $en:literal, $fr:literal;)*) => {
        /// Every word that the interface itself says.
        #[derive(Debug)]
        pub struct Words {
            $($(#[$doc])* pub $name: &'static str,)*
        }
        const EN: Words = Words { $($name: $en,)* };
        const FR: Words = Words { $($name: $fr,)* };
    };
}

words! {
    /// First tagline of the first screen.
    tagline: "agents at work on your folder", "des agents au travail dans votre dossier";
    /// Second tagline.
    tagline_hint: "type a request, or &agent task", "tapez une demande, ou &agent tâche";
    /// What the empty input says.
    placeholder: "a request, &agent task, /help", "une demande, &agent tâche, /help";
    /// The main agent thinks.
    thinking: "thinking", "en réflexion";
    /// How to stop the turn.
    esc_stops: "Esc stops", "Échap arrête";
    /// How to stop the turn when Esc means something else.
    ctrl_c_stops: "Ctrl+C stops", "Ctrl+C arrête";
    /// Agents, as a title.
    agents: "agents", "agents";
    /// One agent, after a number.
    agent: "agent", "agent";
    /// At work, after a number of agents.
    working: "at work", "au travail";
    /// State: waits for a place.
    queued: "queued", "en file";
    /// State: waits for a person.
    for_you: "awaits you", "vous attend";
    /// State: waits for its children.
    for_children: "children", "enfants";
    /// State: waits for a lock.
    for_lock: "lock", "verrou";
    /// State: waits for the gateway.
    for_gateway: "gateway", "passerelle";
    /// State: waits for a retry.
    for_retry: "retry", "nouvel essai";
    /// State: waits for room on the disk.
    for_disk: "disk full", "disque plein";
    /// State: waits, unknown for what.
    waiting: "waits", "attend";
    /// State: nothing to do.
    idle: "idle", "au repos";
    /// State: being stopped.
    stopping: "stopping", "arrêt";
    /// Outcome.
    done: "done", "fini";
    /// Outcome.
    partial: "partial", "partiel";
    /// Outcome.
    failed: "failed", "échec";
    /// Outcome.
    cancelled: "cancelled", "annulé";
    /// Outcome.
    timed_out: "timed out", "délai passé";
    /// Ended while events were left out.
    gone: "ended", "terminé";
    /// State of a task: it waits for others.
    task_blocked: "waiting", "en attente";
    /// State of a task: it may begin.
    task_ready: "ready", "prêt";
    /// State of a task: its agent is at work.
    task_running: "at work", "au travail";
    /// State of a task: it does not begin.
    task_skipped: "skipped", "sauté";
    /// Tasks, after a number.
    tasks: "tasks", "tâches";
    /// No graph.
    no_graph: "no task graph: a graph is what a Delegate call of this agent makes",
        "pas de graphe : il naît d'un appel Delegate de cet agent";
    /// Tab of the inspector.
    tab_graph: "graph", "graphe";
    /// Column: what it does.
    col_doing: "doing", "activité";
    /// Column: iterations of the budget.
    col_steps: "steps", "étapes";
    /// Column: tokens, own and of the subtree.
    col_tokens: "tokens", "jetons";
    /// Column: cost of the subtree.
    col_cost: "cost", "coût";
    /// Column: time.
    col_time: "time", "durée";
    /// One question.
    question: "question", "question";
    /// Several questions.
    questions: "questions", "questions";
    /// Who asks.
    asks: "asks", "demande";
    /// Depth in the tree.
    depth: "depth", "niveau";
    /// Why it asks.
    why: "why", "raison";
    /// The rule.
    rule: "rule", "règle";
    /// Risk class read.
    risk_read: "reads", "lecture";
    /// Risk class write.
    risk_write: "writes a file", "écrit un fichier";
    /// Risk class execute.
    risk_execute: "executes", "exécute";
    /// Risk class delegate.
    risk_delegate: "starts agents", "lance des agents";
    /// Keys of a question.
    answer_keys: "y once · n no · r no, with a reason · s stop", "o oui · n non · r non, avec raison · s stop";
    /// Key that allows all equal questions.
    answer_all: "Y all", "O tout";
    /// How to go back to the input.
    unknown_question: "what is asked is not known here: n, r or s", "on ne sait pas ici ce qui est demandé : n, r ou s";
    tab_writes: "Tab writes", "Tab pour écrire";
    /// How to give the keyboard to the question.
    tab_answers: "Tab answers", "Tab pour répondre";
    /// More lines below.
    more_lines: "more lines", "lignes de plus";
    /// The question's details have not come.
    unknown_call: "the call is not known here yet: it can be refused or stopped only",
        "l'appel n'est pas encore connu ici : on peut seulement refuser ou arrêter";
    /// Only answer keys count here.
    /// The question was answered while a reason was being written.
    answered_elsewhere: "that question is closed; your text is in the input",
        "cette question est close ; votre texte est dans la saisie";
    /// Answer: allowed.
    allowed: "allowed", "permis";
    /// Answer: refused.
    refused: "refused", "refusé";
    /// Answer: stopped.
    stopped: "stopped", "arrêté";
    /// Answered by a rule.
    by_rule: "by a rule", "par une règle";
    /// Nobody could answer.
    by_nobody: "nobody could answer", "personne ne pouvait répondre";
    /// Label of the reason.
    reason_label: "reason for no", "raison du refus";
    /// Label of a message to an agent.
    tell_label: "tell", "dire à";
    /// Tab of the inspector.
    tab_task: "task", "tâche";
    /// Tab of the inspector.
    tab_transcript: "transcript", "échanges";
    /// Tab of the inspector.
    tab_events: "events", "événements";
    /// Keys of the inspector.
    inspector_keys: "1-4 ←→ page · ↑↓ scroll · [ ] agent · t tell · a ask again · x stop · Esc back",
        "1-4 ←→ page · ↑↓ défiler · [ ] agent · t dire · a redemander · x arrêter · Échap";
    /// Keys of the tree.
    tree_keys: "↑↓ select · ←→ fold · Enter inspect · t tell · a ask again · x stop · Esc back",
        "↑↓ choisir · ←→ plier · Entrée voir · t dire · a redemander · x arrêter · Échap";
    /// Keys of the inspector, where there is little room.
    inspector_keys_short: "1-4 page · t tell · a ask again · x stop · Esc", "1-4 page · t dire · a redemander · x stop · Échap";
    /// Keys of the tree, where there is little room.
    tree_keys_short: "Enter see · t tell · a ask again · x stop · Esc", "Entrée voir · t dire · a redemander · x · Échap";
    /// Field.
    definition: "definition", "définition";
    /// Field.
    state: "state", "état";
    /// Field.
    model: "model", "modèle";
    /// Field.
    tools: "tools", "outils";
    /// Field.
    skills: "skills", "compétences";
    /// Field.
    rules: "rules", "règles";
    /// Field.
    budget: "budget", "budget";
    /// Field.
    subtree: "with all below", "avec ses enfants";
    /// Field.
    restarts: "restarts", "relances";
    /// Field.
    running: "running", "en cours";
    /// Field.
    summary: "summary", "résumé";
    /// Field.
    cause: "cause", "cause";
    /// No value.
    none: "none", "aucun";
    /// Iterations, after a number.
    steps: "steps", "étapes";
    /// One iteration, after a number.
    step: "step", "étape";
    /// Calls, as a field.
    calls: "calls", "appels";
    /// Tokens, after a number.
    tokens: "tokens", "jetons";
    /// The context size is not known.
    size_unknown: "size unknown", "taille maximale inconnue";
    /// Status line: sandbox.
    sandbox: "sandbox", "bac à sable";
    /// Key hint.
    f1_help: "F1 help", "F1 aide";
    /// Key hint.
    new_below: "more below · PgDn", "suite plus bas · PgDn";
    /// A turn that ended otherwise.
    turn_max_tokens: "the answer was cut at the output limit", "la réponse a été coupée à la limite de sortie";
    /// A turn that ended otherwise.
    turn_max_iterations: "the iterations of this series are spent", "les itérations de cette série sont épuisées";
    /// A turn that ended otherwise.
    turn_stopped: "the turn was stopped", "le tour a été arrêté";
    /// A turn that ended otherwise.
    turn_failed: "the turn failed", "le tour a échoué";
    /// The session goes on.
    resumed: "session resumed", "session reprise";
    /// The conversation begins anew.
    cleared: "a new conversation; what was said stays in the session", "nouvelle conversation ; ce qui a été dit reste dans la session";
    /// The session ended.
    session_ended: "session ended", "session terminée";
    /// Events were left out.
    gap: "events were left out here", "des événements manquent ici";
    /// A worker was rebuilt.
    restarted: "restarted", "relancé";
    /// An agent goes on.
    went_on: "goes on", "continue";
    /// Characters in all.
    characters: "characters in all", "caractères en tout";
    /// Leaving would stop these.
    leaving: "Leaving stops what is at work:", "Quitter arrête ce qui travaille :";
    /// Answers to leaving.
    leaving_keys: "y leave · n stay", "o quitter · n rester";
    /// Press again.
    again_leaves: "once more to leave", "encore une fois pour quitter";
    shell_runs: "a command of yours runs · Esc ends it", "une de vos commandes tourne · Échap l'arrête";
    /// Unknown agent.
    unknown_agent: "there is no agent called", "il n'y a pas d'agent nommé";
    /// A task is missing.
    needs_task: "needs a task: &agent task", "attend une tâche : &agent tâche";
    /// Unknown mode.
    unknown_mode: "modes are read-only, confirm, edits, auto; now",
        "les modes sont read-only, confirm, edits, auto ; actuel :";
    /// The agent has ended.
    has_ended: "has ended", "est terminé";
    /// The agent has ended, and how to ask it again.
    has_ended_ask: "has ended; a asks it again", "est terminé ; a pour lui redemander";
    /// The agent has not ended.
    is_at_work: "is at work; t tells it something", "travaille ; t pour lui dire quelque chose";
    /// What an agent was asked before.
    asked_before: "before:", "avant :";
    /// Label of a request to an agent that has ended.
    ask_again_label: "ask again", "redemander à";
    /// The turn has to be stopped first.
    stop_first: "stop the turn first: Esc", "arrêtez d'abord le tour : Échap";
    /// Older items are not kept on screen.
    older: "older items: ↑ again", "plus ancien : encore ↑";
    /// There are no older items.
    nothing_older: "there is nothing older", "il n'y a rien de plus ancien";
    /// The endpoint lists no models.
    no_models: "the endpoint lists no models; /model NAME names one", "le serveur ne liste aucun modèle ; /model NOM en nomme un";
    /// Title of the list of models.
    choose_model: "model", "modèle";
    /// Keys of a list.
    choose_keys: "↑↓ choose · Enter takes it · Esc closes", "↑↓ choisir · Entrée prend · Échap ferme";
    /// What was interrupted, where there is no room for the keys.
    offer_short: "… r goes on · Esc no", "… r reprend · Échap";
    /// Title of the help.
    help_title: "keys", "touches";
    /// The help, one `keys<TAB>what` a line; an empty line before each group.
    help: "Enter\tsend\nAlt+Enter, Ctrl+J\tnew line\n↑ ↓\thistory\nCtrl+A Ctrl+E\tstart, end of line\nCtrl+U Ctrl+W\tdelete to the start, a word\nTab\tcomplete &agent or /command; else next pane\nShift+Tab\tmode: read-only, confirm, edits\nPgUp PgDn\tscroll\nCtrl+T\tagents: beside, whole, hidden\nEsc, Ctrl+C\tstop the turn\nCtrl+D\tleave\n\n&agent task\tstart an agent beside; several lines: several\n&\tlist the agents\n/mode /model\tshow or change\n/clear /exit\tnew conversation, leave\n!command\trun a command\n@file\tadd a file\n\ny n r s\tanswer a question: once, no, no with a reason, stop\nY\tanswer yes to all equal ones\n↑ ↓\tnext question\n\nTab\tto the agents; Esc back\nEnter\tinspect: task, transcript, events, graph\nt x\ttell it something, stop it and all below\na\task one that has ended again\n← →\tfold, unfold; once more: those that ended\n[ ]\tinspector: the agent before, after\n\n◐ ◌ ○\tat work, waits, queued\n✓ ½ ✗\tdone, partial, failed\n?2 ↻1\topen questions, restarts\n1k/5k\ttokens of its own / with all below",
        "Entrée\tenvoyer\nAlt+Entrée, Ctrl+J\tnouvelle ligne\n↑ ↓\thistorique\nCtrl+A Ctrl+E\tdébut, fin de ligne\nCtrl+U Ctrl+W\teffacer jusqu'au début, un mot\nTab\tcompléter &agent ou /commande ; sinon volet suivant\nMaj+Tab\tmode : read-only, confirm, edits\nPgUp PgDn\tdéfiler\nCtrl+T\tagents : à côté, en entier, cachés\nÉchap, Ctrl+C\tarrêter le tour\nCtrl+D\tquitter\n\n&agent tâche\tlancer un agent à côté ; plusieurs lignes : plusieurs\n&\tlister les agents\n/mode /model\tmontrer ou changer\n/clear /exit\tnouvelle conversation, quitter\n!commande\tlancer une commande\n@fichier\tajouter un fichier\n\no y n r s\trépondre : une fois, non, non avec raison, stop\nO Y\toui à toutes les questions égales\n↑ ↓\tquestion suivante\n\nTab\taux agents ; Échap pour revenir\nEntrée\tinspecter : tâche, échanges, événements, graphe\nt x\tlui dire quelque chose, l'arrêter avec ses enfants\na\tredemander à un agent terminé\n← →\tplier, déplier ; encore : les terminés\n[ ]\tinspection : agent précédent, suivant\n\n◐ ◌ ○\tau travail, attend, en file\n✓ ½ ✗\tfini, partiel, échec\n?2 ↻1\tquestions ouvertes, relances\n1k/5k\tjetons : les siens / avec ses enfants";
    /// First screen: the models.
    start_model: "model", "modèle";
    /// First screen: what the folder brings.
    start_brings: "what this folder brings: nothing of it counts without trust",
        "ce que ce dossier apporte : rien n'en compte sans confiance";
    /// First screen: the starter rules.
    start_rules: "starter rules: what runs unasked, what never runs",
        "règles de départ : ce qui passe sans question, ce qui ne passe jamais";
    /// First screen: where the rules go.
    start_saved_in: "saved in", "enregistré dans";
    /// First screen: no model.
    start_no_model: "none was found", "aucun n'a été trouvé";
    /// Trust: not now.
    trust_no: "no: maia works without it, and asks again next time",
        "non : maia travaille sans, et redemande la prochaine fois";
    /// Trust: all.
    trust_all: "yes: trust all that is shown", "oui : faire confiance à tout ce qui est montré";
    /// Trust: never.
    trust_never: "never here: do not ask again in this folder", "jamais ici : ne plus demander dans ce dossier";
    /// Trust, where there is no room.
    trust_no_short: "no trust", "non";
    /// Trust, where there is no room.
    trust_all_short: "trust all of it", "confiance à tout";
    /// Trust, where there is no room.
    trust_never_short: "never here", "jamais ici";
    /// First screen: what decides.
    start_keys: "Enter accepts what is shown · Esc goes on and saves nothing · Ctrl+C leaves",
        "Entrée accepte ce qui est montré · Échap continue sans garder · Ctrl+C quitte";
    /// First screen: what decides.
    start_keys_short: "Enter accepts · Esc skips · Ctrl+C leaves", "Entrée accepte · Échap passe · Ctrl+C quitte";
    /// First screen: what decides.
    start_keys_shortest: "Enter ok · Esc skip", "Entrée oui · Échap";
    /// First screen: what chooses.
    start_keys_parts: "↑↓ choose · Tab next part · PgUp PgDn scroll", "↑↓ choisir · Tab partie suivante · PgUp PgDn défiler";
    /// First screen: what chooses.
    start_keys_one: "↑↓ choose", "↑↓ choisir";
    /// How to close an overlay.
    esc_closes: "Esc closes", "Échap ferme";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_chooses() {
        for (locale, lang) in
            [("fr_FR.UTF-8", Lang::Fr), ("FR", Lang::Fr), ("en_US", Lang::En), ("", Lang::En)]
        {
            assert_eq!(Lang::of_locale(locale), lang, "{locale}");
        }
        assert_eq!(EN.help.lines().count(), FR.help.lines().count());
    }
}
