//! Facts for the screen: told by anybody, without waiting, and given to it in order; none is left out.
//!
//! - Told by the session in the terminal and its errands, from tasks and from blocking threads.
//! - Owns the one task that waits for a screen that is behind.

use maia_tui::Fact;
use tokio::sync::mpsc;

/// Facts that the screen has not taken yet; beyond that they wait here.
const AHEAD: usize = 64;

/// Where facts are told. Cheap to clone.
///
/// Unbounded: each fact answers a key or the end of a command of the person, so a screen that takes none gives none. One that were
/// dropped would leave the screen with a mode that is not in force, or waiting for older items for ever.
#[derive(Clone)]
pub struct Facts(mpsc::UnboundedSender<Fact>);

impl Facts {
    /// Returns where facts are told, and where the screen takes them. Inside a runtime.
    pub fn channel() -> (Self, mpsc::Receiver<Fact>) {
        let (told, mut waiting) = mpsc::unbounded_channel();
        let (screen, facts) = mpsc::channel(AHEAD);
        tokio::spawn(async move {
            while let Some(fact) = waiting.recv().await {
                if screen.send(fact).await.is_err() {
                    return;
                }
            }
        });
        (Self(told), facts)
    }

    /// Tells the screen; one that has gone needs nothing more.
    pub fn tell(&self, fact: Fact) {
        let _ = self.0.send(fact);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_screen_that_is_behind_gets_everything_in_order() {
        let (facts, mut screen) = Facts::channel();
        for n in 0..10 * AHEAD {
            facts.tell(Fact::Say(n.to_string()));
        }
        drop(facts);
        let mut n = 0;
        while let Some(Fact::Say(text)) = screen.recv().await {
            assert_eq!(text, n.to_string());
            n += 1;
        }
        assert_eq!(n, 10 * AHEAD);
    }
}
