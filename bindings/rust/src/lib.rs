//! Runs PyTorch's exported programs (`.pt2`) without PyTorch, through libpt2's C interface.
//!
//! ```no_run
//! let model = pt2::Model::load("digits.pt2")?;
//! let mut session = model.session()?;
//! let image = vec![0f32; 64];
//! let outputs = session.run(&[pt2::Input::new(&image, &[1, 1, 8, 8])])?;
//! let scores: &[f32] = outputs[0].as_slice()?;
//! # Ok::<(), pt2::Error>(())
//! ```

use std::ffi::{c_char, c_void, CStr};
use std::marker::PhantomData;
use std::ptr::{null, null_mut};
use std::sync::Arc;

mod calls;
mod decoder;
mod dtype;
mod ffi;
pub use calls::{CallOptions, Stop};
pub use decoder::{Decoder, DecoderOptions, Generate, Sampling};
pub use dtype::{Dtype, Element};
use ffi::Opaque;

/// The codes of errors.
pub mod code {
    /// The file could not be read or written.
    pub const IO: i32 = 1;
    /// The bytes are damaged or forged.
    pub const CORRUPT: i32 = 2;
    /// Not the format that it claims to be.
    pub const MALFORMED: i32 = 3;
    /// A rule of the format is broken.
    pub const INVALID: i32 = 4;
    /// Valid, but not known to this version.
    pub const UNSUPPORTED: i32 = 5;
    /// A safety limit was hit.
    pub const LIMIT: i32 = 6;
    /// Stopped on request, or its deadline passed.
    pub const CANCELLED: i32 = 7;
    /// The caller passed an argument that is not allowed.
    pub const ARGUMENT: i32 = 8;
    /// An allocation failed.
    pub const NO_MEMORY: i32 = 9;
    /// A bug of the library, or of a callback.
    pub const INTERNAL: i32 = 10;
}

/// An error of the library. `code` is one of [`code`]; `place` says where the error occurred.
#[derive(Debug, Clone)]
pub struct Error {
    pub code: i32,
    pub message: String,
    pub place: String,
}

impl std::fmt::Display for Error {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.place.is_empty() {
            write!(to, "{}: ", self.place)?;
        }
        to.write_str(&self.message)
    }
}
impl std::error::Error for Error {}

pub type Result<T> = std::result::Result<T, Error>;

unsafe fn text(from: *const c_char) -> String {
    CStr::from_ptr(from).to_string_lossy().into_owned()
}

/// Frees the library's error and returns it as an `Error`.
fn check(error: *mut Opaque) -> Result<()> {
    if error.is_null() {
        return Ok(());
    }
    unsafe {
        let out = Error {
            code: ffi::pt2_error_code(error),
            message: text(ffi::pt2_error_message(error, null_mut())),
            place: text(ffi::pt2_error_place(error, null_mut())),
        };
        ffi::pt2_error_free(error);
        Err(out)
    }
}

/// Returns the bytes of a path as the system stores them; they need not be UTF-8.
#[cfg(unix)]
fn bytes_of(path: &std::path::Path) -> Vec<u8> {
    std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()).to_vec()
}
#[cfg(not(unix))]
fn bytes_of(path: &std::path::Path) -> Vec<u8> {
    path.to_string_lossy().into_owned().into_bytes()
}

fn mismatch(message: &str) -> Error {
    Error { code: code::ARGUMENT, message: message.to_string(), place: String::new() }
}

/// Panics unless there are as many elements as the sizes say.
fn view(
    dtype: Dtype,
    data: *mut c_void,
    length: usize,
    sizes: &[i64],
    read_only: bool,
) -> ffi::TensorView {
    let count = sizes.iter().try_fold(1i64, |all, &size| all.checked_mul(size));
    assert!(count == Some(length as i64), "found {length} elements for the sizes {sizes:?}");
    ffi::TensorView {
        data,
        sizes: sizes.as_ptr(),
        strides: null(),
        dims: sizes.len() as i32,
        dtype: dtype.to_c(),
        read_only: read_only.into(),
    }
}

/// Returns the number of elements in the bytes. Panics unless it is a whole number.
fn count_of(dtype: Dtype, bytes: &[u8]) -> usize {
    let (count, size) = (bytes.len() / dtype.size(), dtype.size());
    assert!(count * size == bytes.len(), "found {} bytes for elements of {size}", bytes.len());
    count
}

