//! Seeded A/B matrices against a real device: what the pure runner asks for is done here.

pub mod bundle;
