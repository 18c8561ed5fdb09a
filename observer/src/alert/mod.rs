//! Alerts of a live run: a command or a web hook is told of findings and of the verdict, on a thread of its own behind a
//! bounded queue. Nothing waits for it but the end of the run, and that for a limited time; nothing that goes wrong here
//! changes a verdict.

mod choice;
mod exec;
mod limit;
mod message;
mod post;
mod words;

pub use choice::{BadChoice, Choice};
pub use exec::Command;
pub use message::Message;
pub use post::shown;

use crate::live::drain::DrainUrl;
use crate::live::receive::Told;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use limit::Limits;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use wireproof_reports::alerts::{Alerts, FAILURES_MAX};
use wireproof_reports::{Filter, Summary};

/// Alerts that wait to be told.
const QUEUE: usize = 64;

/// What is told to whom, and how often.
#[derive(Clone, Debug)]
pub struct Plan {
    /// A command that is started for each alert.
    pub exec: Option<Command>,
    /// Where each alert is posted.
    pub webhook: Option<DrainUrl>,
    /// What is worth one.
    pub on: Choice,
    /// Least time between two of one code.
    pub every: Duration,
    /// Most in a minute; the verdict is not counted.
    pub most: u32,
    /// Longest that one may take.
    pub timeout: Duration,
    /// Streams, addresses and texts of findings are left out.
    pub anonymize: bool,
    /// Findings of streams that do not fit are nobody's business.
    pub filter: Option<Filter>,
}

/// The alerts of a run.
#[derive(Debug)]
pub struct Alerter {
    plan: Plan,
    limits: Limits,
    began: Instant,
    queue: Sender<Message>,
    book: Arc<Mutex<Book>>,
    thread: JoinHandle<()>,
}

/// What became of them so far, and when the rest is given up.
#[derive(Debug, Default)]
struct Book {
    told: Alerts,
    ends: Option<Instant>,
}

impl Alerter {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start(plan: Plan) -> io::Result<Alerter> {
        let (queue, waiting) = bounded(QUEUE);
        let book = Arc::new(Mutex::new(Book::default()));
        let (own, written) = (plan.clone(), Arc::clone(&book));
        let body = move || deliver(&own, &waiting, &written);
        let thread = thread::Builder::new().name("alerts".to_owned()).spawn(body)?;
        let limits = Limits::new(plan.every, plan.most);
        Ok(Alerter { plan, limits, began: Instant::now(), queue, book, thread })
    }

    /// A finding, as it comes; one that does not count is nobody's business. Never waits.
    pub fn found(&mut self, told: &Told) {
        let counts = told.waived.is_none() && !self.is_left_out(told);
        if !counts || !self.plan.on.wants(told.code, told.severity) {
            return;
        }
        match self.limits.ask(told.code, self.began.elapsed()) {
            Some(held_back) => self.offer(Message::of_finding(told, held_back, self.plan.anonymize)),
            None => self.note(|told| told.suppressed += 1),
        }
    }

    fn is_left_out(&self, told: &Told) -> bool {
        let subject = told.subject.as_ref();
        self.plan.filter.as_ref().zip(subject).is_some_and(|(f, s)| f.fits(s.as_ref()) == Some(false))
    }

    /// Tells the verdict, where that is wanted, and ends: everything has as long as one alert may take, the verdict
    /// as long again.
    pub fn finish(self, summary: &Summary) -> Alerts {
        if let Ok(mut book) = self.book.lock() {
            book.ends = Some(Instant::now() + self.plan.timeout);
        }
        if self.plan.on.verdict() {
            let held_back = self.limits.held_back();
            let message = Message::of_verdict(summary, held_back, self.plan.anonymize);
            // The queue empties within the time that one alert may take.
            if self.queue.send_timeout(message, self.plan.timeout * 2).is_err() {
                self.note(|told| told.dropped += 1);
            }
        }
        let Alerter { queue, thread, book, .. } = self;
        drop(queue);
        let _ = thread.join();
        book.lock().unwrap_or_else(PoisonError::into_inner).told.clone()
    }

    fn offer(&self, message: Message) {
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = self.queue.try_send(message) {
            self.note(|told| told.dropped += 1);
        }
    }

    fn note(&self, change: impl FnOnce(&mut Alerts)) {
        note(&self.book, change);
    }
}

fn note(book: &Mutex<Book>, change: impl FnOnce(&mut Alerts)) {
    change(&mut book.lock().unwrap_or_else(PoisonError::into_inner).told);
}

/// The thread: one alert after the other until the queue is closed and empty.
fn deliver(plan: &Plan, waiting: &Receiver<Message>, book: &Mutex<Book>) {
    for message in waiting {
        let ends = book.lock().unwrap_or_else(PoisonError::into_inner).ends;
        if !message.is_verdict() && ends.is_some_and(|ends| Instant::now() >= ends) {
            note(book, |told| told.dropped += 1);
            continue;
        }
        let exec = plan.exec.as_ref().map(|command| command.run(&message, plan.timeout));
        let posted = plan.webhook.as_ref().map(|url| post::post(url, &message, plan.timeout));
        for outcome in [exec, posted].into_iter().flatten() {
            note(book, |told| match outcome {
                Ok(()) => told.delivered += 1,
                Err(why) => {
                    told.failed += 1;
                    if told.failures.len() < FAILURES_MAX && !told.failures.contains(&why) {
                        told.failures.push(why);
                    }
                }
            });
        }
    }
}