/// A row-major tensor that borrows the caller's elements.
pub struct Input<'a> {
    view: ffi::TensorView,
    elements: PhantomData<&'a ()>,
}
impl<'a> Input<'a> {
    /// Panics unless there are as many elements as the sizes say.
    pub fn new<T: Element>(elements: &'a [T], sizes: &'a [i64]) -> Self {
        let data = elements.as_ptr().cast_mut().cast();
        let view = view(T::DTYPE, data, elements.len(), sizes, true);
        Input { view, elements: PhantomData }
    }
    /// A tensor of any dtype from the bytes of its elements, which must be aligned like the elements. Panics unless
    /// there are as many as the sizes say.
    pub fn from_bytes(dtype: Dtype, bytes: &'a [u8], sizes: &'a [i64]) -> Self {
        let data = bytes.as_ptr().cast_mut().cast();
        let view = view(dtype, data, count_of(dtype, bytes), sizes, true);
        Input { view, elements: PhantomData }
    }
}

/// An argument of [`Session::call`].
pub enum Argument<'a> {
    Tensor(Input<'a>),
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(&'a str),
    /// Leaves an optional input at the value that the program holds.
    None,
}
impl Argument<'_> {
    fn value(&self) -> Result<Tensor> {
        let mut value = null_mut();
        check(unsafe {
            match *self {
                Argument::Tensor(ref input) => ffi::pt2_value_copy(&input.view, &mut value),
                Argument::Int(number) => ffi::pt2_value_int(number, &mut value),
                Argument::Float(number) => ffi::pt2_value_float(number, &mut value),
                Argument::Bool(truth) => ffi::pt2_value_bool(truth.into(), &mut value),
                Argument::Text(text) => {
                    ffi::pt2_value_text(text.as_ptr().cast(), text.len(), &mut value)
                }
                Argument::None => null_mut(),
            }
        })?;
        Ok(Tensor { value })
    }
}

/// A result of [`Session::call`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Returned {
    Tensor(Tensor),
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    None,
}
impl Returned {
    fn of(value: Tensor) -> Result<Self> {
        let (mut int, mut float, mut truth) = (0, 0.0, 0);
        let (mut characters, mut length) = (null(), 0);
        unsafe {
            // PT2_VALUE_… of pt2.h
            Ok(match ffi::pt2_value_kind(value.value) {
                1 => Returned::Tensor(value.owned()?),
                2 => {
                    check(ffi::pt2_value_get_int(value.value, &mut int))?;
                    Returned::Int(int)
                }
                3 => {
                    check(ffi::pt2_value_get_float(value.value, &mut float))?;
                    Returned::Float(float)
                }
                4 => {
                    check(ffi::pt2_value_get_bool(value.value, &mut truth))?;
                    Returned::Bool(truth != 0)
                }
                6 => {
                    check(ffi::pt2_value_get_text(value.value, &mut characters, &mut length))?;
                    let bytes = std::slice::from_raw_parts(characters.cast(), length);
                    Returned::Text(String::from_utf8_lossy(bytes).into_owned())
                }
                0 => Returned::None,
                kind => return Err(mismatch(&format!("found a result of the kind {kind}"))),
            })
        }
    }
}

/// Memory of the caller that a result is written to.
pub struct Output<'a> {
    view: ffi::TensorView,
    bools: usize, // the number of elements that are `bool` for the caller
    elements: PhantomData<&'a mut ()>,
}
impl<'a> Output<'a> {
    /// Panics unless there are as many elements as the sizes say.
    pub fn new<T: Element>(elements: &'a mut [T], sizes: &'a [i64]) -> Self {
        let data = elements.as_mut_ptr().cast();
        let bools = if T::DTYPE == Dtype::Bool { elements.len() } else { 0 };
        let view = view(T::DTYPE, data, elements.len(), sizes, false);
        Output { view, bools, elements: PhantomData }
    }
    /// Memory for a tensor of any dtype as bytes, which must be aligned like the elements. Panics unless there are as
    /// many as the sizes say.
    pub fn from_bytes(dtype: Dtype, bytes: &'a mut [u8], sizes: &'a [i64]) -> Self {
        let count = count_of(dtype, bytes);
        let view = view(dtype, bytes.as_mut_ptr().cast(), count, sizes, false);
        Output { view, bools: 0, elements: PhantomData }
    }
    /// Makes every `bool` 0 or 1, as Rust needs them; a file may hold other bytes.
    fn settle(&mut self) {
        if self.bools > 0 {
            // SAFETY: the view is of that many bytes, which the library has filled.
            let bytes = unsafe { std::slice::from_raw_parts_mut(self.view.data.cast::<u8>(), self.bools) };
            bytes.iter_mut().for_each(|each| *each = (*each).min(1));
        }
    }
}

