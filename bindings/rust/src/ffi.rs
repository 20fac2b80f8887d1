//! Declarations of the part of pt2/c/pt2.h that this crate uses.

use std::ffi::{c_char, c_void};

#[repr(C)]
pub struct Opaque {
    _private: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dtype {
    pub code: u8,
    pub bits: u8,
}

#[repr(C)]
pub struct TensorView {
    pub data: *mut c_void,
    pub sizes: *const i64,
    pub strides: *const i64,
    pub dims: i32,
    pub dtype: Dtype,
    pub read_only: u8,
}

#[repr(C)]
pub struct Place {
    pub size: usize,
    pub name: *const c_char,
    pub r#type: *const c_char,
    pub is_tensor: i32,
    pub is_keyword: i32,
    pub is_optional: i32,
    pub dtype: Dtype,
    pub dims: i32,
    pub sizes: *const i64,
    pub minimum: *const i64,
    pub maximum: *const i64,
}

#[repr(C)]
pub struct LoadOptions {
    pub size: usize,
    pub program: *const c_char,
    pub program_length: usize,
    pub limits: *const c_char,
    pub limits_length: usize,
    pub operators: *const Opaque,
    pub engine: i32,
    pub log: Option<unsafe extern "C" fn(*const c_char, usize, *mut c_void)>,
    pub user: *mut c_void,
}

#[repr(C)]
pub struct SessionOptions {
    pub size: usize,
    pub threads: u32,
}

#[repr(C)]
pub struct DecoderOptions {
    pub size: usize,
    pub limits: *const c_char,
    pub limits_length: usize,
    pub operators: *const Opaque,
    pub engine: i32,
    pub threads: u32,
    pub cache_length: i64,
}

#[repr(C)]
pub struct CallOptions {
    pub size: usize,
    pub stop: *const Opaque,
    pub timeout_ns: i64,
    pub step: Option<unsafe extern "C" fn(u64, *mut c_void) -> i32>,
    pub user: *mut c_void,
}

#[repr(C)]
pub struct GenerateOptions {
    pub size: usize,
    pub max_new_tokens: i64,
    pub has_sampling: i32,
    pub temperature: f64,
    pub top_k: i64,
    pub top_p: f64,
    pub seed: u64,
    pub stop_ids: *const i64,
    pub stop_count: usize,
    pub token: Option<unsafe extern "C" fn(i64, *mut c_void) -> i32>,
    pub user: *mut c_void,
    pub token_of: Option<unsafe extern "C" fn(usize, i64, *mut c_void) -> i32>,
}

#[repr(C)]
pub struct NamedValue {
    pub name: *const c_char,
    pub name_length: usize,
    pub value: *const Opaque,
}

extern "C" {
    pub fn pt2_version() -> *const c_char;
    pub fn pt2_error_code(error: *const Opaque) -> i32;
    pub fn pt2_error_message(error: *const Opaque, length: *mut usize) -> *const c_char;
    pub fn pt2_error_place(error: *const Opaque, length: *mut usize) -> *const c_char;
    pub fn pt2_error_free(error: *mut Opaque);
    pub fn pt2_model_load(
        path: *const c_char,
        length: usize,
        options: *const LoadOptions,
        out: *mut *mut Opaque,
    ) -> *mut Opaque;
    pub fn pt2_model_load_memory(
        bytes: *const c_void,
        byte_count: usize,
        name: *const c_char,
        name_length: usize,
        release: unsafe extern "C" fn(*mut c_void),
        user: *mut c_void,
        options: *const LoadOptions,
        out: *mut *mut Opaque,
    ) -> *mut Opaque;
    pub fn pt2_model_free(model: *mut Opaque);
    pub fn pt2_model_input_count(model: *const Opaque) -> usize;
    pub fn pt2_model_output_count(model: *const Opaque) -> usize;
    pub fn pt2_model_get_input(model: *const Opaque, index: usize, out: *mut Place) -> *mut Opaque;
    pub fn pt2_model_get_output(model: *const Opaque, index: usize, out: *mut Place)
        -> *mut Opaque;
    pub fn pt2_session_create(
        model: *const Opaque,
        options: *const SessionOptions,
        out: *mut *mut Opaque,
    ) -> *mut Opaque;
    pub fn pt2_session_free(session: *mut Opaque);
    pub fn pt2_stop_create(out: *mut *mut Opaque) -> *mut Opaque;
    pub fn pt2_stop_request(stop: *mut Opaque);
    pub fn pt2_stop_free(stop: *mut Opaque);
    pub fn pt2_model_state_count(model: *const Opaque) -> usize;
    pub fn pt2_model_state_name(
        model: *const Opaque,
        index: usize,
        length: *mut usize,
    ) -> *const c_char;
    pub fn pt2_session_seed(session: *mut Opaque, seed: u64) -> *mut Opaque;
    pub fn pt2_session_get_state(
        session: *mut Opaque,
        name: *const c_char,
        length: usize,
        out: *mut *mut Opaque,
    ) -> *mut Opaque;
    pub fn pt2_session_set_state(
        session: *mut Opaque,
        name: *const c_char,
        length: usize,
        view: *const TensorView,
    ) -> *mut Opaque;
    pub fn pt2_session_run(
        session: *mut Opaque,
        inputs: *const *const Opaque,
        input_count: usize,
        options: *const CallOptions,
        outputs: *mut *mut Opaque,
        output_count: usize,
    ) -> *mut Opaque;
    pub fn pt2_session_run_views(
        session: *mut Opaque,
        inputs: *const TensorView,
        input_count: usize,
        outputs: *const TensorView,
        output_count: usize,
        options: *const CallOptions,
    ) -> *mut Opaque;
    pub fn pt2_value_copy(view: *const TensorView, out: *mut *mut Opaque) -> *mut Opaque;
    pub fn pt2_value_get_tensor(value: *const Opaque, out: *mut TensorView) -> *mut Opaque;
    pub fn pt2_value_int(number: i64, out: *mut *mut Opaque) -> *mut Opaque;
    pub fn pt2_value_float(number: f64, out: *mut *mut Opaque) -> *mut Opaque;
    pub fn pt2_value_bool(truth: i32, out: *mut *mut Opaque) -> *mut Opaque;
    pub fn pt2_value_text(text: *const c_char, length: usize, out: *mut *mut Opaque)
        -> *mut Opaque;
    pub fn pt2_value_kind(value: *const Opaque) -> i32;
    pub fn pt2_value_get_int(value: *const Opaque, out: *mut i64) -> *mut Opaque;
    pub fn pt2_value_get_float(value: *const Opaque, out: *mut f64) -> *mut Opaque;
    pub fn pt2_value_get_bool(value: *const Opaque, out: *mut i32) -> *mut Opaque;
    pub fn pt2_value_get_text(
        value: *const Opaque,
        out: *mut *const c_char,
        length: *mut usize,
    ) -> *mut Opaque;
    pub fn pt2_value_free(value: *mut Opaque);
    pub fn pt2_decoder_open(
        path: *const c_char,
        length: usize,
        options: *const DecoderOptions,
        out: *mut *mut Opaque,
    ) -> *mut Opaque;
    pub fn pt2_decoder_free(decoder: *mut Opaque);
    pub fn pt2_decoder_generate_batch(
        decoder: *mut Opaque,
        ids: *const i64,
        counts: *const usize,
        prompts: usize,
        generate: *const GenerateOptions,
        options: *const CallOptions,
        tokens: *mut *mut Opaque,
        reasons: *mut i32,
    ) -> *mut Opaque;
    pub fn pt2_decoder_give(
        decoder: *mut Opaque,
        inputs: *const NamedValue,
        count: usize,
        options: *const CallOptions,
    ) -> *mut Opaque;
}
