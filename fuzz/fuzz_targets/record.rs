//! Target `record`; see `src/lib.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wireproof_fuzz::record::record(data));
