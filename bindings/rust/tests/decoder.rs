use pt2::{CallOptions, Decoder, DecoderOptions, Generate, Sampling, Stop};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/decoders/dynamic");

fn greedy<'a>(on_token: Option<&'a mut dyn FnMut(usize, i64) -> bool>) -> Generate<'a> {
    let sampling = Some(Sampling { temperature: 0.0, top_k: 0, top_p: 1.0, seed: 0 });
    Generate { max_new_tokens: Some(3), sampling, stop_ids: Some(&[]), on_token }
}

#[test]
fn panics_of_on_token_come_through() {
    let mut decoder = Decoder::open(FOLDER).unwrap();
    let mut told = |_: usize, _: i64| -> bool { std::panic::panic_any("enough") };
    let call = || decoder.generate(&[&[5]], greedy(Some(&mut told)));
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"enough"));
    assert_eq!(decoder.generate(&[&[5]], greedy(None)).unwrap()[0].len(), 3);
}

#[test]
fn no_new_tokens_are_none() {
    let mut decoder = Decoder::open(FOLDER).unwrap();
    let how = Generate { max_new_tokens: Some(0), ..Default::default() };
    assert_eq!(decoder.generate(&[&[5], &[7]], how).unwrap(), [[0i64; 0]; 2]);
}

#[test]
fn generation_can_be_stopped() {
    let mut decoder = Decoder::open(FOLDER).unwrap();
    let stop = Stop::new().unwrap();
    decoder.set_call_options(CallOptions { stop: Some(stop.clone()), ..Default::default() });
    let mut told = |_: usize, _: i64| {
        stop.request();
        true
    };
    let error = decoder.generate(&[&[5]], greedy(Some(&mut told))).unwrap_err();
    assert_eq!(error.code, pt2::code::CANCELLED);
    decoder.set_call_options(CallOptions::default());
    assert_eq!(decoder.generate(&[&[5]], greedy(None)).unwrap()[0].len(), 3);
}

#[test]
fn options_are_heeded() {
    let how = DecoderOptions { reference_engine: true, threads: 1, ..Default::default() };
    let mut decoder = Decoder::open_with(FOLDER, how).unwrap();
    assert_eq!(decoder.generate(&[&[5]], greedy(None)).unwrap()[0].len(), 3);
    let refused = |how| Decoder::open_with(FOLDER, how).err().unwrap().to_string();
    assert!(refused(DecoderOptions { limits: "max_fun=1", ..Default::default() }).contains("max_fun"));
    assert!(refused(DecoderOptions { threads: 1 << 20, ..Default::default() }).contains("threads"));
    assert!(refused(DecoderOptions { cache_length: Some(-1), ..Default::default() }).contains("cache_length"));
}
