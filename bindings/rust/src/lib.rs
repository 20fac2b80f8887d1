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

mod decoder;
mod ffi;
pub use decoder::{Decoder, Generate, Sampling};
use ffi::Opaque;

/// An error of the library. Codes are those of `pt2.h`; `place` says where the error occurred.
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
    Error { code: 8, message: message.to_string(), place: String::new() }
}

mod sealed {
    pub trait Sealed {}
}
/// A Rust type that tensors can have as their element type.
pub trait Element: sealed::Sealed + Copy {
    #[doc(hidden)]
    const DTYPE: (u8, u8);
}
macro_rules! elements {
    ($($name:ty => $code:expr, $bits:expr;)*) => {
        $(impl sealed::Sealed for $name {}
          impl Element for $name { const DTYPE: (u8, u8) = ($code, $bits); })*
    };
}
elements! {
    i8 => 0, 8; i16 => 0, 16; i32 => 0, 32; i64 => 0, 64;
    u8 => 1, 8; u16 => 1, 16; u32 => 1, 32; u64 => 1, 64;
    f32 => 2, 32; f64 => 2, 64;
}

fn view<T: Element>(data: *mut T, length: usize, sizes: &[i64], read_only: bool) -> ffi::TensorView {
    let count = sizes.iter().try_fold(1i64, |all, &size| all.checked_mul(size));
    assert!(count == Some(length as i64), "found {length} elements for the sizes {sizes:?}");
    ffi::TensorView {
        data: data.cast(),
        sizes: sizes.as_ptr(),
        strides: null(),
        dims: sizes.len() as i32,
        dtype: ffi::Dtype { code: T::DTYPE.0, bits: T::DTYPE.1 },
        read_only: read_only.into(),
    }
}

/// A row-major tensor that borrows the caller's elements.
pub struct Input<'a> {
    view: ffi::TensorView,
    elements: PhantomData<&'a ()>,
}
impl<'a> Input<'a> {
    /// Panics unless there are as many elements as the sizes say.
    pub fn new<T: Element>(elements: &'a [T], sizes: &'a [i64]) -> Self {
        let view = view(elements.as_ptr().cast_mut(), elements.len(), sizes, true);
        Input { view, elements: PhantomData }
    }
}

/// Memory of the caller that a result is written to.
pub struct Output<'a> {
    view: ffi::TensorView,
    elements: PhantomData<&'a mut ()>,
}
impl<'a> Output<'a> {
    /// Panics unless there are as many elements as the sizes say.
    pub fn new<T: Element>(elements: &'a mut [T], sizes: &'a [i64]) -> Self {
        let view = view(elements.as_mut_ptr(), elements.len(), sizes, false);
        Output { view, elements: PhantomData }
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
    /// Returns the elements. An error if the tensor has another element type or is not row-major.
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        let view = self.view()?;
        if (view.dtype.code, view.dtype.bits) != T::DTYPE {
            return Err(mismatch("the tensor has elements of another type"));
        }
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
        Ok(unsafe { std::slice::from_raw_parts(view.data.cast(), count as usize) })
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
    /// A size of -1 depends on the inputs. `None` if this is not a tensor.
    pub sizes: Option<Vec<i64>>,
}

type GetPlace = unsafe extern "C" fn(*const Opaque, usize, *mut ffi::Place) -> *mut Opaque;

/// A loaded program. Threads may share it.
#[derive(Clone)]
pub struct Model(Arc<ModelHandle>);
impl Model {
    pub fn load(path: impl AsRef<std::path::Path>) -> Result<Self> {
        let path = bytes_of(path.as_ref());
        let mut out = null_mut();
        check(unsafe { ffi::pt2_model_load(path.as_ptr().cast(), path.len(), null(), &mut out) })?;
        Ok(Model(Arc::new(ModelHandle(out))))
    }
    pub fn inputs(&self) -> Result<Vec<Place>> {
        let count = unsafe { ffi::pt2_model_input_count(self.0 .0) };
        self.places(count, ffi::pt2_model_get_input)
    }
    pub fn outputs(&self) -> Result<Vec<Place>> {
        let count = unsafe { ffi::pt2_model_output_count(self.0 .0) };
        self.places(count, ffi::pt2_model_get_output)
    }
    pub fn session(&self) -> Result<Session> {
        let mut out = null_mut();
        check(unsafe { ffi::pt2_session_create(self.0 .0, null(), &mut out) })?;
        Ok(Session { session: out, outputs: unsafe { ffi::pt2_model_output_count(self.0 .0) } })
    }
    fn places(&self, count: usize, get: GetPlace) -> Result<Vec<Place>> {
        let one = |index| unsafe {
            let mut place: ffi::Place = std::mem::zeroed();
            place.size = std::mem::size_of::<ffi::Place>();
            check(get(self.0 .0, index, &mut place))?;
            let sizes = (place.is_tensor != 0 && place.dims > 0)
                .then(|| std::slice::from_raw_parts(place.sizes, place.dims as usize).to_vec())
                .or((place.is_tensor != 0).then(Vec::new));
            Ok(Place { name: text(place.name), type_text: text(place.r#type), sizes })
        };
        (0..count).map(one).collect()
    }
}

/// Runs a model and keeps the state that it changes.
pub struct Session {
    session: *mut Opaque,
    outputs: usize,
}
// SAFETY: methods take &mut self, so one thread at a time uses the handle.
unsafe impl Send for Session {}
impl Session {
    /// Runs a program whose inputs are tensors. Copies inputs and results, because results may be
    /// views of inputs or of the state that later runs change. Errors about an input name it.
    pub fn run(&mut self, inputs: &[Input<'_>]) -> Result<Vec<Tensor>> {
        let values = inputs.iter().map(|each| copied(&each.view)).collect::<Result<Vec<_>>>()?;
        let pointers: Vec<*const Opaque> = values.iter().map(|each| each.value.cast_const()).collect();
        let mut outputs = vec![null_mut(); self.outputs];
        let error = unsafe {
            ffi::pt2_session_run(
                self.session,
                pointers.as_ptr(),
                pointers.len(),
                null(),
                outputs.as_mut_ptr(),
                outputs.len(),
            )
        };
        check(error)?;
        let results: Vec<Tensor> = outputs.into_iter().map(|value| Tensor { value }).collect();
        results.into_iter().map(Tensor::owned).collect()
    }
    /// Runs a program on the caller's memory without copies. The sizes of results must be known.
    pub fn run_into(&mut self, inputs: &[Input<'_>], outputs: &mut [Output<'_>]) -> Result<()> {
        // Input and Output consist of a view; the C function takes arrays of views.
        let error = unsafe {
            ffi::pt2_session_run_views(
                self.session,
                inputs.iter().map(copy_of).collect::<Vec<_>>().as_ptr(),
                inputs.len(),
                outputs.iter().map(|each| copy(&each.view)).collect::<Vec<_>>().as_ptr(),
                outputs.len(),
                null::<c_void>(),
            )
        };
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
