//! The calls that give rights up, in the order in which each still has the right to be made, and the look afterwards
//! whether they are gone. All of them are of this thread, and of every thread that it starts from here on.

use super::{Account, Choice, Lowered, Needs};
use rustix::process::{self, Gid, Resource, Rlimit, Uid};
use rustix::thread::{self, CapabilitySet, CapabilitySets};
use std::io;

/// This process may become anybody.
pub(super) fn is_root() -> bool {
    process::geteuid().is_root()
}

/// Gives up what is not needed to go on this way.
pub(super) fn go_on_as(choice: Choice, needs: Needs) -> io::Result<Option<Lowered>> {
    let had = thread::capabilities(None)?.permitted;
    let user = match choice {
        Choice::Keep => return Ok(None),
        Choice::Same if had.is_empty() => return Ok(None),
        Choice::Same => None,
        Choice::Become(account) => Some(account),
    };
    let kept = kept(had, needs);
    if !needs.programs {
        empty_bounding_set(had);
    }
    if let Some(account) = &user {
        become_user(account, !kept.is_empty())?;
    }
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    thread::set_capabilities(None, sets)?;
    // Nothing that is kept here is inherited: a program has what its user has, which this call must not take from it.
    if !needs.programs {
        thread::set_no_new_privs(true)?;
    }
    are_gone(user.as_ref(), kept)?;
    Ok(Some(lowered(user.as_ref(), kept)))
}

/// What is needed again and was had.
fn kept(had: CapabilitySet, needs: Needs) -> CapabilitySet {
    let reopens = needs.reopens;
    let wanted = [
        (reopens.raw, CapabilitySet::NET_RAW),
        (reopens.admin, CapabilitySet::NET_ADMIN),
        (reopens.bind, CapabilitySet::NET_BIND_SERVICE),
    ];
    let wanted = wanted.into_iter().filter(|(needed, _)| *needed);
    wanted.fold(scheduling(had, needs.realtime), |kept, (_, one)| kept | (had & one))
}

/// What real-time priority takes: a limit that is raised beforehand, or else the capability itself.
fn scheduling(had: CapabilitySet, realtime: Option<u8>) -> CapabilitySet {
    let Some(priority) = realtime.map(u64::from) else { return CapabilitySet::empty() };
    let limit = Rlimit { current: Some(priority), maximum: Some(priority) };
    match process::setrlimit(Resource::Rtprio, limit) {
        Ok(()) => CapabilitySet::empty(),
        Err(_) => had & CapabilitySet::SYS_NICE,
    }
}

/// What is not in it comes back by no program that is started. Without the right to empty it, nothing new can be gained
/// all the same.
fn empty_bounding_set(had: CapabilitySet) {
    if had.contains(CapabilitySet::SETPCAP) {
        // Numbers that the kernel does not know are refused.
        for number in 0..u64::BITS {
            let one = CapabilitySet::from_bits_retain(1 << number);
            let _ = thread::remove_capability_from_bounding_set(one);
        }
    }
}

fn become_user(account: &Account, keeps_some: bool) -> io::Result<()> {
    thread::set_keep_capabilities(keeps_some)?;
    let (uid, gid) = (Uid::from_raw(account.uid), Gid::from_raw(account.gid));
    let groups: Vec<Gid> = account.groups.iter().map(|group| Gid::from_raw(*group)).collect();
    thread::set_thread_groups(&groups)?;
    thread::set_thread_res_gid(gid, gid, gid)?;
    thread::set_thread_res_uid(uid, uid, uid)?;
    thread::set_keep_capabilities(false)?;
    Ok(())
}

/// Looks whether it is so: a run that only believes to have given up its rights is worse than one that keeps them.
fn are_gone(user: Option<&Account>, kept: CapabilitySet) -> io::Result<()> {
    let now = thread::capabilities(None)?;
    let is_user = |account: &Account| {
        let raw = (process::getuid().as_raw(), process::geteuid().as_raw(), process::getgid().as_raw());
        raw == (account.uid, account.uid, account.gid)
    };
    let gone = now.permitted == kept && now.effective == kept && user.is_none_or(is_user);
    if gone { Ok(()) } else { Err(io::Error::other("they are still there afterwards")) }
}

fn lowered(user: Option<&Account>, kept: CapabilitySet) -> Lowered {
    let who = match user {
        Some(account) => format!("user {}", account.name),
        None if process::getuid().is_root() => "root without capabilities".to_owned(),
        None => "this user without capabilities".to_owned(),
    };
    let names = [
        (CapabilitySet::NET_RAW, "CAP_NET_RAW, which opening the interface anew takes"),
        (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN, which receive buffers beyond net.core.rmem_max take"),
        (CapabilitySet::NET_BIND_SERVICE, "CAP_NET_BIND_SERVICE, which ports below 1,024 take"),
        (CapabilitySet::SYS_NICE, "CAP_SYS_NICE, which --realtime takes"),
    ];
    let names = names.iter().filter(|(one, _)| kept.contains(*one)).map(|(_, name)| *name);
    let names = names.collect::<Vec<_>>().join("; ");
    let except = if kept.is_empty() { names } else { format!(" but {names}") };
    let note = format!("sources are open; goes on as {who}, all other rights are given up{except}");
    Lowered { who, note }
}
