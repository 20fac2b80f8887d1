use pt2::{Argument, Dtype, Input, LoadOptions, Model, Output, Returned};

fn model(name: &str) -> std::path::PathBuf {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/bindings");
    std::path::Path::new(root).join(name)
}

/// Six elements of the dtype as bytes; a `Vec<u128>` is aligned for all of them.
fn elements(dtype: Dtype) -> Vec<u128> {
    let byte = |i: usize| if dtype == Dtype::Bool { i % 2 } else { 7 * i + 1 };
    let bytes: Vec<u8> = (0..96).map(|i| byte(i) as u8).collect();
    bytes.chunks(16).map(|each| u128::from_ne_bytes(each.try_into().unwrap())).collect()
}
fn bytes_of(dtype: Dtype, memory: &[u128]) -> &[u8] {
    unsafe { std::slice::from_raw_parts(memory.as_ptr().cast(), 6 * dtype.size()) }
}

// The program transposes one input of each dtype.
#[test]
fn takes_and_gives_every_dtype() {
    let model = Model::load(model("dtypes.pt2")).unwrap();
    let places = model.inputs().unwrap();
    let dtypes: Vec<Dtype> = places.iter().map(|each| each.dtype.unwrap()).collect();
    assert_eq!(dtypes.len(), Dtype::ALL.len());
    assert!(places.iter().all(|each| each.dtype.unwrap().name() == each.name));
    let memory: Vec<Vec<u128>> = dtypes.iter().copied().map(elements).collect();
    let bytes: Vec<&[u8]> = dtypes.iter().zip(&memory).map(|(&each, to)| bytes_of(each, to)).collect();
    let inputs = || -> Vec<Input> {
        dtypes.iter().zip(&bytes).map(|(&each, &of)| Input::from_bytes(each, of, &[2, 3])).collect()
    };
    let mut results = vec![vec![0u128; 6]; dtypes.len()];
    let mut outputs: Vec<Output> = Vec::new();
    for (&dtype, to) in dtypes.iter().zip(&mut results) {
        let whole = unsafe { std::slice::from_raw_parts_mut(to.as_mut_ptr().cast(), 6 * dtype.size()) };
        outputs.push(Output::from_bytes(dtype, whole, &[3, 2]));
    }
    let mut session = model.session().unwrap();
    session.run_into(&inputs(), &mut outputs).unwrap();
    let tensors = session.run(&inputs()).unwrap();
    for (i, &dtype) in dtypes.iter().enumerate() {
        let size = dtype.size();
        let row = |at: usize| bytes[i][size * at..size * (at + 1)].to_vec();
        let wanted = [0, 3, 1, 4, 2, 5].map(row).concat();
        assert_eq!(bytes_of(dtype, &results[i]), wanted, "{dtype:?}");
        assert_eq!(tensors[i].as_bytes().unwrap(), wanted, "{dtype:?}");
        assert_eq!((tensors[i].dtype().unwrap(), tensors[i].sizes().unwrap()), (dtype, &[3i64, 2][..]));
    }
    let at = |dtype| dtypes.iter().position(|&each| each == dtype).unwrap();
    assert_eq!(tensors[at(Dtype::Bool)].as_slice::<bool>().unwrap(), &[false, true, true, false, false, true]);
    assert_eq!(tensors[at(Dtype::Complex64)].as_slice::<[f32; 2]>().unwrap().len(), 6);
    let mut wrong = inputs();
    wrong[at(Dtype::Bool)] = Input::new(&[0u8; 6], &[2, 3]);
    assert_eq!(session.run(&wrong).unwrap_err().place, "input 'bool'");
}

#[test]
fn takes_and_gives_other_values() {
    let how = LoadOptions { limits: "max_work=1000000", reference_engine: true, ..Default::default() };
    let model = Model::load_with(model("values.pt2"), how).unwrap();
    let mut session = model.session_with_threads(1).unwrap();
    let mut call = |n, name| {
        let x = Input::new(&[0f32, 2.0, 3.0], &[3]);
        session.call(&[Argument::Tensor(x), n, Argument::Bool(true), Argument::Text(name)])
    };
    let results = call(Argument::Int(4), "é").unwrap();
    let [Returned::Tensor(found), next, half, flag, Returned::None, Returned::Tensor(many)] = &results[..] else {
        panic!("{results:?}")
    };
    assert!(matches!((next, flag), (Returned::Int(5), Returned::Bool(true))));
    assert!(matches!(half, Returned::Float(number) if *number == 0.5));
    assert_eq!((found.as_slice::<i64>().unwrap(), found.sizes().unwrap()), (&[1i64, 2][..], &[2i64, 1][..]));
    assert_eq!(many.as_slice::<f32>().unwrap(), &[0.0, 8.0, 12.0]);
    assert_eq!(call(Argument::Int(4), "é\0").unwrap_err().place, "input 'name'");
    assert_eq!(call(Argument::Float(4.5), "é").unwrap_err().place, "input 'n'");
    let places = model.outputs().unwrap();
    assert_eq!((places[0].dtype, &places[0].ranges[..]), (Some(Dtype::Int64), &[(0, 3), (1, 1)][..]));
    assert_eq!((model.inputs().unwrap()[1].dtype, &places[1].sizes), (None, &None));
}

#[test]
fn tensors_may_have_no_elements_and_no_dims() {
    let mut session = Model::load(model("many.pt2")).unwrap().session().unwrap();
    let numbers: Vec<f32> = (0..70u8).map(f32::from).collect();
    let mut inputs = vec![Input::new(&[0f32; 0], &[0])];
    inputs.extend(numbers.iter().map(|each| Input::new(std::slice::from_ref(each), &[])));
    let results = session.run(&inputs).unwrap();
    assert_eq!(results[0].as_slice::<bool>().unwrap(), &[false; 0]);
    assert_eq!(results[70].as_slice::<f32>().unwrap(), &[69.0]);
}

#[test]
fn state_can_be_read_and_written() {
    let model = Model::load(model("values.pt2")).unwrap();
    let mut session = model.session().unwrap();
    session.seed(1).unwrap();
    assert_eq!(model.state_names(), ["total"]);
    session.set_state("total", Input::new(&[1f32, 2.0, 3.0], &[3])).unwrap();
    assert_eq!(session.state("total").unwrap().as_slice::<f32>().unwrap(), &[1.0, 2.0, 3.0]);
    assert!(session.set_state("total", Input::new(&[1f64; 3], &[3])).is_err());
    assert!(session.state("other").is_err());
}

#[test]
fn options_are_heeded() {
    let file = model("values.pt2");
    let program = LoadOptions { program: "other", ..Default::default() };
    assert!(Model::load_with(&file, program).err().unwrap().to_string().contains("other"));
    let limits = LoadOptions { limits: "max_fun=1", ..Default::default() };
    assert!(Model::load_with(&file, limits).err().unwrap().to_string().contains("max_fun"));
}