/// Returns sizes or strides as a slice. The pointer may be null if `dims` is 0; a slice must not be.
unsafe fn extents<'a>(numbers: *const i64, dims: i32) -> &'a [i64] {
    match dims {
        0 => &[],
        _ => std::slice::from_raw_parts(numbers, dims as usize),
    }
}

fn copied(view: &ffi::TensorView) -> Result<Tensor> {
    let mut value = null_mut();
    check(unsafe { ffi::pt2_value_copy(view, &mut value) })?;
    Ok(Tensor { value })
}

/// A result, which owns its memory.
#[derive(Debug)]
pub struct Tensor {
    value: *mut Opaque,
}
// SAFETY: a value never changes.
unsafe impl Send for Tensor {}
unsafe impl Sync for Tensor {}
impl Tensor {
    fn view(&self) -> Result<ffi::TensorView> {
        let mut out = ffi::TensorView {
            data: null_mut(),
            sizes: null(),
            strides: null(),
            dims: 0,
            dtype: ffi::Dtype { code: 0, bits: 0 },
            read_only: 1,
        };
        check(unsafe { ffi::pt2_value_get_tensor(self.value, &mut out) })?;
        Ok(out)
    }
    /// Copies a tensor into memory of its own. Other values are returned as they are.
    fn owned(self) -> Result<Tensor> {
        match self.view() {
            Ok(view) => copied(&view),
            Err(_) => Ok(self),
        }
    }
    pub fn sizes(&self) -> Result<&[i64]> {
        let view = self.view()?;
        Ok(unsafe { extents(view.sizes, view.dims) })
    }
    /// Returns the dtype; an error if this version has no name for it.
    pub fn dtype(&self) -> Result<Dtype> {
        Dtype::from_c(self.view()?.dtype).ok_or_else(|| mismatch("the tensor has another dtype"))
    }
    /// Returns the elements. An error if the tensor has another element type or is not row-major.
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        if self.dtype()? != T::DTYPE {
            return Err(mismatch("the tensor has elements of another type"));
        }
        let bytes = self.as_bytes()?;
        if T::DTYPE == Dtype::Bool && bytes.iter().any(|&each| each > 1) {
            return Err(mismatch("the tensor has bools that are neither 0 nor 1"));
        }
        let count = bytes.len() / T::DTYPE.size();
        if count == 0 {
            return Ok(&[]); // an empty tensor has no address
        }
        Ok(unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), count) })
    }
    /// Returns the bytes of the elements, of any dtype. An error if the tensor is not row-major.
    pub fn as_bytes(&self) -> Result<&[u8]> {
        let view = self.view()?;
        let (sizes, strides) =
            unsafe { (extents(view.sizes, view.dims), extents(view.strides, view.dims)) };
        if sizes.contains(&0) {
            return Ok(&[]);
        }
        let mut count = 1i64;
        for (&size, &stride) in sizes.iter().zip(strides).rev() {
            if size != 1 && stride != count {
                return Err(mismatch("the tensor is not row-major"));
            }
            count *= size;
        }
        let length = count as usize * usize::from(view.dtype.bits) / 8;
        Ok(unsafe { std::slice::from_raw_parts(view.data.cast(), length) })
    }
}
impl Drop for Tensor {
    fn drop(&mut self) {
        unsafe { ffi::pt2_value_free(self.value) }
    }
}

struct ModelHandle(*mut Opaque);
// SAFETY: a model never changes.
unsafe impl Send for ModelHandle {}
unsafe impl Sync for ModelHandle {}
impl Drop for ModelHandle {
    fn drop(&mut self) {
        unsafe { ffi::pt2_model_free(self.0) }
    }
}

/// An input or output of a model.
#[derive(Debug, Clone)]
pub struct Place {
    pub name: String,
    /// For example `f32[batch 1..64, 3]`.
    pub type_text: String,
    /// The dtype of a tensor. `None` for other values, and for dtypes that this version has no name for.
    pub dtype: Option<Dtype>,
    /// A size of -1 depends on the inputs. `None` if this is not a tensor.
    pub sizes: Option<Vec<i64>>,
    /// The least and the greatest size of each dimension; `i64::MAX` is no bound.
    pub ranges: Vec<(i64, i64)>,
    /// Whether the program holds the value of this input as a constant, so that [`Argument::None`] may be passed.
    pub is_optional: bool,
}

