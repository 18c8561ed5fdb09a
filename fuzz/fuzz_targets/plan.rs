//! Target `plan`; see `src/lib.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wireproof_fuzz::text::plan(data));
