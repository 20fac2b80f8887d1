use std::time::Duration;

use pt2::{CallOptions, Input, LoadOptions, Model, Output, Stop};

fn model() -> Model {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits.pt2");
    Model::load(root).expect("digits.pt2")
}

#[test]
fn says_what_it_takes() {
    let inputs = model().inputs().unwrap();
    assert_eq!(inputs[0].name, "image");
    assert_eq!(inputs[0].sizes, Some(vec![-1, 1, 8, 8]));
    assert_eq!(model().outputs().unwrap()[0].sizes, Some(vec![-1, 10]));
    assert!(!pt2::version().is_empty());
}

#[test]
fn gives_the_same_in_the_callers_memory() {
    let pixels: Vec<f32> = (0..128).map(|i| (i % 16) as f32).collect();
    let mut session = model().session().unwrap();
    let outputs = session.run(&[Input::new(&pixels, &[2, 1, 8, 8])]).unwrap();
    assert_eq!(outputs[0].sizes().unwrap(), &[2, 10]);
    let mut scores = [0f32; 20];
    session
        .run_into(&[Input::new(&pixels, &[2, 1, 8, 8])], &mut [Output::new(&mut scores, &[2, 10])])
        .unwrap();
    assert_eq!(outputs[0].as_slice::<f32>().unwrap(), &scores);
    assert!(outputs[0].as_slice::<i32>().is_err());
}

// The module returns its own buffer: `return self.total.add_(x)`.
#[test]
fn results_do_not_change_with_the_state() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/returned_state.pt2");
    let mut session = Model::load(root).unwrap().session().unwrap();
    let first = session.run(&[Input::new(&[1f32; 3], &[3])]).unwrap();
    let second = session.run(&[Input::new(&[1f32; 3], &[3])]).unwrap();
    assert_eq!(first[0].as_slice::<f32>().unwrap(), &[1.0; 3]);
    assert_eq!(second[0].as_slice::<f32>().unwrap(), &[2.0; 3]);
}

#[test]
fn loads_bytes() {
    let file = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits.pt2")).unwrap();
    let error = Model::load_bytes(&file[..100], LoadOptions::default()).err().unwrap();
    assert_ne!(error.code, pt2::code::ARGUMENT);
    let mut session = Model::load_bytes(file, LoadOptions::default()).unwrap().session().unwrap();
    let image = [1f32; 64];
    let inputs = || [Input::new(&image, &[1, 1, 8, 8])];
    let scores = session.run(&inputs()).unwrap();
    let expected = model().session().unwrap().run(&inputs()).unwrap();
    assert_eq!(scores[0].as_slice::<f32>().unwrap(), expected[0].as_slice::<f32>().unwrap());
}

#[cfg(unix)]
#[test]
fn paths_need_not_be_utf8() {
    use std::os::unix::ffi::OsStrExt;
    let name = std::ffi::OsStr::from_bytes(b"missing\xff.pt2");
    let error = Model::load(name).err().unwrap();
    assert!(error.to_string().contains("missing\\xff.pt2"), "{error}");
}

#[test]
fn errors_say_where() {
    let error = model().session().unwrap().run(&[Input::new(&[0f32; 9], &[9])]).unwrap_err();
    assert!(error.place.starts_with("input 'image'"), "{error}");
    assert_eq!(error.code, pt2::code::ARGUMENT);
    assert_eq!(Model::load("missing.pt2").err().unwrap().code, pt2::code::IO);
}

#[test]
fn calls_end_early() {
    let mut session = model().session().unwrap();
    let stop = Stop::new().unwrap();
    let mut code_of = |timeout| {
        session.set_call_options(CallOptions { timeout: Some(timeout), stop: Some(stop.clone()) });
        session.run(&[Input::new(&[0f32; 64], &[1, 1, 8, 8])]).err().map(|error| error.code)
    };
    assert_eq!(code_of(Duration::MAX), None);
    assert_eq!(code_of(Duration::ZERO), Some(pt2::code::CANCELLED));
    stop.request();
    assert_eq!(code_of(Duration::MAX), Some(pt2::code::CANCELLED));
    let mut scores = [0f32; 10];
    let mut outputs = [Output::new(&mut scores, &[1, 10])];
    let error = session.run_into(&[Input::new(&[0f32; 64], &[1, 1, 8, 8])], &mut outputs).unwrap_err();
    assert_eq!(error.code, pt2::code::CANCELLED);
}

#[test]
fn threads_share_a_model() {
    let model = model();
    let work = || {
        let mut session = model.session().unwrap();
        let outputs = session.run(&[Input::new(&[1f32; 64], &[1, 1, 8, 8])]).unwrap();
        outputs[0].as_slice::<f32>().unwrap().to_vec()
    };
    let results: Vec<Vec<f32>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(results.windows(2).all(|two| two[0] == two[1]));
}