/// How a model is loaded. The defaults are those of the library.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoadOptions<'a> {
    /// The program of a file with several; empty: the only one, or the one called "model".
    pub program: &'a str,
    /// Safety limits that differ from the defaults: `"max_work=1000,max_json_depth=64"`.
    pub limits: &'a str,
    /// Use the reference engine instead of the planned one.
    pub reference_engine: bool,
}

impl LoadOptions<'_> {
    fn to_c(self) -> ffi::LoadOptions {
        ffi::LoadOptions {
            size: std::mem::size_of::<ffi::LoadOptions>(),
            program: self.program.as_ptr().cast(),
            program_length: self.program.len(),
            limits: self.limits.as_ptr().cast(),
            limits_length: self.limits.len(),
            operators: null(),
            engine: self.reference_engine.into(),
            log: None,
            user: null_mut(),
        }
    }
}

type GetPlace = unsafe extern "C" fn(*const Opaque, usize, *mut ffi::Place) -> *mut Opaque;

/// A loaded program. Threads may share it.
#[derive(Clone)]
pub struct Model(Arc<ModelHandle>);
impl Model {
    pub fn load(path: impl AsRef<std::path::Path>) -> Result<Self> {
        Self::load_with(path, LoadOptions::default())
    }
    pub fn load_with(path: impl AsRef<std::path::Path>, how: LoadOptions<'_>) -> Result<Self> {
        let path = bytes_of(path.as_ref());
        let mut out = null_mut();
        let text = path.as_ptr().cast();
        check(unsafe { ffi::pt2_model_load(text, path.len(), &how.to_c(), &mut out) })?;
        Ok(Model(Arc::new(ModelHandle(out))))
    }
    /// Loads a model from the bytes of a file, which it keeps.
    pub fn load_bytes(file: impl Into<Vec<u8>>, how: LoadOptions<'_>) -> Result<Self> {
        unsafe extern "C" fn release(file: *mut c_void) {
            drop(Box::from_raw(file.cast::<Vec<u8>>()));
        }
        let file: *mut Vec<u8> = Box::into_raw(Box::new(file.into()));
        let mut out = null_mut();
        let name = "bytes";
        let loaded = check(unsafe {
            ffi::pt2_model_load_memory(
                (*file).as_ptr().cast(),
                (*file).len(),
                name.as_ptr().cast(),
                name.len(),
                release,
                file.cast(),
                &how.to_c(),
                &mut out,
            )
        });
        if loaded.is_err() {
            // SAFETY: the library releases the bytes only of a model that it made.
            unsafe { release(file.cast()) };
        }
        loaded.map(|()| Model(Arc::new(ModelHandle(out))))
    }
    pub fn inputs(&self) -> Result<Vec<Place>> {
        let count = unsafe { ffi::pt2_model_input_count(self.0 .0) };
        self.places(count, ffi::pt2_model_get_input)
    }
    pub fn outputs(&self) -> Result<Vec<Place>> {
        let count = unsafe { ffi::pt2_model_output_count(self.0 .0) };
        self.places(count, ffi::pt2_model_get_output)
    }
    /// Returns the names of parameters, buffers and constants.
    pub fn state_names(&self) -> Vec<String> {
        let count = unsafe { ffi::pt2_model_state_count(self.0 .0) };
        let name = |i| unsafe { text(ffi::pt2_model_state_name(self.0 .0, i, null_mut())) };
        (0..count).map(name).collect()
    }
    pub fn session(&self) -> Result<Session> {
        self.session_with_threads(0)
    }
    /// Makes a session whose calls use at most that many threads; 0: all CPUs that the process may use.
    pub fn session_with_threads(&self, threads: u32) -> Result<Session> {
        let size = std::mem::size_of::<ffi::SessionOptions>();
        let options = ffi::SessionOptions { size, threads };
        let mut out = null_mut();
        check(unsafe { ffi::pt2_session_create(self.0 .0, &options, &mut out) })?;
        let outputs = unsafe { ffi::pt2_model_output_count(self.0 .0) };
        Ok(Session { session: out, outputs, call: CallOptions::default() })
    }
    fn places(&self, count: usize, get: GetPlace) -> Result<Vec<Place>> {
        let one = |index| unsafe {
            let mut place: ffi::Place = std::mem::zeroed();
            place.size = std::mem::size_of::<ffi::Place>();
            check(get(self.0 .0, index, &mut place))?;
            let dims = if place.is_tensor != 0 { place.dims } else { 0 };
            let least = extents(place.minimum, dims).iter().copied();
            Ok(Place {
                name: text(place.name),
                type_text: text(place.r#type),
                dtype: Dtype::from_c(place.dtype),
                sizes: (place.is_tensor != 0).then(|| extents(place.sizes, dims).to_vec()),
                ranges: least.zip(extents(place.maximum, dims).iter().copied()).collect(),
                is_optional: place.is_optional != 0,
            })
        };
        (0..count).map(one).collect()
    }
}

/// Runs a model and keeps the state that it changes.
pub struct Session {
    session: *mut Opaque,
    outputs: usize,
    call: CallOptions,
}
// SAFETY: methods take &mut self, so one thread at a time uses the handle.
unsafe impl Send for Session {}
impl Session {
    /// Sets what ends later calls early.
    pub fn set_call_options(&mut self, options: CallOptions) {
        self.call = options;
    }
    /// Runs a program whose inputs are tensors. Copies inputs and results, because results may be
    /// views of inputs or of the state that later runs change. Errors about an input name it.
    pub fn run(&mut self, inputs: &[Input<'_>]) -> Result<Vec<Tensor>> {
        let values = inputs.iter().map(|each| copied(&each.view)).collect::<Result<Vec<_>>>()?;
        self.run_values(&values)?.into_iter().map(Tensor::owned).collect()
    }
    /// As `run`, for values that are not all tensors.
    pub fn call(&mut self, arguments: &[Argument<'_>]) -> Result<Vec<Returned>> {
        let values = arguments.iter().map(Argument::value).collect::<Result<Vec<_>>>()?;
        self.run_values(&values)?.into_iter().map(Returned::of).collect()
    }
    /// Returns a copy of a parameter, buffer or constant.
    pub fn state(&mut self, name: &str) -> Result<Tensor> {
        let mut value = null_mut();
        let text = name.as_ptr().cast();
        check(unsafe {
            ffi::pt2_session_get_state(self.session, text, name.len(), &mut value)
        })?;
        Tensor { value }.owned()
    }
    /// Copies a tensor of the same dtype and sizes into a parameter, buffer or constant, for later runs of this
    /// session.
    pub fn set_state(&mut self, name: &str, tensor: Input<'_>) -> Result<()> {
        let text = name.as_ptr().cast();
        check(unsafe {
            ffi::pt2_session_set_state(self.session, text, name.len(), &tensor.view)
        })
    }
    /// Seeds the random operators. The seed of a new session is 0.
    pub fn seed(&mut self, seed: u64) -> Result<()> {
        check(unsafe { ffi::pt2_session_seed(self.session, seed) })
    }
    fn run_values(&mut self, values: &[Tensor]) -> Result<Vec<Tensor>> {
        let pointers: Vec<*const Opaque> = values.iter().map(|each| each.value.cast_const()).collect();
        let mut outputs = vec![null_mut(); self.outputs];
        let call = self.call.to_c();
        let error = unsafe {
            ffi::pt2_session_run(
                self.session,
                pointers.as_ptr(),
                pointers.len(),
                &call,
                outputs.as_mut_ptr(),
                outputs.len(),
            )
        };
        check(error)?;
        Ok(outputs.into_iter().map(|value| Tensor { value }).collect())
    }
    /// Runs a program on the caller's memory without copies. The sizes of results must be known.
    pub fn run_into(&mut self, inputs: &[Input<'_>], outputs: &mut [Output<'_>]) -> Result<()> {
        let call = self.call.to_c();
        // Input and Output consist of a view; the C function takes arrays of views.
        let error = unsafe {
            ffi::pt2_session_run_views(
                self.session,
                inputs.iter().map(copy_of).collect::<Vec<_>>().as_ptr(),
                inputs.len(),
                outputs.iter().map(|each| copy(&each.view)).collect::<Vec<_>>().as_ptr(),
                outputs.len(),
                &call,
            )
        };
        outputs.iter_mut().for_each(Output::settle);
        check(error)
    }
}
impl Drop for Session {
    fn drop(&mut self) {
        unsafe { ffi::pt2_session_free(self.session) }
    }
}

fn copy(view: &ffi::TensorView) -> ffi::TensorView {
    ffi::TensorView { ..*view }
}
fn copy_of(input: &Input<'_>) -> ffi::TensorView {
    copy(&input.view)
}

/// Returns the version of the library.
pub fn version() -> String {
    unsafe { text(ffi::pt2_version()) }
}
