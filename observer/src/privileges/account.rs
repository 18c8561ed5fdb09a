//! Whose rights a run goes on with, from what the call says, what `sudo` left in the environment, and the texts of
//! `/etc/passwd` and `/etc/group`. Pure: reads nothing itself.

use super::PrivilegeError;

/// Most groups of a user that are taken over; Linux itself takes 65,536.
const GROUPS_MAX: usize = 1_024;

/// A user to become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Name, or number where there is none.
    pub name: String,
    /// User id, never 0.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Further groups.
    pub groups: Vec<u32>,
}

/// How the run goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// With everything it has.
    Keep,
    /// As the same user without capabilities.
    Same,
    /// As somebody else, without capabilities.
    Become(Account),
}

/// Chooses: `--user` first, then who called `sudo`, then the same user.
///
/// # Errors
/// [`PrivilegeError`] when `--user` names nobody, or this process may not become anybody else.
pub fn choose(
    user: Option<&str>,
    is_root: bool,
    variable: &dyn Fn(&str) -> Option<String>,
    users: &str,
    groups: &str,
) -> Result<Choice, PrivilegeError> {
    let Some(user) = user else {
        let account = is_root.then(|| behind_sudo(variable, users, groups)).flatten();
        return Ok(account.map_or(Choice::Same, Choice::Become));
    };
    if matches!(user, "root" | "0" | "0:0") {
        return Ok(Choice::Keep);
    }
    let account = named(user, users, groups).ok_or_else(|| PrivilegeError::NoUser(user.to_owned()))?;
    match (is_root, account.uid) {
        (_, 0) => Ok(Choice::Keep),
        (true, _) => Ok(Choice::Become(account)),
        (false, _) => Err(PrivilegeError::NotRoot(user.to_owned())),
    }
}

/// Who typed `sudo`: it states the numbers, so that nobody has to be looked up.
fn behind_sudo(variable: &dyn Fn(&str) -> Option<String>, users: &str, groups: &str) -> Option<Account> {
    let number = |name: &str| variable(name)?.parse::<u32>().ok();
    let (uid, gid) = number("SUDO_UID").zip(number("SUDO_GID"))?;
    (uid != 0).then(|| account(uid, gid, users, groups))
}

/// A name of `/etc/passwd`, a number that stands there, or `UID:GID`.
fn named(user: &str, users: &str, groups: &str) -> Option<Account> {
    if let Some((uid, gid)) = user.split_once(':') {
        return Some(account(uid.parse().ok()?, gid.parse().ok()?, users, groups));
    }
    let by_name = entries(users).find(|entry| entry.0 == user);
    let entry = by_name.or_else(|| entries(users).find(|entry| user.parse() == Ok(entry.1)))?;
    Some(account(entry.1, entry.2, users, groups))
}

fn account(uid: u32, gid: u32, users: &str, groups: &str) -> Account {
    let name = entries(users).find(|entry| entry.1 == uid).map(|entry| entry.0);
    let mut further: Vec<u32> =
        name.map_or_else(Vec::new, |name| memberships(name, groups).filter(|group| *group != gid).collect());
    further.truncate(GROUPS_MAX);
    Account { name: name.map_or_else(|| uid.to_string(), str::to_owned), uid, gid, groups: further }
}

/// Name, user id and group id of each line (passwd(5)); other lines are left out.
fn entries(users: &str) -> impl Iterator<Item = (&str, u32, u32)> {
    users.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (name, _, uid, gid) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        Some((name, uid.parse().ok()?, gid.parse().ok()?))
    })
}

/// Groups that list this member (group(5)).
fn memberships<'a>(name: &'a str, groups: &'a str) -> impl Iterator<Item = u32> + 'a {
    groups.lines().filter_map(move |line| {
        let mut fields = line.split(':').skip(2);
        let (gid, members) = (fields.next()?, fields.next()?);
        members.split(',').any(|member| member == name).then(|| gid.parse().ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: &str =
        "root:x:0:0:root:/r:/bin/sh\nada:x:1000:1000::/a:/bin/sh\nbroken\nprobe:x:117:65534::/:/x\n";
    const GROUPS: &str = "root:x:0:\nada:x:1000:\nwheel:x:27:bob,ada\nvideo:x:44:adam\ndisk:x:6:ada\n";

    fn chosen(user: Option<&str>, is_root: bool, sudo: &[(&str, &str)]) -> Result<Choice, String> {
        let variable =
            |name: &str| sudo.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        choose(user, is_root, &variable, USERS, GROUPS).map_err(|error| error.to_string())
    }

    fn account(name: &str, uid: u32, gid: u32, groups: &[u32]) -> Choice {
        Choice::Become(Account { name: name.to_owned(), uid, gid, groups: groups.to_vec() })
    }

    #[test]
    fn who_called_sudo_goes_on_and_a_named_user_before_that() {
        let sudo = [("SUDO_UID", "1000"), ("SUDO_GID", "1000")];
        assert_eq!(chosen(None, true, &sudo), Ok(account("ada", 1000, 1000, &[27, 6])));
        assert_eq!(chosen(Some("probe"), true, &sudo), Ok(account("probe", 117, 65534, &[])));
        assert_eq!(chosen(Some("117"), true, &[]), Ok(account("probe", 117, 65534, &[])));
        assert_eq!(chosen(Some("4242:7"), true, &[]), Ok(account("4242", 4242, 7, &[])));
    }

    #[test]
    fn without_anybody_behind_it_the_same_user_goes_on() {
        for sudo in [
            &[][..],
            &[("SUDO_UID", "0"), ("SUDO_GID", "0")],
            &[("SUDO_UID", "1000")],
            &[("SUDO_UID", "-1"), ("SUDO_GID", "x")],
        ] {
            assert_eq!(chosen(None, true, sudo), Ok(Choice::Same), "{sudo:?}");
        }
        // A variable that anybody can set means nothing without root.
        assert_eq!(chosen(None, false, &[("SUDO_UID", "117"), ("SUDO_GID", "6")]), Ok(Choice::Same));
    }

    #[test]
    fn root_is_kept_only_by_name() {
        for root in ["root", "0", "0:0", "0:6"] {
            assert_eq!(chosen(Some(root), true, &[("SUDO_UID", "1000")]), Ok(Choice::Keep), "{root}");
        }
    }

    #[test]
    fn nobody_and_a_right_that_is_not_there_are_refused() {
        for user in ["", "bob", "9999", "1:", ":1", "a:b", "1:2:3", "-1:5"] {
            assert!(chosen(Some(user), true, &[]).unwrap_err().contains("no such user"), "{user}");
        }
        assert!(chosen(Some("ada"), false, &[]).unwrap_err().contains("start it with sudo"));
    }
}
