//! Profiles that come with the program; they are the files below `profiles/`.

/// Name of the device that needs no profile: the simulated one, and whoever serves what it serves.
pub const OWN: &str = "wireproof";

/// A profile that comes with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// All of them.
pub const BUILTIN: &[Builtin] = &[
    Builtin { name: "field", text: include_str!("../../../profiles/field.toml") },
    Builtin { name: "wled", text: include_str!("../../../profiles/wled.toml") },
];

impl Builtin {
    /// The profile of this name.
    pub fn find(name: &str) -> Option<&'static Builtin> {
        BUILTIN.iter().find(|builtin| builtin.name == name)
    }
}
