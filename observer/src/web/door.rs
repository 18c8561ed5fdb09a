//! Who is let in: so many connections at once, and a client that has sent no request makes room for a newcomer.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The door.
#[derive(Clone, Debug)]
pub(super) struct Door {
    most: usize,
    inside: Arc<Mutex<VecDeque<Arc<Seat>>>>,
}

#[derive(Debug, Default)]
struct Seat {
    headed: AtomicBool,
    evicted: Notify,
}

/// A connection's place, free again when dropped.
#[derive(Debug)]
pub(super) struct Place {
    door: Door,
    seat: Arc<Seat>,
}

impl Door {
    pub(super) fn new(most: usize) -> Door {
        Door { most, inside: Arc::default() }
    }

    /// Lets a connection in; `None` when all places are taken by clients that wait for their answers.
    pub(super) fn enter(&self) -> Option<Place> {
        let mut inside = self.lock();
        if inside.len() >= self.most {
            let mute = inside.iter().position(|seat| !seat.headed.load(Ordering::Relaxed))?;
            if let Some(seat) = inside.remove(mute) {
                seat.evicted.notify_one();
            }
        }
        let seat = Arc::new(Seat::default());
        inside.push_back(Arc::clone(&seat));
        Some(Place { door: self.clone(), seat })
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Seat>>> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// The request has been read.
    pub(super) fn headed(&self) {
        self.seat.headed.store(true, Ordering::Relaxed);
    }

    /// Ends when this client has to make room.
    pub(super) async fn evicted(&self) {
        self.seat.evicted.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.door.lock().retain(|seat| !Arc::ptr_eq(seat, &self.seat));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_mute_client_makes_room_and_one_that_waits_for_its_answer_never_does() {
        let door = Door::new(3);
        let places: Vec<_> = (0..3).map(|_| door.enter().unwrap()).collect();
        places[0].headed();
        let newcomer = door.enter().unwrap();
        assert_eq!(door.lock().len(), 3);
        assert!(!door.lock().iter().any(|seat| Arc::ptr_eq(seat, &places[1].seat)));
        places[2].headed();
        newcomer.headed();
        assert!(door.enter().is_none());
        drop(places);
        assert_eq!(door.lock().len(), 1);
    }
}
