//! Target `layout`; see `src/lib.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wireproof_fuzz::text::layout(data));
